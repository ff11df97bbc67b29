"""Schema-valid records and run folders with known answers: of the newest version, and of older ones on request."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MS = 1_000_000
TEMPLATES = (Path(__file__).parent.parent / "data" / "synthetic.json").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Behaviour:
    """What a library does: the true r_overhead, r_comm and r_comp_slowdown, and how it changes its references."""

    overhead: float
    comm: float = 1.0
    comp_slowdown: float = 1.0
    reference_factor: float = 1.0
    noise: float = 0.01


SERIALISED = Behaviour(1.0)
PERFECT = Behaviour(0.0, comm=0.05)
CONTENTION = Behaviour(1.6, comm=1.4, comp_slowdown=1.3)
NEGATIVE = Behaviour(-0.2, comm=0.1)
NOISY = Behaviour(0.5, noise=0.4)


def series(rng: np.random.Generator, median: float, n: int, noise: float) -> list[int]:
    """n positive integers whose median is exactly round(median) for odd n, to within 1 for even n."""
    offsets = np.abs(rng.normal(0, noise, n // 2)) * median
    offsets = np.minimum(offsets, 0.9 * median)
    middle = [round(median)] if n % 2 else []
    low_high = [round(median - x) for x in offsets] + [round(median + x) for x in offsets]
    return [int(x) for x in rng.permutation(np.array(middle + low_high, dtype=np.int64))]


def spread(values: Sequence[int]) -> dict[str, list[int]]:
    half = [v // 2 for v in values]
    return {"min": half, "median": half, "max": list(values), "max_rank": [0] * len(values)}


def point(
    index: int = 0,
    behaviour: Behaviour = SERIALISED,
    comm_ns: int = 16 * MS,
    comp_ns: int = 16 * MS,
    repetitions: int = 11,
    ranks: int = 2,
    seed: int = 1,
    given: bool = False,
    threads: int = 1,
    **changes: Any,
) -> dict[str, Any]:
    """A point whose medians give the behaviour's ratios exactly (to integer rounding)."""
    rng = np.random.default_rng([seed, index])
    f = behaviour.reference_factor
    comm, comp = comm_ns * f, comp_ns * f
    measured = max(comm, comp) + behaviour.overhead * min(comm, comp)

    def times(median: float) -> list[int]:
        return series(rng, median, repetitions, behaviour.noise)

    truth = {
        "t_mpi_ns": behaviour.comm * comm, "t_comm_ref_ns": comm, "t_comp_ns": behaviour.comp_slowdown * comp,
        "t_comp_ref_ns": comp,
    }  # fmt: skip
    own = {name: [times(median) for _ in range(ranks)] for name, median in truth.items()}
    medians = {name: [round(truth[name]) if repetitions else 0] * ranks for name in truth}
    mpi = own.pop("t_mpi_ns")
    never = [[0] * repetitions for _ in range(ranks)]
    status, tried = ("given", 0) if given else ("converged", 7)
    calibration = {"status": status, "time_ns": comm_ns, "error_relative": 0.0, "measurements": tried}
    enough = repetitions >= 6
    drift = {"change_relative": 0.002 if enough else None, "p_value": 0.4 if enough else None}
    moved = f - 1 if repetitions else None
    line = {
        "type": "point",
        "index": index,
        "parameters": {
            "collective": "ibcast",
            "comm_target_ns": comm_ns,
            "comp_target_ns": comp_ns,
            "message_bytes": comm_ns // 4,
            "work_size": max(1, round((comp_ns / 10) ** (1 / 3))),
        },
        "repetitions": repetitions,
        "warmup_repetitions": 2,
        "late_repetitions": 0,
        "discarded_repetitions": 0,
        "stop_reason": "interval" if repetitions else "not_measured",
        "interval_relative_reached": 0.05 if enough else None,
        "data_errors": 0,
        "start_method": "deadline",
        "clock": {"method": "shared", "residual_ns": 40.0, "synchronisations": 2, "drift_ppm": 0.0},
        "series": {
            "t_measured_ns": times(measured),
            "t_comm_ref_ns": times(comm),
            "t_comp_ref_ns": times(comp),
            "start_imbalance_ns": [50] * repetitions,
        },
        "warmup": {
            "t_measured_ns": [round(2 * measured), round(1.5 * measured)],
            "t_comm_ref_ns": [round(2 * comm)] * 2,
            "t_comp_ref_ns": [round(2 * comp)] * 2,
        },
        "spreads": {
            "t_call_ns": spread(times(comm / 10)),
            "t_comp_ns": spread(times(behaviour.comp_slowdown * comp)),
            "t_test_ns": spread([0] * repetitions),
            "t_wait_ns": spread(times(comm)),
        },
        "rank_medians": medians,
        "thread_medians": {
            name: [[value] * threads for value in medians[name]] for name in ("t_comp_ns", "t_comp_ref_ns")
        },
        "rank_samples": {
            "t_call_ns": [[value // 10 for value in values] for values in mpi],
            "t_test_ns": never,
            "t_wait_ns": [[value - value // 10 for value in values] for values in mpi],
            **own,
        },
        "own": {
            "comm_calibration": calibration,
            "comp_calibration": {**calibration, "time_ns": comp_ns},
            "recalibrations": 0,
            "buffer_sets": 1,
            "reference_drift": {"comm": drift, "comp": drift},
            "reference_moved": {"comm": moved, "comp": moved},
            "test_calls": 0,
        },
    }
    return changed(line, **changes)


def changed(line: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A point with other values of these names, wherever in it they stand."""
    line = copy.deepcopy(line)
    for name, value in changes.items():
        next(part for part in (line, line["parameters"], line["own"]) if name in part)[name] = value
    return line


def around_0(rng: np.random.Generator, deviation: float, count: int) -> NDArray[np.float64]:
    """Normal numbers, as many below 0 as above it, in any order."""
    half = np.abs(rng.normal(0, deviation, count // 2))
    return rng.permutation(np.concatenate([half, -half, np.zeros(count % 2)]))


def sampled_point(
    index: int, parameters: Mapping[str, Any], series: Mapping[str, ArrayLike], own: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """A point whose ranks began together, with the same number of repetitions in each series.

    series: the samples; they are rounded.  more: other fields of the line with their values.
    """
    samples = {name: [round(value) for value in np.asarray(values).tolist()] for name, values in series.items()}
    (repetitions,) = {len(values) for values in samples.values()}
    line = {
        "type": "point", "index": index, "parameters": dict(parameters), "repetitions": repetitions,
        "warmup_repetitions": 0, "late_repetitions": 0, "discarded_repetitions": 0,
        "stop_reason": "interval" if repetitions else "not_measured",
        "interval_relative_reached": 0.02 if repetitions >= 6 else None, "data_errors": 0, "start_method": "deadline",
        "clock": {"method": "shared", "residual_ns": 30.0, "synchronisations": 2, "drift_ppm": 0.0},
        "series": {**samples, "start_imbalance_ns": [20] * repetitions}, "warmup": {}, "spreads": {},
        "rank_medians": {}, "own": dict(own),
    }  # fmt: skip
    assert set(more) <= set(line)
    return {**line, **more}


def bare_point(parameters: dict[str, Any], own: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A point of a family that has few of the fields."""
    without = ("stop_reason", "interval_relative_reached", "start_method", "clock")
    counts = ("index", "repetitions", "warmup_repetitions", "late_repetitions", "discarded_repetitions", "data_errors")
    parts: dict[str, Any] = {name: {} for name in ("series", "warmup", "spreads", "rank_medians")}
    line = {"type": "point", "parameters": parameters, "own": own, **dict.fromkeys(without), **dict.fromkeys(counts, 0)}
    return {**line, **parts, **fields}


def template(name: str) -> dict[str, Any]:
    """One of `synthetic.json`, to be changed at will: the first line of a record, a place, a manifest, a toolchain."""
    found: dict[str, Any] = json.loads(TEMPLATES)[name]
    return found


def whole(first: dict[str, Any], points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of a complete record, with its number of points in the first line."""
    first["plan"]["points"] = len(points)
    return [first, *points, footer(len(points), first["ranks"])]


def header(ranks: int = 2, host: str = "node-0", **changes: Any) -> dict[str, Any]:
    threads = [{"name": "async", "cpuset": "0-1"}] if changes.get("configuration", "basic") != "basic" else []
    line = template("header")
    line |= {"ranks": ranks, "shared_core": bool(threads)}
    line["progress"]["source"] = "library" if threads else "none"
    line["placement"] = [
        template("place")
        | {"rank": rank, "host": host, "cpuset": str(rank), "compute_cpusets": [str(rank)], "mpi_threads": threads}
        for rank in range(ranks)
    ]
    assert set(changes) <= set(line)
    return {**line, **changes}


def header_of(
    family: str, parameters: dict[str, Any], own: dict[str, Any], changes: Mapping[str, Any], **usual: Any
) -> dict[str, Any]:
    """The first line of a record of a family. changes: other values of its fields.  usual: those of the family."""
    first = header(**{"family": family, "benchmark": family, "command_line": [family], **usual})
    first["plan"]["parameters"] = parameters
    assert set(changes) <= set(first)
    return {**first, "own": own, **changes}


def footer(points: int, ranks: int = 2, threads: int = 0, **changes: Any) -> dict[str, Any]:
    line = {
        "type": "footer", "complete": True, "reason": "", "points": points, "wall_seconds": 12.5,
        "measured_seconds": 9.1, "spent_seconds": None, "clock_residual_ns": 55.0,
        "clock_synchronisations": 2 * points + 1, "clock_synchronisation_seconds": 0.05, "clock_refusal": "",
        "mpi_thread_cpu_ns": [[3_200_000_000] * threads for _ in range(ranks)],
        "helper_thread_cpu_ns": [[] for _ in range(ranks)], "tcp_bytes_sent": [2_400_000_000] * ranks, "own": {},
    }  # fmt: skip
    assert set(changes) <= set(line)
    return {**line, **changes}


def sweep(
    behaviour: Behaviour = SERIALISED, grid: Sequence[int] = (8, 16, 32), repetitions: int = 11, **header_changes: Any
) -> list[dict[str, Any]]:
    """The lines of a complete record over grid x grid milliseconds. `collective` may be among the header changes."""
    collective = header_changes.pop("collective", "ibcast")
    given = header_changes.get("configuration", "basic") != "basic"
    targets = [g * MS for g in grid]
    shape = {"ranks": header_changes.get("ranks", 2), "threads": header_changes.get("threads_per_rank", 1)}
    points = [
        point(i, behaviour, comm, comp, repetitions, given=given, collective=collective, **shape)
        for i, (comm, comp) in enumerate((x, y) for x in targets for y in targets)
    ]
    first = header(**header_changes)
    first["plan"]["points"] = len(points)
    first["plan"]["parameters"] |= {
        "collective": [collective], "comm_target_ns": targets, "comp_target_ns": targets,
    }  # fmt: skip
    threads = len(first["placement"][0]["mpi_threads"])
    return [first, *points, footer(len(points), first["ranks"], threads)]


def without_clock(line: dict[str, Any]) -> dict[str, Any]:
    """A point that was measured without a common clock."""
    clock = {"method": "none", "residual_ns": None, "synchronisations": 1, "drift_ppm": None}
    series = {name: values for name, values in line["series"].items() if name != "start_imbalance_ns"}
    return {**line, "start_method": "barrier", "clock": clock, "series": series}


def refused(reason: str, **header_changes: Any) -> list[dict[str, Any]]:
    """A record that was refused before any point was measured."""
    first = header(**header_changes)
    end = footer(0, first["ranks"], clock_residual_ns=None, complete=False, reason=reason, measured_seconds=0.0)
    return [first, end]


CLOCKS_DISAGREE = {"clock": {"method": "shared", "residual_ns": 1e6, "synchronisations": 2, "drift_ppm": 0.0}}
"""The change of a point whose clocks differ by a millisecond."""


def check_unreliable(row: Any, reason: str) -> None:
    """A row of a table is not reliable first for this reason, and valid unless it has no right times at all."""
    assert not row["reliable"]
    assert row["unreliable_reasons"][0].startswith(reason)
    assert bool(row["valid"]) is not reason.startswith(("fewer", "wrong", "not measured"))


def text(lines: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def write(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(lines), encoding="utf-8")
    return path


def written(folder: Path, records: Iterable[Iterable[dict[str, Any]]]) -> list[Path]:
    """A file for each of these records, in a folder."""
    return [write(folder / f"{number}.jsonl", lines) for number, lines in enumerate(records)]


def case(lines: Sequence[dict[str, Any]], record: str | None, result: str = "pass", reason: str = "") -> dict[str, Any]:
    h = lines[0]
    collective = h["plan"]["parameters"]["collective"][0]
    return {
        "case": f"{h['toolchain']} {h['network']} {h['configuration']} {collective}",
        **{key: h[key] for key in ("toolchain", "provider", "network", "configuration", "benchmark")},
        "collective": collective, "result": result, "reason": reason, "record": record,
    }  # fmt: skip


def run_folder(
    path: Path, records: Sequence[Sequence[dict[str, Any]]], cases: Sequence[dict[str, Any]] = (), **manifest: Any
) -> Path:
    """A run folder with a manifest; `cases` are those beyond the ones that have a record."""
    files = [write(path / "records" / f"{i:03}.jsonl", lines) for i, lines in enumerate(records)]
    toolchains = list(dict.fromkeys(lines[0]["toolchain"] for lines in records))
    content = template("manifest") | {
        "toolchains": [
            template("toolchain")
            | {
                "toolchain": name, "environment": name.replace("@", "-").replace(".", "_"),
                "prefix": f"prefixes/{name}",
                "packages": [{"name": name.split("@")[0], "version": name.split("@")[-1], "sha256": "ab" * 32}],
            }
            for name in toolchains
        ],
        "cases": [case(r, f"records/{f.name}") for r, f in zip(records, files, strict=True)] + list(cases),
        "checksums": _checksums(path),
    }  # fmt: skip
    (path / "manifest.json").write_text(json.dumps({**content, **manifest}), encoding="utf-8")
    return path


def _checksums(run: Path) -> dict[str, str]:
    files = sorted((run / "records").iterdir())
    return {f"records/{file.name}": "sha256:" + hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def sealed(run: Path) -> Path:
    """The run folder, after its manifest got the checksums of all records that are in it now."""
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    manifest["checksums"] = _checksums(run)
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return run


def said_of(run: Path, number: int, **said: Any) -> Path:
    """The run folder, after the manifest's case of that number was told something else: a `result`, a `reason`."""
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    manifest["cases"][number] |= said
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return run


def smoke_run(path: Path, grid: Sequence[int] = (8, 16, 32), **manifest: Any) -> Path:
    """A run like the real smoke suite: two libraries, two configurations, two collectives, skips and troubles."""
    mpich: dict[str, Any] = {
        "toolchain": "mpich@5.0.2",
        "mpi_library_version": "MPICH Version: 5.0.2",
        "network": "shm",
    }
    slowed = Behaviour(0.1, comm=0.1, comp_slowdown=1.5, reference_factor=1.4)
    records = [
        sweep(SERIALISED, grid),
        sweep(Behaviour(1.05), grid, collective="ireduce"),
        sweep(Behaviour(0.18, comm=0.2), grid, configuration="async"),
        sweep(Behaviour(0.99, comm=1.1), grid, configuration="async", collective="ireduce"),
        sweep(CONTENTION, grid, oversubscribed=True, **mpich),
        sweep(slowed, grid, configuration="async", oversubscribed=True, **mpich),
    ]
    noisy = records[2]
    for index, (behaviour, repetitions) in enumerate(((NOISY, 11), (SERIALISED, 0), (NEGATIVE, 11))):
        of = noisy[1 + index]["parameters"]
        noisy[1 + index] = point(index, behaviour, of["comm_target_ns"], of["comp_target_ns"], repetitions)
    records[3] = records[3][:-2]
    skipped = case(
        sweep(configuration="async", network="shm"), None, "skip", "Open MPI's progress thread serves TCP only"
    )
    failed = case(sweep(collective="ialltoall", **mpich), None, "fail", "sanity: rank 1 received wrong data")
    notes = ["Turbo is on: computation times may drift."]
    cases = [skipped, failed]
    return run_folder(path, records, cases, **{"notes": notes, **manifest})
