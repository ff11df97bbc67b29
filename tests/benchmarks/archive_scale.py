"""How long a comparison and a history of large archives take: generated archives, this machine, one table.

    .venv/bin/python -m tests.benchmarks.archive_scale [--points 1000000] [--nights 365] [--cases 500]

What is timed is what `campaign compare` and `campaign history` do, all metrics that are usual, with a page; without the
start of Python. What is made of the archive, of a perflog and of ReFrame's sessions is the same table, that from which
every verdict starts: of each launch its names, sizes, states and the medians of its repetitions. Each is a process of
its own, whose memory is the most that it had itself (VmHWM). The table ends with what is promised, and whether it was
kept; exit code 1 where not.
"""

import argparse
import contextlib
import hashlib
import io
import json
import math
import multiprocessing
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from mpi_campaign.verdicts import alarms, comparing
from postprocess.drawing.columns import aligned
from postprocess.families.nbc_overlap.launches import TIMES
from postprocess.records.parquet import write_table
from postprocess.statistics import metrics
from postprocess.statistics.effects import Integers
from postprocess.statistics.limits import HISTORY_RATE, Limits
from postprocess.verdicts.launches import USUAL_VALUES, WORDS, launch_table
from tests.archives import archived, name_of

RUNS_OF_A_SIDE = 10
REPETITIONS = 10
FIRST_DAY = date(2026, 1, 1)
MAP = 36
"""Points of a collective, as in a nightly run."""
MISSING = 0.02
"""Of the points, those that are not valid: sides do not have as many launches everywhere."""
STATES = ["valid", "reliable", "complete", "oversubscribed"]
OF_POINT = [
    "message_bytes", "work_size", "r_overhead_vs_basic", "speedup_vs_basic", "r_comm", "r_comp_slowdown", *STATES,
]  # fmt: skip
VARIABLES = [*TIMES, *OF_POINT]
"""What a verdict needs of a point beside its name: to ReFrame, a test's performance variables."""
PARAMETERS = {
    "provider": "provider", "configuration": "configuration", "network": "network", "ranks": "ranks",
    "nodes": "nodes", "threads_per_rank": "threads", "given_up_cores": "given_up", "cache": "cache",
    "computation": "computation", "test_interval_ns": "test", "launch": "launch", "collective": "collective",
    "comm_target_ns": "comm", "comp_target_ns": "comp",
}  # fmt: skip
"""What names a point, and how it is called in a test's name."""
WHOLE = [name for name in PARAMETERS if name not in WORDS]
POINT = ["system", "toolchain", *PARAMETERS]
STEP = 1.1
"""Of the times of every tenth case, in the second half of the archive."""

Seed = tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]
Measured = tuple[float, float, Any]


def day(number: int) -> str:
    """The date of a run, one a day."""
    return f"{FIRST_DAY + timedelta(days=number)}"


def run_folder(root: Path, number: int) -> Path:
    """The folder of the run of a day."""
    return root / "here" / f"{day(number).replace('-', '')}T020000Z-{number:06x}"


def write_run(root: Path, seed: Seed, points: int, number: int, runs: int) -> Path:
    """A run of so many points with REPETITIONS samples each, whose launches differ by one percent."""
    rng = np.random.default_rng(number)
    table, samples, manifest = seed
    folder = run_folder(root, number)
    many = table.iloc[np.zeros(points, np.int64)].reset_index(drop=True)
    place = np.arange(points) % MAP
    many["collective"] = "c" + pd.Series(np.arange(points) // MAP).astype(str)
    many["comm_target_ns"] = many["message_bytes"] = 1_000_000 << (place % 6)
    many["comp_target_ns"] = many["work_size"] = 1_000_000 << (place // 6)
    many["repetitions"], many["index"] = REPETITIONS, np.arange(points)
    there = rng.random(points) >= MISSING
    many["valid"], many["reliable"] = there, there
    long = samples.iloc[np.zeros(points * REPETITIONS, np.int64)].reset_index(drop=True)
    long["repetition"] = np.tile(np.arange(REPETITIONS), points)
    long["index"] = np.repeat(np.arange(points), REPETITIONS)
    factor = np.exp(0.01 * rng.standard_normal(points))
    if number >= runs // 2:
        factor[np.arange(points) % 10 == 0] *= STEP
    for name in TIMES:
        noise = np.exp(0.02 * rng.standard_normal(points * REPETITIONS))
        once = 16e6 * (2 if name == "t_measured_ns" else 1)
        long[name] = np.round(once * np.repeat(factor, REPETITIONS) * noise).astype(np.int64)
    folder.mkdir(parents=True)
    write_table(many, folder / "points.parquet")
    write_table(long, folder / "samples.parquet")
    sums = {path.name: "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.parquet")}
    own = {"run": folder.name, "checksums": sums, "started_utc": f"{day(number)}T02:00:00Z"}
    (folder / "manifest.json").write_text(json.dumps({**manifest, **own}))
    return folder


def seed_of(scratch: Path) -> Seed:
    """Tables and manifest of a small run that the archive's own code made."""
    folder = archived(scratch / "seed", name_of(1), launches=1).path
    points, samples = (pq.read_table(folder / f"{name}.parquet").to_pandas() for name in ("points", "samples"))
    return points, samples, json.loads((folder / "manifest.json").read_text())


def compared(root: Path) -> str:
    """What `campaign compare` does, of the first runs against the others."""
    words = (f"{day(0)}..{day(RUNS_OF_A_SIDE - 1)}", f"{day(RUNS_OF_A_SIDE)}..{day(2 * RUNS_OF_A_SIDE - 1)}")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        comparing.run(comparing.ComparisonRequest(words), root, "", {"html": root / "comparison.html"})
    return next(line for line in said.getvalue().splitlines() if line.startswith(f"{words[1]} against {words[0]}: "))


def watched(root: Path) -> str:
    """What `campaign history` does."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        alarms.run(alarms.HistoryRequest("", (), Limits(rate=HISTORY_RATE)), root, root / "history.html", as_json=False)
    return said.getvalue().strip().splitlines()[-1]


def _measured(queue: Any, function: Callable[..., Any], words: Any) -> None:
    try:
        began = time.perf_counter()
        result = function(words)
        seconds = time.perf_counter() - began
        status = Path("/proc/self/status").read_text().splitlines()
        most = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
        queue.put((seconds, most, result))
    except BaseException as error:
        queue.put(error)
        raise


def measured(function: Callable[..., Any], words: Any) -> Measured:
    """Seconds, MiB at most, and the result of a function in a process of its own."""
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=_measured, args=(queue, function, words))
    process.start()
    process.join()
    if queue.empty():
        sys.exit(f"{function.__name__} was killed: exit code {process.exitcode}")
    found: Measured | BaseException = queue.get()
    if isinstance(found, BaseException):
        raise found
    return found


def told(launches: pd.DataFrame) -> str:
    """What a table of launches has: the same whatever it was read from."""
    ends = [" ".join(str({**USUAL_VALUES, **row}[name]) for name in POINT)
            for row in launches.iloc[[0, -1]].to_dict("records")]  # fmt: skip
    times, ratio = (launches[names].sum().sum() for names in (list(TIMES), ["r_overhead"]))
    counted = launches[STATES].sum().sum()
    return f"{len(launches)} launches of {times:.0f} ns, r_overhead {ratio:.3f}, {counted} states, {' to '.join(ends)}"


def launches_of_archive(folders: list[Path]) -> str:
    """What every verdict starts from: of each launch its names, sizes, states and medians. Checksums included."""
    return told(launch_table(folders)[0])


def launches_of_perflog(path: Path) -> str:
    """The same with pandas from a performance log of ReFrame, where the point is in the test's name."""
    values = {f"{name}_value": name for name in VARIABLES}
    table = pd.read_csv(path, sep="|", usecols=["display_name", "system", "environ", "run", *values])
    return told(_medians(table.rename(columns=values), "display_name"))


def launches_of_sessions(path: Path) -> str:
    """The same from sessions as ReFrame's database keeps them: JSON in SQLite."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        sessions = [(run, json.loads(text)) for run, text in connection.execute("SELECT uuid, json_blob FROM sessions")]
    rows = [
        {**{name: case[name] for name in ("name", "system", "environ")}, **_values(case), "run": run}
        for run, session in sessions
        for once in session["runs"]
        for case in once["testcases"]
    ]
    return told(_medians(pd.DataFrame(rows), "name"))


def _values(case: dict[str, Any]) -> dict[str, float]:
    return {key.rpartition(":")[2]: entry[0] for key, entry in case["perfvalues"].items()}


def _medians(table: pd.DataFrame, names: str) -> pd.DataFrame:
    """Launches out of repetitions; each different name of a test is taken apart once."""
    ways: dict[str, Any] = {name: "median" if name in TIMES else "first" for name in VARIABLES}
    of = ["run", "system", "environ", names]
    launches = table.groupby(of, sort=False, observed=True).agg(ways).reset_index()
    codes, different = pd.factorize(launches[names])
    pattern = " ".join(rf"%{short}=(?P<{name}>\S*)" for name, short in PARAMETERS.items())
    parts = pd.Series(different).str.extract(pattern).astype(dict.fromkeys(WHOLE, np.int64))
    whole = launches.rename(columns={"environ": "toolchain"}).join(parts.iloc[codes].reset_index(drop=True))
    medians = (whole[name].to_numpy(np.float64) for name in ("t_measured_ns", "t_comp_ref_ns", "t_comm_ref_ns"))
    found: pd.DataFrame = whole.assign(r_overhead=metrics.r_overhead(*medians))
    return found


def points_of(folder: Path) -> Iterator[tuple[Any, Integers]]:
    """Of every point what the archive has, and its times: (repetitions, TIMES). To ReFrame a repetition is a run."""
    points = pq.read_table(folder / "points.parquet").to_pandas()
    samples = pq.read_table(folder / "samples.parquet", columns=list(TIMES)).to_pandas().to_numpy()
    yield from zip(points.itertuples(), samples.reshape(len(points), REPETITIONS, len(TIMES)), strict=True)


def logged(row: Any) -> dict[str, float]:
    """The performance variables of a point that are the same in all of its repetitions."""
    return {name: +getattr(row, name) for name in OF_POINT}


def write_perflog(path: Path, folders: list[Path]) -> None:
    """One line per repetition, as ReFrame's file logger writes them."""
    own = "job_completion_time|version|display_name|system|partition|environ|jobid|result|run"
    numbers = [f"{name}_{part}" for name in VARIABLES for part in ("value", "unit", "ref", "lower", "upper")]
    with path.open("w") as stream:
        stream.write("|".join([own, *numbers]) + "\n")
        for folder in folders:
            for row, samples in points_of(folder):
                place = f"{_name(row)}|{row.system}|wire|{row.toolchain}"
                first = f"2026-11-22T00:00:00+00:00|4.10.4|{place}|1|pass|{folder.name}"
                same = "".join(f"|{value}|ns|0|None|None" for value in logged(row).values())
                for times in samples.tolist():
                    stream.write(f"{first}{''.join(f'|{time}|ns|0|None|None' for time in times)}{same}\n")


def _name(row: Any) -> str:
    return f"{row.benchmark} {' '.join(f'%{short}={getattr(row, name)}' for name, short in PARAMETERS.items())}"


def write_sessions(path: Path, folders: list[Path]) -> None:
    """One session per run, one test case per repetition, in the table of ReFrame's database."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE sessions(uuid TEXT PRIMARY KEY, json_blob TEXT)")
        for folder in folders:
            cases = [
                {
                    "name": _name(row), "system": row.system, "partition": "wire", "environ": row.toolchain,
                    "result": "pass",
                    "perfvalues": {f"{row.system}:wire:{name}": [value, 0, None, None, "ns", "pass"]
                                   for name, value in (*zip(TIMES, times, strict=True), *logged(row).items())},
                }
                for row, samples in points_of(folder)
                for times in samples.tolist()
            ]  # fmt: skip
            document = {"session_info": {}, "runs": [{"testcases": cases}]}
            connection.execute("INSERT INTO sessions VALUES (?, ?)", (folder.name, json.dumps(document)))


OTHERS: dict[str, tuple[int, Callable[[Path, list[Path]], None], Callable[[Path], str]]] = {
    "a perflog, with pandas": (1, write_perflog, launches_of_perflog),
    "ReFrame's sessions": (10, write_sessions, launches_of_sessions),
}
"""What else holds the same data: of which part of the points it is read, how it is written, how it is read. Of all of
them ReFrame's sessions would need 70 GiB."""


def main(words: list[str] | None = None) -> int:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--cases", type=int, default=500)
    asked = parser.parse_args(words)
    scratch = Path(tempfile.mkdtemp(prefix="scale-"))
    lines: list[list[str]] = []

    def tell(what: str, found: Measured) -> Measured:
        lines.append([what, f"{found[0]:.1f}", f"{found[1]:.0f}", str(found[2])])
        print("  ".join(lines[-1]), flush=True)
        return found

    def archive(name: str, points: int, runs: int) -> tuple[Path, list[Path]]:
        root = scratch / name
        return root, [write_run(root, seed, points, number, runs) for number in range(runs)]

    try:
        seed = seed_of(scratch)
        times_as_fast = {}
        for what, (part, write, read) in OTHERS.items():
            points = asked.points // part
            root, folders = archive("read", points // (2 * RUNS_OF_A_SIDE), 2 * RUNS_OF_A_SIDE)
            write(scratch / "other", folders)
            of = f"launches of {points} points of {REPETITIONS} samples"
            own = tell(f"{of}: archive", measured(launches_of_archive, folders))
            other = tell(f"{of}: {what}", measured(read, scratch / "other"))
            if own[2] != other[2]:
                sys.exit(f"what was read is not the same: {own[2]}; {other[2]}")
            times_as_fast[what] = other[0] / own[0]
            shutil.rmtree(root)
            (scratch / "other").unlink()
        sizes = [asked.points // 4, asked.points // 2, asked.points]
        taken = []
        for points in sizes:
            root, folders = archive(str(points), points // (2 * RUNS_OF_A_SIDE), 2 * RUNS_OF_A_SIDE)
            taken.append(tell(f"compare, {points} points of {REPETITIONS} samples", measured(compared, root)))
            shutil.rmtree(root)
        root, _ = archive("nights", asked.cases, asked.nights)
        history = tell(f"history, {asked.nights} nights of {asked.cases} cases", measured(watched, root))
    finally:
        shutil.rmtree(scratch)
    print("\n" + aligned(["what", "seconds", "MiB", "found"], lines, right={1, 2}))
    growth = math.log(taken[-1][0] / taken[0][0]) / math.log(sizes[-1] / sizes[0])
    promises = [
        (f"compare within 10 s: {taken[-1][0]:.1f} s", taken[-1][0] <= 10),
        (f"and 1 GiB: {taken[-1][1]:.0f} MiB", taken[-1][1] <= 1024),
        (f"time grows with the points to the power of {growth:.2f}: at most 1.1", growth <= 1.1),
        (f"history within 30 s: {history[0]:.1f} s", history[0] <= 30),
        *((f"10 times as fast as from {what}: {times:.1f}", times >= 10) for what, times in times_as_fast.items()),
    ]
    print("\n" + "\n".join(f"{'kept    ' if kept else 'NOT KEPT'} {promise}" for promise, kept in promises))
    return 0 if all(kept for _, kept in promises) else 1


if __name__ == "__main__":
    sys.exit(main())
