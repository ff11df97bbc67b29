"""Whether runs of an archive go together: copies, clocks that were set back, two machines under one name.

Found in the manifests alone. What is wrong is said, a line each, and hides nothing else.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from postprocess.drawing.text import clean

MACHINE = ("cpu", "cores")
"""What of a host's facts makes its times those of another machine."""


def together(runs: Iterable[RunFolder]) -> tuple[list[RunFolder], list[str]]:
    """Those of the runs that are no copy of another, in their order, and everything that does not fit together.

    A run whose manifest cannot be read stays: whoever reads its numbers says why they cannot be had.
    """
    given = list(runs)
    manifests = {run: _manifest(run) for run in given}
    kept, problems = _without_copies(given, manifests)
    return kept, [*problems, *_set_back(kept, manifests), *_clocks(kept, manifests), *_machines(kept, manifests)]


def _manifest(run: RunFolder) -> dict[str, Any]:
    try:
        return run_folders.read_manifest(run)
    except CampaignError:
        return {}


def _named(run: RunFolder) -> str:
    return clean(f"{run.system}/{run.run}")


def _without_copies(
    runs: Sequence[RunFolder], manifests: Mapping[RunFolder, dict[str, Any]]
) -> tuple[list[RunFolder], list[str]]:
    """A copy has the same records, byte by byte, whatever it is called; a public one, whose records say the same in
    other bytes, has the run's name in its manifest."""
    first: dict[object, RunFolder] = {}
    kept, problems = [], []
    public = {str(one.get("run")) for one in manifests.values() if run_folders.PUBLIC in one}
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
    """Runs that found one of a later time when they began."""
    names = {(run.system, run.run) for run in runs}
    return [
        f"run {_named(run)} began when {clean(later)}, of a later time, was there already: its clock was set back "
        "between them; which of them is the newer is not certain"
        for run in runs
        if (run.system, str(later := manifests[run].get("later_run"))) in names
    ]


def _clocks(runs: Sequence[RunFolder], manifests: Mapping[RunFolder, dict[str, Any]]) -> list[str]:
    """Sessions that end before they begin, or begin before one of an earlier run of the same host has ended."""
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
        ended, earlier = "", sessions[0][2]  # the end that is latest so far, and whose it is
        for began, until, later in sorted(sessions, key=lambda one: one[:2]):
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
    given = [one for one in sessions if isinstance(one, dict)] if isinstance(sessions, list) else []
    times = [(one.get("began_utc"), one.get("ended_utc")) for one in given]
    return [(began, ended) for began, ended in times if isinstance(began, str) and isinstance(ended, str)]


def _host(manifest: Mapping[str, Any], name: str) -> str:
    host = manifest.get("host")
    return str(host.get(name) or "") if isinstance(host, dict) else ""


def _machines(runs: Sequence[RunFolder], manifests: Mapping[RunFolder, dict[str, Any]]) -> list[str]:
    """Systems whose runs are of several kinds of machine, as far as the manifests tell."""
    kinds: dict[str, dict[str, RunFolder]] = {}
    for run in runs:
        said = [_host(manifests[run], name) for name in MACHINE]
        if all(said):
            kinds.setdefault(run.system, {}).setdefault(f"{said[0]} with {said[1]} cores", run)
    return [
        f"system {clean(system)} has runs of different machines, their times are not of one: "
        + ", ".join(f"{clean(kind)} since {run.run}" for kind, run in found.items())
        for system, found in kinds.items()
        if len(found) > 1
    ]
