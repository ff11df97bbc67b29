"""The command `list`: everything that can be named in a command, available or why not."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mpi_campaign.commands.options import json_option
from mpi_campaign.errors import EXIT_GOOD, CampaignError
from mpi_campaign.libraries import launches, registry
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.networks.registry import NETWORKS
from mpi_campaign.planning import options, placing, suites
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, CHOICES
from mpi_campaign.processes.progress import duration
from mpi_campaign.schedulers import registry as schedulers
from mpi_campaign.systems import known_systems
from mpi_campaign.toolchains import resolving
from mpi_campaign.toolchains.spack import matrix, tool
from postprocess.drawing.text import plural
from postprocess.records import fields_text


@click.command("list")
@click.option(
    "--fields",
    default="",
    metavar="PROGRAM",
    help="The fields of its record, and the columns of its tables, instead; `record`: of every one.",
)
@json_option(help="For programs.")
def command(fields: str, *, as_json: bool) -> int:
    """Systems, toolchains, benchmarks, configurations, suites: available, or why not."""
    if fields:
        if fields not in fields_text.names():
            raise CampaignError(f"--fields {fields}: one of {', '.join(fields_text.names())}")
        print(fields_text.as_json(fields) if as_json else "\n".join(fields_text.lines(fields)))
        return EXIT_GOOD
    print(json.dumps(everything(), indent=1) if as_json else as_text(everything()))
    return EXIT_GOOD


def everything() -> dict[str, list[dict[str, Any]]]:
    """By kind, a list of {name, what, available, why_not}."""
    resolved = resolving.load()
    names = dict.fromkeys(
        [*resolving.KNOWN_TOOLCHAINS, *(toolchain.toolchain for toolchain in resolved if not toolchain.spack)]
    )
    here = {toolchain.toolchain: toolchain for toolchain in resolved if toolchain.provider != "spack"}
    return {
        "systems": [_entry(name, "settings in systems/" + name) for name in known_systems.available()],
        "batch systems": [
            _entry(name, scheduler.in_words(name))
            for scheduler in schedulers.SCHEDULERS
            for name in scheduler.reframe or filter(None, [scheduler.name])
        ],
        "networks": [
            _entry(name, network.title, known_systems.network_refusal(name)) for name, network in NETWORKS.items()
        ],
        "toolchains": [
            _entry(name, f"in {here[name].prefix}" if name in here else "from its wheels, installed when first used")
            for name in names
        ],
        "toolchains of Spack": list(_spack()),
        "benchmarks": [_entry(name, benchmark.title) for name, benchmark in BENCHMARKS.items()],
        "configurations": [_entry(name, configuration.title) for name, configuration in CONFIGURATIONS.items()],
        "configurations of each library": list(_configurations()),
        **{
            choice.plural: [_entry(value, what) for value, what in choice.legal.items()]
            for choice in CHOICES.values()
            if choice.legal
        },
        "suites": [_entry(name, _suite(suite)) for name, suite in suites.SUITES.items()],
    }


def _entry(name: str, what: str, why_not: str | None = None) -> dict[str, Any]:
    return {"name": name, "what": what, "available": why_not is None, "why_not": why_not}


def _spack() -> Iterator[dict[str, Any]]:
    """The matrix of each system, for --provider spack."""
    lacking: str | None = None
    try:
        tool.find()
    except CampaignError as error:
        yield _entry("spack", "", str(error))
        lacking = "no Spack can be used"
    scopes: dict[Path, list[str]] = {}
    for system in known_systems.available():
        scopes.setdefault(matrix.scope_of(system), []).append(system)
    for systems in scopes.values():
        names = ", ".join(systems)
        try:
            rows = matrix.matrix(systems[0])
        except CampaignError as error:
            yield _entry(names, "", str(error))
            continue
        for line in rows.lines:
            yield _entry(f"{rows.name(line)} ({names})", line.spec, lacking)


def _suite(suite: suites.Suite) -> str:
    seconds = suite.budget_seconds
    return "; ".join(
        (
            suite.purpose,
            f"{', '.join(suite.benchmarks)} of {', '.join(suite.toolchains)}",
            plural(suite.launches, "launch"),
            f"measures for about {duration(seconds)}{' or longer' * suite.grows}" if seconds else "no time limit",
        )
    )


def _configurations() -> Iterator[dict[str, Any]]:
    """What each library can give here, over which networks, and why not: one entry per library and configuration."""
    here = known_systems.load(options.Options.system)
    placement = Placement.on(here.partition().node, placing.USUAL_RANKS, 0)
    networks = [name for name, partition in here.partitions.items() if not partition.why_not()]
    for family, configuration in itertools.product(registry.LIBRARIES, CONFIGURATIONS):
        limits = launches.limits(family, configuration, placement)
        had = [network for network in networks if network not in limits]
        # One reason for every network is said once.
        reasons = {limits[network]: network for network in networks if network in limits}
        why_not = "; ".join(reasons if len(reasons) == 1 else (f"{where}: {why}" for why, where in reasons.items()))
        beside = f" ({why_not})" if why_not else ""
        untested = "" if registry.library(family).tested else "; by its documentation: it never ran here"
        what = f"over {', '.join(had)}{beside}{untested}" if had else CONFIGURATIONS[configuration].title
        yield _entry(f"{family} {configuration}", what, None if had else why_not)
    for family, reason in registry.NOT_TO_BE_HAD.items():
        yield _entry(family, family, reason)


def as_text(lists: dict[str, list[dict[str, Any]]]) -> str:
    lines = []
    for kind, entries in lists.items():
        lines.append(f"{kind}:")
        width = max((len(entry["name"]) for entry in entries), default=0)
        for entry in entries:
            state = entry["what"] if entry["available"] else f"not available: {entry['why_not']}"
            lines.append(f"  {entry['name']:<{width}}  {state}")
    return "\n".join(lines)
