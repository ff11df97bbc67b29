"""Archives of synthetic runs, put in place by the archive's own code."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mpi_campaign.archive import rendering, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.planning.cases import Case
from mpi_campaign.running.case_results import CUT_OFF
from postprocess.families import registry
from tests.postprocess import (
    synthetic,
    synthetic_cpu_overhead,
    synthetic_guidelines,
    synthetic_hybrid,
    synthetic_hybrid_kernels,
    synthetic_impact,
    synthetic_partitioned,
    synthetic_sync_overlap,
    synthetic_transfer_overlap,
    synthetic_whole_machine,
)

COLLECTIVES = ("ibcast", "ireduce")
EVERY: dict[str, Any] = dict.fromkeys(
    ("parts", "cpu", "solver", "late", "hybrid", "kernels", "rules", "nodes"), True
) | {"impact": 1.1}
"""The words of `archived` for a run in which every family with records of our own was measured."""

# The runs that this process has made, by all that they depend on, and where they lie.
_made: dict[object, RunFolder] = {}
_FOLDER = tempfile.TemporaryDirectory(prefix="archives-")


def name_of(day: int, number: int = 0) -> str:
    """A run's name: of a day of November 2026."""
    return f"202611{day:02d}T0200{number:02d}Z-{day:06x}"


def archived(root: Path, run: str, system: str = "here", **asked: Any) -> RunFolder:
    """A complete run, as `_make` is asked for it. A process makes each run once, and copies it afterwards."""
    key = (run, system, repr(sorted(asked.items())), asked.get("change"))
    if key not in _made:
        _made[key] = _make(RunFolder(Path(_FOLDER.name) / str(len(_made)), system, run), **asked)
    folder = RunFolder(root, system, run)
    shutil.copytree(_made[key].archived, folder.archived)
    folder.partial.parent.mkdir(exist_ok=True)
    return folder


def _make(
    folder: RunFolder,
    factor: float = 1.0,
    launches: int = 3,
    noise: float = 0.003,
    toolchains: tuple[str, ...] = ("openmpi@5.0.11",),
    slower: dict[str, float] | None = None,
    overhead: float = synthetic.SERIALISED.overhead,
    manifest: dict[str, Any] | None = None,
    change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = list,
    impact: float = 0.0,
    parts: bool = False,
    cpu: bool = False,
    solver: bool = False,
    late: bool = False,
    hybrid: bool = False,
    kernels: bool = False,
    rules: bool = False,
    nodes: bool = False,
    **header: Any,
) -> RunFolder:
    """A complete run of `launches` launches of each case of 2 x 2 points, whose times are `factor` longer.

    slower: further factors by toolchain.  header: changes of the records' first lines.
    change: of all lines of each record.  impact: how many times slower an idle library makes a computation; 0: not
    measured.  parts: whether a buffer was sent in parts, too.  cpu: whether blocking collectives were measured, too.
    solver: whether versions of a solver were measured, too.
    late: whether messages to a late receiver were measured, too.
    hybrid: whether hybrid collectives were, too.  kernels: whether kernels with them were, too.
    rules: whether guidelines were, too.  nodes: whether all nodes of a machine were, too.
    """
    run, system = folder.run, folder.system
    rng = np.random.default_rng(list(map(ord, run + system)))
    records, stems, cases = [], [], []
    for repeat in range(1, launches + 1):
        for toolchain in toolchains:
            for collective in COLLECTIVES:
                longer = factor * (slower or {}).get(toolchain, 1.0) * float(np.exp(noise * rng.standard_normal()))
                behaviour = replace(synthetic.SERIALISED, overhead=overhead, reference_factor=longer)
                lines = synthetic.sweep(
                    behaviour, (8, 16), toolchain=toolchain, collective=collective,
                    started_utc=f"2026-11-{run[6:8]}T02:{repeat:02d}:00Z", **header,
                )  # fmt: skip
                first = lines[0]
                environment = toolchain.replace("@", "-").replace(".", "_")
                case = Case(
                    toolchain, first["provider"], environment, first["network"], first["configuration"],
                    "nbc_overlap", {"collective": collective}, repeat,
                )  # fmt: skip
                records.append(change(lines))
                stems.append(case.stem)
                cases.append({**case.as_dict(), "case": case.label, "result": "pass", "reason": ""})
    synthetic.run_folder(folder.partial, records, run=run, system=system)
    made = run_folders.read_manifest(folder)
    for number, (stem, case_) in enumerate(zip(stems, cases, strict=True)):
        (folder.partial / "records" / f"{number:03}.jsonl").rename(folder.partial / "records" / f"{stem}.jsonl")
        case_["record"] = f"records/{stem}.jsonl"
    more: list[tuple[object, Callable[[], list[dict[str, Any]]], dict[str, Any]]] = [
        (impact, lambda: synthetic_impact.synthetic(16, synthetic_impact.slowed(impact)), {}),
        (parts, synthetic_partitioned.record, {}),
        (cpu, synthetic_cpu_overhead.record, {"operation": "bcast"}),
        (solver, synthetic_transfer_overlap.record, {"grid_points": 10_000, "unknowns": 1}),
        (late, synthetic_sync_overlap.record, {}),
        (hybrid, synthetic_hybrid.record, {}),
        (kernels, synthetic_hybrid_kernels.record, {"method": "campaign"}),
        (rules, synthetic_guidelines.record, {}),
        (nodes, synthetic_whole_machine.record, {}),
    ]
    for lines, parameters in [(lines_of(), parameters) for asked, lines_of, parameters in more if asked]:
        first = lines[0]
        environment = first["toolchain"].replace("@", "-").replace(".", "_")
        case = Case(
            first["toolchain"], first["provider"], environment, first["network"], first["configuration"],
            first["benchmark"], parameters,
        )  # fmt: skip
        record = f"records/{case.stem}.jsonl"
        synthetic.write(folder.partial / record, lines)
        cases.append({**case.as_dict(), "case": case.label, "result": "pass", "reason": "", "record": record})
    made["cases"] = cases
    del made["checksums"]
    made |= manifest or {}
    run_folders.write_manifest(folder, made)
    registry.write_tables(rendering.load(folder))
    run_folders.finish(folder, made)
    return folder


def fail(run: RunFolder, collective: str, phase: str) -> None:
    """Have the manifest of a run say that the cases of a collective failed, in that phase of ReFrame's."""
    manifest = run_folders.read_manifest(run)
    for case in manifest["cases"]:
        if case["collective"] == collective:
            case |= {"result": "fail", "reason": "no progress thread", "fail_phase": phase}
    rewrite(run, manifest)


def crash(run: RunFolder, collective: str, reason: str = "SIGSEGV in MPI_Init") -> None:
    """Leave a run as one in which the cases of a collective crashed: they have no records, and it is not complete."""
    fail(run, collective, "run")
    manifest = run_folders.read_manifest(run)
    for case in manifest["cases"]:
        if case["collective"] == collective:
            (run.archived / case["record"]).unlink()
            case |= {"record": None, "reason": reason}
    run_folders.write_manifest(run, {**manifest, "status": "incomplete", "checksums": {}, run_folders.OWN_DIGEST: None})
    run.archived.rename(run.partial)


def cut_off(run: RunFolder) -> None:
    """Leave a run as one that was interrupted before its last case was measured."""
    manifest = run_folders.read_manifest(run)
    manifest["cases"][-1] |= {"result": "missing", "reason": f"{CUT_OFF} before it was measured"}
    run_folders.write_manifest(run, {**manifest, "status": "incomplete"})
    run.archived.rename(run.partial)


def rewrite(run: RunFolder, manifest: dict[str, Any]) -> None:
    """Have a run say something else, as if it had always said so."""
    run_folders.write_manifest(run, {**manifest, run_folders.OWN_DIGEST: run_folders.manifest_digest(manifest)})
