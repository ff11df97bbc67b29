"""How long a comparison and a history of large archives take: generated archives, this machine, one table.

    .venv/bin/python -m tests.benchmarks.archive_scale [--points 1000000] [--nights 365] [--cases 500]

Each reading is a process of its own, so that its memory is its own.
"""

import argparse
import json
import multiprocessing
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from postprocess.compare import compare
from postprocess.history import changes_of, series_of, with_changes
from postprocess.launches import TIMES, launch_table
from postprocess.points import write_table
from postprocess.table import aligned
from tests.archives import archived, name_of

RUNS_OF_A_SIDE = 10
REPETITIONS = 10
METRICS = ("t_measured_ns", "t_comm_ref_ns", "r_overhead")
Measured = tuple[float, float, Any]


def write_run(folder: Path, seed: tuple[pd.DataFrame, pd.DataFrame], points: int, number: int) -> None:
    """A run of so many points with REPETITIONS samples each, whose launches differ by one percent."""
    rng = np.random.default_rng(number)
    table, samples = seed
    cells = -(-points // len(table))
    many = pd.concat([table] * cells, ignore_index=True).iloc[:points].copy()
    many["comm_target_ns"] = 1_000_000 + np.arange(points) // len(table)
    many["repetitions"], many["index"] = REPETITIONS, np.arange(points)
    long = pd.concat([samples.iloc[:1]] * (points * REPETITIONS), ignore_index=True)
    long["repetition"] = np.tile(np.arange(REPETITIONS), points)
    long["index"] = np.repeat(np.arange(points), REPETITIONS)
    launch = np.repeat(np.exp(0.01 * rng.standard_normal(points)), REPETITIONS)
    for name in TIMES:
        noise = np.exp(0.02 * rng.standard_normal(points * REPETITIONS))
        long[name] = np.round(16e6 * (2 if name == "t_measured_ns" else 1) * launch * noise).astype(np.int64)
    folder.mkdir(parents=True)
    write_table(many, folder / "points.parquet")
    write_table(long, folder / "samples.parquet")


def seed_of(scratch: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tables of a small run that the archive's own code made."""
    folder = archived(scratch / "seed", name_of(1), launches=1).path
    return tuple(pq.read_table(folder / f"{name}.parquet").to_pandas() for name in ("points", "samples"))


def compared(folders: list[Path]) -> dict[str, int]:
    """What `compare` does: load, metrics, verdicts."""
    half = len(folders) // 2
    (a, _), (b, _) = launch_table(folders[:half]), launch_table(folders[half:])
    found = compare(a, b, metrics=METRICS)
    return {str(name): int(count) for name, count in found.rows["verdict"].value_counts().items()}


def watched(folders: list[Path]) -> int:
    """What `history` does."""
    table, _ = launch_table(folders)
    return len(changes_of([with_changes(one) for one in series_of(table, METRICS[:1])]))


def _measured(queue: Any, function: Callable[..., Any], words: Any) -> None:
    began = time.perf_counter()
    result = function(words)
    queue.put((time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, result))


def measured(function: Callable[..., Any], words: Any) -> Measured:
    """Seconds, MiB at most, and the result of a function in a process of its own."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_measured, args=(queue, function, words))
    process.start()
    found: Measured = queue.get()
    process.join()
    return found


def points_of_parquet(folders: list[Path]) -> int:
    """Names and numbers of every point, from the archive."""
    columns = ["system", "toolchain", "configuration", "collective", "comm_target_ns", *METRICS]
    return sum(len(pq.read_table(folder / "points.parquet", columns=columns).to_pandas()) for folder in folders)


def points_of_perflog(path: Path) -> int:
    """The same numbers from a performance log of ReFrame, with pandas."""
    return len(pd.read_csv(path, sep="|"))


def points_of_sessions(path: Path) -> int:
    """The same numbers from sessions as ReFrame's database keeps them: JSON in SQLite."""
    import sqlite3  # noqa: PLC0415

    with sqlite3.connect(path) as connection:
        sessions = [json.loads(text) for (text,) in connection.execute("SELECT json_blob FROM sessions")]
    rows = [
        {**{name: case[name] for name in ("name", "system", "partition", "environ")}, **_values(case)}
        for session in sessions
        for run in session["runs"]
        for case in run["testcases"]
    ]
    return len(pd.DataFrame(rows))


def _values(case: dict[str, Any]) -> dict[str, float]:
    return {key.rpartition(":")[2]: entry[0] for key, entry in case["perfvalues"].items()}


def write_perflog(path: Path, folders: list[Path]) -> None:
    """One line per point, as ReFrame's file logger writes them."""
    table, _ = launch_table(folders)
    own = "job_completion_time|version|display_name|system|partition|environ|jobid|result"
    numbers = [f"{name}_{part}" for name in METRICS for part in ("value", "unit", "ref", "lower", "upper")]
    with path.open("w") as stream:
        stream.write("|".join([own, *numbers]) + "\n")
        for row in table.itertuples():
            values = "|".join(f"{getattr(row, name)}|ns|0|None|None" for name in METRICS)
            name = f"nbc_overlap %configuration={row.configuration} %collective={row.collective} %{row.comm_target_ns}"
            stream.write(f"2026-11-22T00:00:00+00:00|4.10.4|{name}|{row.system}|wire|{row.toolchain}|1|pass|{values}\n")


def write_sessions(path: Path, folders: list[Path]) -> None:
    """One session per run, one test case per point, in the table of ReFrame's database."""
    import sqlite3  # noqa: PLC0415

    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE sessions(uuid TEXT PRIMARY KEY, json_blob TEXT)")
        for folder in folders:
            table, _ = launch_table([folder])
            cases = [
                {
                    "name": f"nbc_overlap %collective={row.collective} %{row.comm_target_ns}",
                    "system": row.system, "partition": "wire", "environ": row.toolchain, "result": "pass",
                    "perfvalues": {f"{row.system}:wire:{name}": [getattr(row, name), 0, None, None, "ns", "pass"]
                                   for name in METRICS},
                }
                for row in table.itertuples()
            ]  # fmt: skip
            document = {"session_info": {}, "runs": [{"testcases": cases}]}
            connection.execute("INSERT INTO sessions VALUES (?, ?)", (folder.name, json.dumps(document)))


def main() -> None:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--cases", type=int, default=500)
    asked = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="scale-"))
    lines = []

    def tell(what: str, found: Measured) -> None:
        lines.append([what, f"{found[0]:.1f}", f"{found[1]:.0f}", json.dumps(found[2])])
        print("  ".join(lines[-1]), flush=True)

    try:
        seed = seed_of(scratch)
        for points in (asked.points // 4, asked.points // 2, asked.points):
            runs = [scratch / str(points) / "here" / f"r{i:03}" for i in range(2 * RUNS_OF_A_SIDE)]
            for number, run in enumerate(runs):
                write_run(run, seed, points // len(runs), number)
            tell(f"compare, {points} points of {REPETITIONS} samples", measured(compared, runs))
            if points != asked.points // 4:
                continue
            write_perflog(scratch / "perf.log", runs)
            write_sessions(scratch / "sessions.db", runs)
            tell(f"read {points} points: archive", measured(points_of_parquet, runs))
            tell(f"read {points} points: perflog with pandas", measured(points_of_perflog, scratch / "perf.log"))
            tell(f"read {points} points: sessions of ReFrame", measured(points_of_sessions, scratch / "sessions.db"))
        nights = [scratch / "nights" / "here" / f"n{i:04}" for i in range(asked.nights)]
        for number, run in enumerate(nights):
            write_run(run, seed, asked.cases, number)
        tell(f"history, {asked.nights} nights of {asked.cases} cases", measured(watched, nights))
    finally:
        shutil.rmtree(scratch)
    print(aligned(["what", "seconds", "MiB", "found"], lines, right={1, 2}))


if __name__ == "__main__":
    main()
