"""How long a comparison and a history of large archives take: generated archives, this machine, one table.

    .venv/bin/python -m tests.benchmarks.archive_scale [--points 1000000] [--nights 365] [--cases 500]

What is timed is what `campaign compare` and `campaign history` do, all metrics that are usual, with a page; without the
start of Python. Each is a process of its own, whose memory is the most that it had itself (VmHWM). The table ends with
what is promised, and whether it was kept; exit code 1 where not.
"""

import argparse
import contextlib
import hashlib
import io
import json
import math
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
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
from postprocess.statistics.limits import HISTORY_RATE, Limits
from tests.archives import archived, name_of

RUNS_OF_A_SIDE = 10
REPETITIONS = 10
FIRST_DAY = date(2026, 1, 1)
MAP = 36
"""Points of a collective, as in a nightly run."""
MISSING = 0.02
"""Of the points, those that are not valid: sides do not have as many launches everywhere."""
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


def write_run(root: Path, seed: Seed, points: int, number: int, runs: int) -> None:
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

    def archive(name: str, points: int, runs: int) -> Path:
        for number in range(runs):
            write_run(scratch / name, seed, points, number, runs)
        return scratch / name

    try:
        seed = seed_of(scratch)
        sizes = [asked.points // 4, asked.points // 2, asked.points]
        taken = []
        for points in sizes:
            root = archive(str(points), points // (2 * RUNS_OF_A_SIDE), 2 * RUNS_OF_A_SIDE)
            taken.append(tell(f"compare, {points} points of {REPETITIONS} samples", measured(compared, root)))
            shutil.rmtree(root)
        root = archive("nights", asked.cases, asked.nights)
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
    ]
    print("\n" + "\n".join(f"{'kept    ' if kept else 'NOT KEPT'} {promise}" for promise, kept in promises))
    return 0 if all(kept for _, kept in promises) else 1


if __name__ == "__main__":
    sys.exit(main())
