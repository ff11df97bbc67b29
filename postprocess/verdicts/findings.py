"""What papers found, written in YAML, held against runs: whether it holds here, library by library, with evidence.

    findings:
      - name: idle-basic
        at: section 5.1, figure 9
        claim: An idle library without a progress thread costs a computation nothing.
        paper: 1.00 at 512 ms (2 nodes of 36 cores)
        needs: {cores_per_rank: 1}
        libraries: [openmpi, mpich]
        networks: [wire, native]
        decides: {metric: r_mpi_impact, where: {configuration: basic, comp_target_ns: 512000000}, at_most: 1.05}
        control: {metric: r_mpi_impact, where: {configuration: async, comp_target_ns: 512000000}, at_least: 1.05}

`decides` is a criterion (`acceptance`) that must be met. The suite `papers` measures it, unless `measure` has other
options of `campaign run`. `control` is another one, of what must come out the other way: a finding whose control is
not met is no finding. Where nobody can measure it, `not_measurable` says why. What is no result but a definition or a
method has `implemented_by`, with the place in this project.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

import pandas as pd
import yaml

from postprocess.drawing.text import clean
from postprocess.families import registry
from postprocess.records.fields import Json
from postprocess.records.header import SIMULATED, kind_of
from postprocess.records.run import Run, cases_of
from postprocess.verdicts.acceptance import (
    FAIL,
    NOT_TESTED,
    PASS,
    Criteria,
    CriteriaError,
    Criterion,
    Result,
    UniqueKeys,
    criterion_of,
    judge,
    troubles_of,
    twice_in,
)

HOLDS, DOES_NOT_HOLD, DEPENDS = "holds", "does not hold", "depends on the library"
CANNOT_TELL, NOT_MEASURED, NOT_MEASURABLE = "cannot tell", "not measured", "not measurable here"
IMPLEMENTED = "implemented"
VERDICTS = (HOLDS, DOES_NOT_HOLD, DEPENDS, CANNOT_TELL, NOT_MEASURED, NOT_MEASURABLE, IMPLEMENTED)
MEASURED = (HOLDS, DOES_NOT_HOLD, DEPENDS, CANNOT_TELL)
MEASURE_IT = "measure it: "
"""Before the command of what was not measured."""
NEEDS = ("cores", "cores_per_rank", "ranks", "nodes")
"""What a finding may need of a machine, each at least so many."""
ONE_OF = ("decides", "implemented_by", "not_measurable")
_KEYS = ("name", "at", "claim", "paper", "measure", "needs", "libraries", "networks", "control", *ONE_OF)


class FindingsError(ValueError):
    """A file of findings is wrong; the message is one line that names the finding."""


@dataclass(frozen=True)
class Finding:
    """A finding of a paper.

    at: where it stands there.  claim: in one sentence.  paper: the value there, with its machine; empty where it has
    none.  measure: the options of `campaign run` that measure it.  needs: by NEEDS, what the machine must have.
    libraries, networks: the names of the only libraries and kinds of networks that it is about; empty: all.  decides,
    control: None where it is not decided by a measurement; `why` then says why not, or what implements it.
    """

    paper_key: str
    name: str
    at: str
    claim: str
    paper: str
    measure: str
    needs: Mapping[str, int]
    libraries: tuple[str, ...]
    networks: tuple[str, ...]
    decides: Criterion | None
    control: Criterion | None
    implemented_by: str
    not_measurable: str

    @property
    def command(self) -> str:
        """What measures it."""
        return f"./campaign run {self.measure}"


@dataclass(frozen=True)
class Machine:
    """What the machine of a run has: cores of a node, and nodes."""

    cores: int
    nodes: int

    def lacks(self, finding: Finding) -> str:
        """What the machine lacks for a finding, in words; empty where it has all of it.

        Two ranks are the fewest; they share the cores of a node, unless each has a node of its own.
        """
        needs = finding.needs
        ranks = max(needs.get("ranks", 2), needs.get("nodes", 1))
        a_node = max(needs.get("cores", 1), -(-ranks // needs.get("nodes", 1)) * needs.get("cores_per_rank", 1))
        lacking = {"nodes": (needs.get("nodes", 1), self.nodes), "cores in a node": (a_node, self.cores)}
        words = [f"{needed} {what}, there are {there}" for what, (needed, there) in lacking.items() if needed > there]
        return f"it needs {' and '.join(words)}" if words else ""


@dataclass(frozen=True)
class Judged:
    """A finding and its verdict. of_libraries: the result of each library that has points; why: what lacks."""

    finding: Finding
    verdict: str
    of_libraries: Mapping[str, Result]
    why: str = ""


@cache
def read_all() -> tuple[Finding, ...]:
    """The findings of all papers, in the order of their files. Raises FindingsError."""
    files = (one for one in resources.files("postprocess.papers").iterdir() if one.name.endswith(".yaml"))
    return tuple(
        finding
        for file in sorted(files, key=lambda one: one.name)
        for finding in read(file.name.removesuffix(".yaml"), file.read_text(encoding="utf-8"))
    )


def read(paper_key: str, text: str) -> tuple[Finding, ...]:
    """The findings of a paper. Raises FindingsError."""
    try:
        document = yaml.load(text, Loader=UniqueKeys)
    except yaml.YAMLError as error:
        raise FindingsError(f"{paper_key} is no YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(document, dict) or not isinstance(document.get("findings"), list):
        raise FindingsError(f"{paper_key} has no list 'findings'")
    found = tuple(_finding(paper_key, one) for one in document["findings"])
    if (twice := twice_in([one.name for one in found])) is not None:
        raise FindingsError(f"{paper_key}: two findings are named '{clean(twice)}'")
    return found


def _finding(paper_key: str, given: Any) -> Finding:
    if not isinstance(given, dict) or not given.get("name"):
        raise FindingsError(f"{paper_key}: a finding has no name")
    where = f"{paper_key}, {clean(given['name'])}"
    if unknown := next((key for key in given if key not in _KEYS), None):
        raise FindingsError(f"{where}: '{clean(unknown)}' is unknown; there are: {', '.join(_KEYS)}")
    if lacks := next((key for key in ("at", "claim") if not given.get(key)), None):
        raise FindingsError(f"{where}: it lacks '{lacks}'")
    if sum(key in given for key in ONE_OF) != 1:
        raise FindingsError(f"{where}: it must have one of {', '.join(ONE_OF)}")
    needs = given.get("needs", {})
    if any(key not in NEEDS or type(value) is not int for key, value in needs.items()):
        raise FindingsError(f"{where}: needs takes {', '.join(NEEDS)}, each a whole number")

    def criterion(key: str) -> Criterion | None:
        try:
            return criterion_of({"name": str(given["name"]), **given[key]}, 1) if key in given else None
        except (CriteriaError, TypeError) as error:
            raise FindingsError(f"{where}: {key}: {error}") from error

    def text(key: str) -> str:
        return str(given.get(key, ""))

    decides, control = criterion("decides"), criterion("control")
    if any(one is not None and one.by_host for one in (decides, control)):
        raise FindingsError(f"{where}: 'by: host' is for campaign accept")
    return Finding(
        paper_key,
        text("name"),
        text("at"),
        text("claim"),
        text("paper"),
        text("measure") or _by_the_suite(decides),
        needs,
        tuple(given.get("libraries", ())),
        tuple(given.get("networks", ())),
        decides,
        control,
        text("implemented_by"),
        text("not_measurable"),
    )


def _by_the_suite(decides: Criterion | None) -> str:
    """The options of `campaign run` that measure what decides a finding; none where no measurement does."""
    if decides is None:
        return ""
    (benchmark,) = decides.where.get("benchmark", (decides.family.name,))
    return f"--suite papers --benchmark {benchmark}"


def judged(
    findings: Sequence[Finding],
    tables: Mapping[str, pd.DataFrame],
    machine: Machine,
    troubles: Sequence[Json] = (),
) -> list[Judged]:
    """The verdict of each finding.  tables, troubles: as of `acceptance.judge`. What was simulated does not count."""
    real = {family: table[table["network"] != SIMULATED] for family, table in tables.items() if len(table)}
    there = {family: table for family, table in real.items() if len(table)}
    names = sorted({name for table in there.values() for name in table["toolchain"].unique()})
    libraries = {
        name: _Library(
            {family: table[table["toolchain"] == name] for family, table in there.items()},
            [case for case in troubles if case.get("toolchain") == name],
        )
        for name in names
    }
    return [_judged(one, libraries, machine) for one in findings]


@dataclass(frozen=True)
class _Library:
    """What `acceptance.judge` needs, of one library."""

    tables: Mapping[str, pd.DataFrame]
    troubles: Sequence[Json]
    _made: dict[tuple[str, tuple[str, ...]], pd.DataFrame] = field(default_factory=dict)

    def over(self, family: str, networks: tuple[str, ...]) -> pd.DataFrame:
        """The rows of a family over these networks, all of them where none is named; made once."""
        key = family, networks
        if key not in self._made:
            table = self.tables.get(family, pd.DataFrame())
            self._made[key] = _over(table, networks) if len(table) else table
        return self._made[key]


def of_run(run: Run) -> list[Judged]:
    """The verdict of each finding in a run; made once per run."""

    def make() -> list[Judged]:
        tables = {family.name: registry.found(run, family).table for family in registry.FAMILIES if family.metrics}
        return judged(read_all(), tables, machine_of([run.manifest]), troubles_of(run.manifest))

    return run.once("findings", make)


def machine_of(manifests: Iterable[Json]) -> Machine:
    """The largest machine of runs, by their manifests."""
    cores, nodes = 1, 1
    for manifest in manifests:
        cores = max(cores, int((manifest.get("host") or {}).get("cores") or 1))
        nodes = max([nodes, *(int(case.get("nodes") or 1) for case in cases_of(manifest))])
    return Machine(cores, nodes)


def _judged(finding: Finding, libraries: Mapping[str, _Library], machine: Machine) -> Judged:
    if finding.implemented_by:
        return Judged(finding, IMPLEMENTED, {}, finding.implemented_by)
    if finding.decides is None:
        return Judged(finding, NOT_MEASURABLE, {}, finding.not_measurable)
    results = dict(_of_libraries(finding.decides, finding, libraries))
    measured = {name: one for name, one in results.items() if one.measured}
    if not measured:
        lacks = machine.lacks(finding)
        return Judged(finding, NOT_MEASURABLE if lacks else NOT_MEASURED, {}, lacks or f"{MEASURE_IT}{finding.command}")
    if finding.control is not None:
        controls = dict(_of_libraries(finding.control, finding, libraries))
        measured = {name: _controlled(one, controls.get(name)) for name, one in measured.items()}
    verdicts = {one.verdict for one in measured.values()} & {PASS, FAIL}
    verdict = {(): CANNOT_TELL, (PASS,): HOLDS, (FAIL,): DOES_NOT_HOLD}.get(tuple(verdicts), DEPENDS)
    return Judged(finding, verdict, measured)


def _of_libraries(
    criterion: Criterion, finding: Finding, libraries: Mapping[str, _Library]
) -> Iterator[tuple[str, Result]]:
    """The result of a criterion for each library that was measured, of those that the finding is about."""
    family = criterion.family.name
    for name, library in libraries.items():
        if finding.libraries and name.partition("@")[0] not in finding.libraries:
            continue
        table = library.over(family, finding.networks)
        if len(table):
            where = finding.networks
            troubles = [one for one in library.troubles if "network" not in one or _is_over(str(one["network"]), where)]
            (result,) = judge(Criteria("", (criterion,)), {family: table}, (), troubles)
            yield name, result


def rows_of(table: pd.DataFrame, finding: Finding, library: str) -> pd.DataFrame:
    """The rows of a library, over the networks that a finding is about."""
    return _over(table[table["toolchain"] == library], finding.networks)


def _over(rows: pd.DataFrame, networks: Sequence[str]) -> pd.DataFrame:
    over: pd.DataFrame = rows[rows["network"].map(lambda network: _is_over(network, networks)).astype(bool)]
    return over


def _is_over(network: str, networks: Sequence[str]) -> bool:
    return not networks or kind_of(network) in networks


def _controlled(result: Result, control: Result | None) -> Result:
    """The result, which tells nothing unless its control comes out the other way."""
    if result.verdict == NOT_TESTED or (control is not None and control.verdict == PASS):
        return result
    if control is None or not control.measured:
        undecided = "its control was not measured"
    else:
        how = "comes out the same way" if control.verdict == FAIL else "cannot be told"
        undecided = f"its control {how}: {control.criterion.words}"
    return replace(result, verdict=NOT_TESTED, evidence=(*result.evidence, undecided))


def as_json(found: Sequence[Judged], runs: Sequence[Json]) -> str:
    """One object with every finding."""
    document = {
        "schema": "mpi-campaign.findings",
        "schema_version": 1,
        "runs": list(runs),
        "findings": [
            {
                "paper": one.finding.paper_key,
                "name": one.finding.name,
                "at": one.finding.at,
                "claim": one.finding.claim,
                "paper_value": one.finding.paper,
                "verdict": one.verdict,
                "why": one.why,
                "libraries": {name: result.as_json() for name, result in one.of_libraries.items()},
            }
            for one in found
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
