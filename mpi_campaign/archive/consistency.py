"""Whether runs of an archive go together: copies, clocks that were set back, two machines under one name.

All of this is found in the manifests. Each problem is a line, and hides no other problem.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from postprocess.drawing.text import clean, first_of
from postprocess.records import nodes
from postprocess.records.description import descriptions

MACHINE = ("cpu", "cores")
"""The facts of a host that tell machines apart: times of different machines do not compare."""

MOST_NAMES = 4
"""How many nodes a line names."""


def together(runs: Iterable[RunFolder]) -> tuple[list[RunFolder], list[str]]:
    """The runs without copies, in their order, and the problems, a line each. A run whose manifest cannot be read
    stays: whoever reads its numbers says why that fails."""
    given = list(runs)
    manifests = {run: run_folders.manifest_or_none(run) for run in given}
    kept, problems = _without_copies(given, manifests)
    of_machines = (*_machines(kept, manifests), *_nodes(kept, manifests))
    return kept, [*problems, *_set_back(kept, manifests), *_clocks(kept, manifests), *of_machines]


def other_methods(run: RunFolder) -> list[str]:
    """What a run measured by another method than that of the program now, in words."""
    from postprocess.verdicts.launches import methods_of  # noqa: PLC0415 - pandas takes a second to load

    now = {name: description.method for name, description in descriptions().items()}
    return [
        f"{name} by method {method}, which is {now[name]} now"
        for name, method in methods_of(run.path).items()
        if now.get(name, method) != method
    ]


def _named(run: RunFolder) -> str:
    return clean(f"{run.system}/{run.run}")


def _without_copies(
    runs: Sequence[RunFolder], manifests: Mapping[RunFolder, dict[str, Any]]
) -> tuple[list[RunFolder], list[str]]:
    """Problems of copies. A copy has the same records, byte by byte, whatever its name. A public copy has other bytes,
    but its manifest names the run."""
    first: dict[object, RunFolder] = {}
    kept, problems = [], []
    public = {str(manifest.get("run")) for manifest in manifests.values() if run_folders.PUBLIC in manifest}
    for run in runs:
        checksums = manifests[run].get("checksums")
        of_records = frozenset(
            (str(name), str(value))
            for name, value in (checksums if isinstance(checksums, dict) else {}).items()
            if str(name).startswith("records/")
        )
        name = str(manifests[run].get("run"))
        original = first.setdefault(name if name in public else of_records, run) if of_records else run
        if original == run:
            kept.append(run)
        else:
            problems.append(f"run {_named(run)} is left out: it is a copy of {_named(original)}, record by record")
    return kept, problems


def _set_back(runs: Sequence[RunFolder], manifests: Mapping[RunFolder, dict[str, Any]]) -> list[str]:
    """Runs that began when the archive had a run of a later time."""
    names = {(run.system, run.run) for run in runs}
    return [
        f"run {_named(run)} began when {clean(later)}, of a later time, was there already: its clock was set back "
        "between them; which of them is the newer is not certain"
        for run in runs
        if (run.system, str(later := manifests[run].get("later_run"))) in names
    ]


def _clocks(runs: Sequence[RunFolder], manifests: Mapping[RunFolder, dict[str, Any]]) -> list[str]:
    """Sessions that end before they begin, or that begin before an earlier run of the same host has ended."""
    problems = []
    by_host: dict[tuple[str, str], list[tuple[str, str, RunFolder]]] = {}
    for run in runs:
        for began, ended in _sessions(manifests[run]):
            if ended < began:
                problems.append(
                    f"run {_named(run)} ended at {ended}, before it began at {began}: its clock was set back"
                )
            else:
                by_host.setdefault((run.system, _host(manifests[run], "name")), []).append((began, ended, run))
    for (_, host), sessions in by_host.items():
        ended, earlier = "", sessions[0][2]  # the latest end so far, and its run
        for began, until, later in sorted(sessions, key=lambda session: session[:2]):
            if began < ended and later != earlier:
                problems.append(
                    f"runs {_named(earlier)} and {_named(later)} overlap in time on {clean(host)}: its clock was set "
                    "back between them, or they disturbed each other; which of them is the newer is not certain"
                )
            if until > ended:
                ended, earlier = until, later
    return problems


def _sessions(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    sessions = manifest.get("sessions")
    given = [session for session in sessions if isinstance(session, dict)] if isinstance(sessions, list) else []
    times = [(session.get("began_utc"), session.get("ended_utc")) for session in given]
    return [(began, ended) for began, ended in times if isinstance(began, str) and isinstance(ended, str)]


def _host(manifest: Mapping[str, Any], name: str) -> str:
    host = manifest.get("host")
    return str(host.get(name) or "") if isinstance(host, dict) else ""


def _some(names: Iterable[str]) -> str:
    return first_of(map(clean, names), MOST_NAMES, " and {} more")


def _machines(runs: Sequence[RunFolder], manifests: Mapping[RunFolder, dict[str, Any]]) -> list[str]:
    """Systems whose runs are from several kinds of machine, by their manifests."""
    kinds: dict[str, dict[str, RunFolder]] = {}
    for run in runs:
        facts = [_host(manifests[run], name) for name in MACHINE]
        if all(facts):
            kinds.setdefault(run.system, {}).setdefault(f"{facts[0]} with {facts[1]} cores", run)
    return [
        f"system {clean(system)} has runs of different machines, their times are not of one: "
        + ", ".join(f"{clean(kind)} since {run.run}" for kind, run in run_of_kind.items())
        for system, run_of_kind in kinds.items()
        if len(run_of_kind) > 1
    ]


def _nodes(runs: Sequence[RunFolder], manifests: Mapping[RunFolder, dict[str, Any]]) -> list[str]:
    """Systems whose runs were on nodes of several kinds of CPU."""
    kinds: dict[str, dict[str, dict[str, None]]] = {}
    for run in runs:
        for name, node in nodes.nodes_of(manifests[run]).items():
            kinds.setdefault(run.system, {}).setdefault(str(node["host"].get("cpu")), {})[name] = None
    return [
        f"system {clean(system)} has runs on nodes of different CPUs, their times are not of one: "
        + ", ".join(f"{clean(cpu)} ({_some(names)})" for cpu, names in nodes_of_cpu.items())
        for system, nodes_of_cpu in kinds.items()
        if len(nodes_of_cpu) > 1
    ]
