"""The command line of each ReFrame session of a run, without the option that says what to do with the tests."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.networks import registry as networks
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.benchmarks.choice import VALUES, as_text
from mpi_campaign.planning.benchmarks.registry import BY_SESSION, loading, programs_of
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.options import Options, axes_of, benchmarks_of, configurations_of, grid_of
from mpi_campaign.planning.placing import partition_of
from mpi_campaign.planning.plan import Plan, Round
from mpi_campaign.running import reframe_session, same_sizes
from mpi_campaign.systems import known_systems, site
from postprocess.families.family import Value

PLANNED = "planned.txt"
"""The file in a run's folder of sessions with the stems of the cases that the run measures, one a line."""


def of_builds(folder: RunFolder, plan: Plan) -> list[str]:
    """Builds the benchmarks, several at once."""
    environments = dict.fromkeys(case.environment for case in plan.to_measure)
    return _session(folder, plan, environments, files=["build_benchmarks"], tests="^build_benchmarks", policy="async")


def of_round(
    folder: RunFolder, plan: Plan, turn: Round | None = None, place: Path | None = None, *, resumed: bool = False
) -> list[str]:
    """Measures a round of the plan; by default the first launches of all libraries.  place: the folder of a job in
    which it is carried out; by default it is carried out here."""
    options, turn = plan.options, turn or replace(plan.rounds[0], environments=plan.environments, stems=None)
    variables = {
        "ranks": str(plan.placement_of(turn).ranks),
        "threads_per_rank": str(plan.placement_of(turn).threads_per_rank),
        "budget_seconds": f"{plan.case_budget_seconds:.1f}",
        "budget_from": options.suite if plan.has_suites_budget else "user",
        "time_limit": f"{plan.case_limit_seconds:.0f}s",
        "metadata_file": str(folder.session / "metadata.json"),
        "sizes_from": str(folder.session / same_sizes.FOLDER),
        "planned": str(folder.session / PLANNED),
    }
    unusual = {
        "points": as_text(grid_of(options)[1]),
        "wire_rate": networks.rate(turn.network),
        "oversubscribe": "yes" * options.oversubscribe,
        "peer_prefix": ":".join(options.peer_prefixes),
        "calibrate": options.calibrate,
        # Of two parts of a round, the first has measured what ReFrame makes tests of in the second too.
        "resume_from": str(folder.partial / "records") if resumed or turn.stems is not None else "",
        "repeat": str(turn.repeat) if turn.repeat > 1 else "",
    }
    variables |= {name: value for name, value in unusual.items() if value}
    for name, choice in BY_SESSION.items():
        # An axis with a single value per run is always set, even to its usual value.
        if not choice.several or turn.axes[name] != choice.usual:
            variables[name] = str(turn.axes[name])
    files, tests, parameters = [], [], {}
    needed: dict[str, dict[str, None]] = defaultdict(dict)
    for name, benchmark in benchmarks_of(options).items():
        to_measure = [
            case for case in plan.cases if case.benchmark == name and case.stem not in plan.skipped and turn.has(case)
        ]
        if not to_measure:
            continue
        for case in to_measure:
            for axis, value in {"configuration": case.configuration, **case.parameters}.items():
                needed[axis][str(value)] = None
        for choice in benchmark.choices:
            # Where any value is legal, ReFrame makes tests of those asked for.
            if not choice.by_session and not choice.legal:
                values = _values(options, benchmark, choice.name, to_measure)
                if values != [choice.usual]:
                    parameters[f"{benchmark.test}.{choice.name}"] = ",".join(map(str, values))
        files.append(benchmark.file)
        tests += _patterns(options, benchmark, to_measure)
    return _session(
        folder,
        plan,
        turn.environments,
        network=turn.network,
        place=place,
        files=dict.fromkeys(files),
        tests="|".join(tests),
        policy="serial",
        variables=variables,
        parameters=parameters,
        of_session={VALUES: as_text({axis: tuple(values) for axis, values in needed.items()})},
    )


def _session(
    folder: RunFolder,
    plan: Plan,
    environments: Iterable[str],
    *,
    network: str = "",
    place: Path | None = None,
    of_session: Mapping[str, str] = MappingProxyType({}),
    **given: Any,
) -> list[str]:
    """network: of its tests; by default the plan's.  of_session: variables.  given: of `reframe_session.command`."""
    options = plan.options
    names = list(environments)
    of_session = {**of_session, site.NEEDED: ",".join(sorted(programs_of(benchmarks_of(options))))}
    if place:
        of_session[site.IN_JOB] = "1"
    if len(names) > 1:
        of_session[site.ORDER] = ",".join(names)
    return reframe_session.command(
        settings=known_systems.SYSTEMS / options.system / "settings.py",
        folder=place or folder.session,
        partition=f"{options.system}:{partition_of(options, network or plan.network).name}",
        environments=names,
        mode=options.suite,
        loading={**loading(_planned(plan)), **of_session},
        **given,
    )


def _planned(plan: Plan) -> dict[str, dict[Value, None]]:
    """The values of each axis that the run measures."""
    names = dict.fromkeys(name for case in plan.to_measure for name in case.parameters)
    return {name: dict.fromkeys(case.parameters[name] for case in plan.to_measure) for name in names}


def _values(options: Options, benchmark: Benchmark, axis: str, cases: Iterable[Case]) -> list[Value]:
    """The values of an axis that the cases have, in the order in which the run measures them."""
    planned = {case.parameters[axis] for case in cases}
    return [value for value in axes_of(options, benchmark)[axis] if value in planned]


def _patterns(options: Options, benchmark: Benchmark, to_measure: Sequence[Case]) -> list[str]:
    """Patterns of the display names of the ReFrame tests of these cases, one for the configurations that are measured
    with the same values of the axes.

    Configurations of which every case is skipped are left out: ReFrame would measure their fixtures first.
    """
    names = [choice.name for choice in benchmark.choices if choice.legal and not choice.by_session]
    by_values: dict[tuple[tuple[Value, ...], ...], list[str]] = {}
    for configuration in configurations_of(options, benchmark):
        cases = [case for case in to_measure if case.configuration == configuration]
        if cases:
            values = tuple(tuple(_values(options, benchmark, name, cases)) for name in names)
            by_values.setdefault(values, []).append(configuration)
    return [
        reframe_session.pattern(
            benchmark.test, {"configuration": configurations, **dict(zip(names, values, strict=True))}
        )
        for values, configurations in by_values.items()
    ]
