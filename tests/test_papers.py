"""The suite `papers` measures what the findings need, and docs/papers/ is what the command writes."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.networks import registry as networks
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.options import Options, grid_of
from mpi_campaign.planning.plan import Plan
from mpi_campaign.planning.plan_of_options import make_plan
from postprocess.families.cpu_overhead.record import OUT_OF_STEP
from postprocess.verdicts import findings
from postprocess.verdicts.acceptance import Criterion
from postprocess.verdicts.findings import Finding, Machine
from tests.support import Command
from tests.test_plan import INTEL, MPICH, OPENMPI

CORES = 16
WIRE = networks.with_rate("wire")
COLUMNS = {"comm_times": "comm_target_ns", "comp_times": "comp_target_ns", "partitions_per_thread": "partitions_send"}
"""The columns of axes of points that have other names there, where a rank has one thread."""


@pytest.fixture(scope="module")
def plans() -> Mapping[int, Plan]:
    """The suite by the number of cores of the node."""
    both = {cores: [Placement(1, ranks, cores // ranks) for ranks in (2, 1)] for cores in (2, CORES)}
    return {
        cores: make_plan(Options(suite="papers"), [OPENMPI, MPICH, INTEL], WIRE, *placed)
        for cores, placed in both.items()
    }


def points_of(plan: Plan, case: Case) -> Mapping[str, set[Any]]:
    """The values that the points of a case have, by column."""
    grid, asked = grid_of(plan.options)
    given = BENCHMARKS[case.benchmark].point_values(asked, case.parameters)
    return {
        COLUMNS.get(choice.name, choice.name.removesuffix("s") if choice.name == "ways" else choice.name): set(
            given.get(choice.name) or choice.program.grids.get(grid) or _usual(choice.legal, grid)
        )
        for choice in BENCHMARKS[case.benchmark].point_choices
        if choice.has(case.parameters)
    }


def _usual(legal: Iterable[Any], grid: str) -> list[Any]:
    """Those of all legal values that a program measures on a grid."""
    return [value for value in legal if grid == "full" or value not in OUT_OF_STEP]


def measured(plan: Plan, finding: Finding, criterion: Criterion) -> bool:
    """Whether a run of the plan has points for all values that a criterion asks for."""
    benchmark = str(criterion.where.get("benchmark", (criterion.family.name,))[0])
    lacking = {(name, value) for name, values in criterion.where.items() for value in values}
    for case in plan.to_measure:
        network = networks.kind(case.network)
        about = not finding.libraries or case.toolchain.partition("@")[0] in finding.libraries
        if case.benchmark != benchmark or not about or (finding.networks and network not in finding.networks):
            continue
        there = {name: {value} for name, value in case.parameters.items()} | dict(points_of(plan, case))
        ranks = int(case.parameters["ranks_per_node"])
        there |= {"nodes": {1}, "ranks": {ranks}, "communicator_ranks": {ranks}}
        there |= {"configuration": {case.configuration}, "network": {case.network, network}, "benchmark": {benchmark}}
        known = {name: set(values) & there[name] for name, values in criterion.where.items() if name in there}
        if all(known.values()):
            lacking -= {(name, value) for name, values in known.items() for value in values}
            lacking = {(name, value) for name, value in lacking if name in there}
    return not lacking


BY_THE_SUITE = [one for one in findings.read_all() if re.fullmatch(r"--suite papers --benchmark \w+", one.measure)]


@pytest.mark.parametrize("one", BY_THE_SUITE, ids=lambda one: f"{one.paper_key}-{one.name}")
def test_what_says_no_command_of_its_own_is_measured_by_the_suite(one: Finding, plans: Mapping[int, Plan]) -> None:
    plan = plans[CORES if Machine(2, 1).lacks(one) else 2]
    needed = [one.decides, one.control, *(each.over for each in (one.decides, one.control) if each is not None)]
    assert all(measured(plan, one, criterion) for criterion in needed if criterion is not None)


def test_what_the_suite_cannot_show_on_two_cores_needs_more_or_another_library_or_sizes() -> None:
    others = [one for one in findings.read_all() if one.decides is not None and one not in BY_THE_SUITE]
    here = [one for one in others if not Machine(2, 1).lacks(one)]
    own = "--toolchain|--comm-time|--message-bytes|--library-setting|--ways"
    assert all(re.search(own, one.measure) for one in here)


@pytest.mark.slow
def test_the_pages_of_the_papers_are_what_the_command_writes(campaign: Command, tmp_path: Path) -> None:
    """A finding that is written anew, or a formula that changes, makes them old: the command of each page mends it."""
    pages = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "papers").glob("*.md")}
    assert set(pages) == {f"{one.paper_key}.md" for one in findings.read_all()}
    (command,) = {re.findall(r"Written by `\./campaign (.*)`", text)[0] for text in pages.values()}
    done = campaign(*command.replace("docs/papers", str(tmp_path)).split())
    assert done.returncode == 0, done.stderr
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.md")} == pages
