"""Run the launches of one case of r_mpi_impact, one after the other, and merge their records into one record.

    python -m mpi_campaign.launching.impact_launches --programs FOLDER --launcher 'mpiexec -n 2 --bind-to core' \
        --record record.jsonl --save-sizes sizes.txt --budget-seconds 60 -- --toolchain NAME ...

`mpi_impact` (A) and `compute_alone` (B) take turns, A B B A A B B A …: a ratio compares two launches that follow each
other, and each program comes first equally often, so that slow drift cancels. The words after `--` are options of every
launch of `mpi_impact`; `compute_alone` repeats the work of the first one, which says what that is (`--save-like`).
The results of a launch are on the disk before the next launch begins. An error is one line on standard error that
begins with `mpi_impact:`, and exit code 1.
"""

import argparse
import math
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD
from mpi_campaign.launching import key_values
from postprocess.families.mpi_impact.record import COMPUTE_ALONE, MPI_IMPACT, PROGRAMS
from postprocess.records.fields import Fields, RecordError, fail, lines_of
from postprocess.records.record import Footer
from postprocess.records.writing import footer_line, write_line

ORDER = (MPI_IMPACT, COMPUTE_ALONE, COMPUTE_ALONE, MPI_IMPACT)

# Pairs of launches. With fewer, the interval of the ratio is wide; with more, it is hardly narrower.
FEWEST_PAIRS, USUAL_PAIRS, MOST_PAIRS = 2, 6, 12
# Seconds that a launch computes where the budget allows it, and seconds that it needs to start and end.
USUAL_SECONDS = 6.0
START_SECONDS = 1.0
# The shortest launch takes SHORTEST_FACTOR times one repetition of every computation time, plus SHORTEST_SECONDS: for
# uncounted repetitions, for the slots' margin, and because short times are repeated for 50 ms.
SHORTEST_FACTOR, SHORTEST_SECONDS = 1.2, 0.3

# A launch that hangs has so long to end by itself and tell where it hangs; then its launcher has so long to end it.
OWN_END_SECONDS, LAUNCHERS_END_SECONDS = 7.0, 2.0

# Fields of the header that must be the same in every launch of `mpi_impact`.
SAME = (
    "toolchain", "provider", "configuration", "network", "mpi_library_version", "ranks", "nodes", "threads_per_rank",
    "physical_cores", "oversubscribed", "shared_core", "build", "plan",
)  # fmt: skip
CPU_TIMES = ("mpi_thread_cpu_ns", "helper_thread_cpu_ns")


class LaunchError(Exception):
    """A launch failed, or measured something else than was planned; the message is one line."""


@dataclass(frozen=True)
class Schedule:
    """The number of pairs of launches, and about how many seconds each launch computes."""

    pairs: int
    seconds: float

    @classmethod
    def within(cls, budget_seconds: float, shortest_seconds: float) -> "Schedule":
        """The schedule that fits into a budget. More launches are preferred to longer launches.

        budget_seconds: for all launches together; 0: no bound.  shortest_seconds: computation of the shortest launch.
        Where no schedule fits, it has the fewest launches, with the fewest repetitions (0 seconds).
        """
        usual = max(USUAL_SECONDS, shortest_seconds)
        if budget_seconds == 0:
            return cls(USUAL_PAIRS, usual)
        pairs = min(MOST_PAIRS, int(budget_seconds / (2 * (usual + START_SECONDS))))
        for candidate in (max(pairs, USUAL_PAIRS), *range(USUAL_PAIRS - 1, FEWEST_PAIRS - 1, -1)):
            seconds = budget_seconds / (2 * candidate) - START_SECONDS
            if seconds >= shortest_seconds:
                return cls(candidate, min(seconds, usual))
        return cls(FEWEST_PAIRS, 0.0)

    @property
    def launches(self) -> tuple[str, ...]:
        """The program of each launch, in order."""
        return tuple(ORDER[number % len(ORDER)] for number in range(2 * self.pairs))


@dataclass(frozen=True)
class Programs:
    """The programs' folder, and the launcher with its options.

    ends: the time, by `time.monotonic`, at which the last launch must have ended. A launch that has not ended by then
    hangs. `mpi_impact` knows its limit, so that it can tell where its ranks hang.
    """

    folder: Path
    launcher: tuple[str, ...]
    ends: float = math.inf

    def run(self, program: str, words: Sequence[str]) -> None:
        """Run one launch. Raises LaunchError with the program's first message; without one, with the exit code."""
        seconds_left = max(SHORTEST_SECONDS, self.ends - time.monotonic())
        has_limit = math.isfinite(seconds_left)
        if not os.access(self.folder / program, os.X_OK):
            raise LaunchError(f"there is no program {self.folder / program}: build the benchmarks")
        limit = ["--limit-seconds", f"{seconds_left:.1f}"] if program == MPI_IMPACT and has_limit else []
        command = [*self.launcher, str(self.folder / program), *words, *limit]
        try:
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace")
        except OSError as error:
            raise LaunchError(f"{command[0]} cannot be started: {error.strerror}") from error
        with process:
            errors, hung = _wait_for(process, seconds_left + OWN_END_SECONDS if has_limit else None)
        sys.stderr.write(errors)
        sys.stderr.flush()
        if process.returncode:
            messages = [line for line in errors.splitlines() if line.startswith(f"{program}: ")]
            end_words = "it hung, and was ended" if hung else f"exit code {process.returncode}"
            raise LaunchError(f"{program}: {messages[0].removeprefix(f'{program}: ') if messages else end_words}")


def _wait_for(process: "subprocess.Popen[str]", seconds: float | None) -> tuple[str, bool]:
    """Wait for the end of a launch. Returns its standard error, and whether it hung and had to be ended."""
    hung = False
    for timeout, stop in ((seconds, process.terminate), (LAUNCHERS_END_SECONDS, process.kill)):
        try:
            return process.communicate(timeout=timeout)[1], hung
        except subprocess.TimeoutExpired:
            hung = True
            stop()
    return process.communicate()[1], hung


class MergedRecord:
    """The record of all launches, which grows by one launch at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.began = time.monotonic()
        self.file: TextIO | None = None
        self.header: dict[str, Any] = {}
        self.launches = 0
        self.points = 0

    def add_mpi(self, path: Path, planned: Sequence[str]) -> None:
        """Add a record of `mpi_impact`. The first record gives the header. Raises LaunchError and RecordError."""
        header, points, footer = _parts(path, "header")
        if self.file is None:
            self.header = _with_launches(header, planned)
            self.file = self.path.open("x", encoding="utf-8")
            self._write(self.header)
        comparable = _with_launches(header, self.header["plan"]["own"]["launches"])
        for name in SAME:
            if comparable[name] != self.header[name]:
                raise LaunchError(f"launch {self.launches} has another {name} than the first one")
        places = [_place(rank) for rank in header["placement"]]
        cpu_ns = {name: footer[name] for name in CPU_TIMES}
        self._add(MPI_IMPACT, header, places, cpu_ns, footer["wall_seconds"], [points])

    def add_alone(self, base: Path) -> None:
        """Add the records of all processes of `compute_alone`: base.0, base.1, … Raises LaunchError and RecordError."""
        parts = [_parts(base.with_name(f"{base.name}.{rank}"), "process") for rank in range(self.header["ranks"])]
        wall_seconds = max(footer["wall_seconds"] for _, _, footer in parts)
        places = [_place(process) for process, _, _ in parts]
        self._add(
            COMPUTE_ALONE,
            parts[0][0],
            places,
            {name: [] for name in CPU_TIMES},
            wall_seconds,
            [points for _, points, _ in parts],
        )

    def _add(
        self,
        program: str,
        first: Mapping[str, Any],
        places: list[dict[str, Any]],
        cpu_ns: Mapping[str, Any],
        wall_seconds: float,
        files: list[list[dict[str, Any]]],
    ) -> None:
        """Write the points of a launch. Raises LaunchError where a file lacks a point, or has one that was not planned.
        first: the first line of the launch's first file.  files: the points of each file, in the order of ranks."""
        targets = self.header["plan"]["own"]["targets"]
        if any(len(points) != len(targets) for points in files):
            raise LaunchError(f"launch {self.launches} of {program} has not measured all of its {len(targets)} times")
        launch = {
            "started_utc": first["started_utc"],
            "wall_seconds": wall_seconds,
            "command_line": first["command_line"],
            "places": places,
            **cpu_ns,
        }
        for index, parts in enumerate(zip(*files, strict=True)):  # parts: the same point in each file
            parameters = parts[0]["parameters"]
            if parts[0]["index"] != index or any(part["parameters"] != parameters for part in parts):
                raise LaunchError(f"launch {self.launches} of {program} did other work than was planned")
            times = [of_rank for part in parts for of_rank in part["rank_samples"]["t_comp_ns"]]
            windows = [of_rank for part in parts for of_rank in part["own"]["window_utc_ns"]]
            self._write(
                {
                    **parts[0],
                    "index": self.points,
                    "parameters": {**parameters, "launch": self.launches, "program": program},
                    "rank_samples": {"t_comp_ns": times},
                    "own": {"window_utc_ns": windows, "launch": launch},
                }
            )
            self.points += 1
        self.launches += 1

    def close(self, reason: str) -> None:
        """Write the footer and close the file. reason: why the record is incomplete; empty where it is complete."""
        if self.file is not None:
            # What the footer of a launch says is in the points of the launch.
            footer = Footer(complete=not reason, reason=reason, wall_seconds=time.monotonic() - self.began)
            self._write(footer_line(footer, self.points))
            self.file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        assert self.file is not None
        write_line(self.file, line)


def _parts(path: Path, kind: str) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """First line, points and footer of a program's file. Raises RecordError where the file is not whole.  kind: the
    `type` of the first line."""
    lines = []
    for where, value in lines_of(path):
        if value is None:
            fail(where, "the last line is cut")
        lines.append((where, value))
    if not lines or lines[0][1].get("type") != kind:
        fail(path.name, f"its first line is no {kind}")
    where, footer = lines[-1]
    if footer.get("type") != "footer" or footer.get("complete") is not True:
        fail(path.name, "no footer: the launch was cut off")
    Fields(footer, where).number("wall_seconds")
    return lines[0][1], [value for _, value in lines[1:-1]], footer


def _place(rank: Mapping[str, Any]) -> dict[str, Any]:
    """Where a rank ran."""
    return {name: rank[name] for name in ("host", "cpuset", "compute_cpusets")}


def _with_launches(header: Mapping[str, Any], launches: Sequence[str]) -> dict[str, Any]:
    """The header of a launch, with the plan of all launches. It names no description, since no program prints it."""
    plan = header["plan"]
    own = {name: value for name, value in header.items() if name != "description"}
    points = plan["points"] * len(launches)
    return {**own, "plan": {**plan, "points": points, "own": {**plan["own"], "launches": list(launches)}}}


def measure(programs: Programs, merged: MergedRecord, options: argparse.Namespace) -> None:
    """Calibrate where the options say so, then run all launches. Raises LaunchError and RecordError."""
    folder = merged.path.parent
    sizes = options.sizes or options.save_sizes
    times = ["--comp-times", options.comp_times] if options.comp_times else []
    if options.save_sizes:
        programs.run(MPI_IMPACT, [*options.words, *times, "--save-sizes", sizes, "--calibrate-only"])
    budget = options.budget_seconds
    seconds_left = max(1e-3, budget - (time.monotonic() - merged.began)) if budget else 0.0
    schedule = Schedule.within(seconds_left, SHORTEST_SECONDS + SHORTEST_FACTOR * _sum_seconds(Path(sizes)))
    words = [*options.words, *times, "--sizes", sizes, "--seconds", f"{schedule.seconds:.2f}", "--quiet"]
    like = folder / "like.txt"
    for number, program in enumerate(schedule.launches):
        base = folder / f"launch-{number}"
        if program == MPI_IMPACT:
            path = base.with_suffix(".jsonl")
            programs.run(MPI_IMPACT, [*words, "--record", str(path), *([] if number else ["--save-like", str(like)])])
            merged.add_mpi(path, schedule.launches)
        else:
            ranks = ["--rank-variables", options.rank_variables] if options.rank_variables else []
            programs.run(COMPUTE_ALONE, ["--like", str(like), "--record", str(base), *ranks])
            merged.add_alone(base)
        print(f"launch {number + 1} of {len(schedule.launches)}: {program}", flush=True)


def _sum_seconds(sizes: Path) -> float:
    """Seconds of one repetition of every computation time in a sizes file. Raises LaunchError."""
    try:
        work = key_values.lines_of(sizes)[key_values.WORK]
        return sum(max(int(time_ns), int(target_ns)) for target_ns, _, _, time_ns in work) / 1e9
    except (OSError, ValueError) as error:
        raise LaunchError(f"{sizes} is no sizes file of mpi_impact ({error})") from error


def main(arguments: Sequence[str]) -> int:
    """Run the launches, from command-line arguments. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="impact_launches", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--programs", type=Path, required=True, help=f"folder of {' and '.join(PROGRAMS)}")
    parser.add_argument("--launcher", required=True, help="the launcher and its options, as typed")
    parser.add_argument("--record", type=Path, required=True, help="the record; must not exist")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--sizes", default="", help="sizes of the work, from another case's --save-sizes")
    source.add_argument("--save-sizes", default="", help="calibrate, and write the sizes there")
    parser.add_argument("--rank-variables", default="", help="in which the launcher tells a process its rank")
    parser.add_argument("--comp-times", default="", help="computation times; default: those of mpi_impact")
    parser.add_argument("--budget-seconds", type=float, default=0.0, help="for everything; 0: no bound")
    parser.add_argument("--limit-seconds", type=float, default=0.0, help="what is not over then hangs; 0: no limit")
    parser.add_argument("words", nargs="*", help="after --: options of every launch of mpi_impact")
    options = parser.parse_args(arguments)
    merged = MergedRecord(options.record)
    reason = ""
    try:
        ends = time.monotonic() + (options.limit_seconds or math.inf)
        measure(Programs(options.programs, tuple(shlex.split(options.launcher)), ends), merged, options)
    except (LaunchError, RecordError) as error:
        reason = str(error)
    except OSError as error:
        reason = f"{error.filename or options.record}: {error.strerror}"
    except (KeyError, TypeError) as error:
        reason = f"launch {merged.launches} left a record without {error}"
    try:
        merged.close(reason)
    except OSError as error:
        reason = reason or f"{options.record}: {error.strerror}"
    if reason:
        print(f"mpi_impact: {reason.removeprefix('mpi_impact: ')}", file=sys.stderr)
    return EXIT_FAILED if reason else EXIT_GOOD


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
