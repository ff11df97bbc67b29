"""The launches of one case of r_mpi_impact, by one launcher, one after the other, into one record.

    python -m mpi_campaign.launching.impact_launches --programs FOLDER --launcher 'mpiexec -n 2 --bind-to core' \
        --record record.jsonl --save-sizes sizes.json --budget-seconds 60 -- --toolchain NAME ...

`mpi_impact` and `compute_alone` take turns, A B B A A B B A …: a ratio is made of two launches that follow each other,
and what drifts slowly is once before and once behind. The words after `--` go to every launch of `mpi_impact`, which
says in its record what it did; `compute_alone` does the same. A launch is in the record, on the disk, before the next
one begins. Whatever goes wrong is one line on standard error that begins with `mpi_impact:`, and exit code 1.
"""

import argparse
import json
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
from postprocess.families.mpi_impact.record import COMPUTE_ALONE, MPI_IMPACT, PROGRAMS
from postprocess.records.fields import Fields, RecordError, fail, lines_of
from postprocess.records.record import Footer
from postprocess.records.writing import footer_line, write_line

ORDER = (MPI_IMPACT, COMPUTE_ALONE, COMPUTE_ALONE, MPI_IMPACT)

# Pairs of launches: with few the interval of the ratio is wide, with many it is hardly narrower than with these.
FEWEST_PAIRS, USUAL_PAIRS, MOST_PAIRS = 2, 6, 12
# What one launch computes where there is time, and what it takes besides.
USUAL_SECONDS = 6.0
START_SECONDS = 1.0
# The fewest repetitions of every time, uncounted ones and the slots' margin included, are this much longer than one of
# each: the short ones are repeated for 50 ms.
SHORTEST_FACTOR, SHORTEST_SECONDS = 1.2, 0.3

# A launch that hangs ends by itself, saying where; or is ended by its launcher, or with that.
OWN_END_SECONDS, LAUNCHERS_END_SECONDS = 7.0, 2.0

# What every launch with MPI must have in common with the first one.
SAME = (
    "toolchain", "provider", "configuration", "network", "mpi_library_version", "ranks", "nodes", "threads_per_rank",
    "physical_cores", "oversubscribed", "shared_core", "build", "plan",
)  # fmt: skip
CPU_TIMES = ("mpi_thread_cpu_ns", "helper_thread_cpu_ns")


class LaunchError(Exception):
    """A launch that did not do what it should; the message is one line."""


@dataclass(frozen=True)
class Schedule:
    """How many pairs of launches, and about how long each launch computes."""

    pairs: int
    seconds: float

    @classmethod
    def within(cls, budget_seconds: float, shortest_seconds: float) -> "Schedule":
        """What fits into a time, more launches before longer ones; the fewest and shortest where nothing does.

        budget_seconds: for all launches together, 0 for no bound. shortest_seconds: one repetition of everything.
        """
        usual = max(USUAL_SECONDS, shortest_seconds)
        if budget_seconds == 0:
            return cls(USUAL_PAIRS, usual)
        pairs = min(MOST_PAIRS, int(budget_seconds / (2 * (usual + START_SECONDS))))
        for fewer in (max(pairs, USUAL_PAIRS), *range(USUAL_PAIRS - 1, FEWEST_PAIRS - 1, -1)):
            seconds = budget_seconds / (2 * fewer) - START_SECONDS
            if seconds >= shortest_seconds:
                return cls(fewer, min(seconds, usual))
        return cls(FEWEST_PAIRS, 0.0)

    @property
    def launches(self) -> tuple[str, ...]:
        return tuple(ORDER[number % len(ORDER)] for number in range(2 * self.pairs))


@dataclass(frozen=True)
class Programs:
    """Where the programs lie, and what starts them: the launcher with its options.

    ends: by `time.monotonic`, when the last launch must be over; what is not then hangs. `mpi_impact` is told, and says
    where its ranks are.
    """

    folder: Path
    launcher: tuple[str, ...]
    ends: float = math.inf

    def run(self, program: str, words: Sequence[str]) -> None:
        """Start a launch and wait for it. Raises LaunchError, with the program's own last line where it said one."""
        left = max(SHORTEST_SECONDS, self.ends - time.monotonic())
        if not os.access(self.folder / program, os.X_OK):
            raise LaunchError(f"there is no program {self.folder / program}: build the benchmarks")
        limit = ["--limit-seconds", f"{left:.1f}"] if program == MPI_IMPACT and math.isfinite(left) else []
        line = [*self.launcher, str(self.folder / program), *words, *limit]
        try:
            started = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, errors="replace")
        except OSError as error:
            raise LaunchError(f"{line[0]} cannot be started: {error.strerror}") from error
        with started:
            errors, hangs = _end_of(started, left + OWN_END_SECONDS if math.isfinite(left) else None)
        sys.stderr.write(errors)
        sys.stderr.flush()
        if started.returncode:
            own_lines = [line for line in errors.splitlines() if line.startswith(f"{program}: ")]
            ended = "it hung, and was ended" if hangs else f"exit code {started.returncode}"
            raise LaunchError(f"{program}: {own_lines[0].removeprefix(f'{program}: ') if own_lines else ended}")


def _end_of(started: "subprocess.Popen[str]", seconds: float | None) -> tuple[str, bool]:
    """The standard error of a launch, and whether it hung: it was not over in time and had to be ended."""
    hangs = False
    for left, stop in ((seconds, started.terminate), (LAUNCHERS_END_SECONDS, started.kill)):
        try:
            return started.communicate(timeout=left)[1], hangs
        except subprocess.TimeoutExpired:
            hangs = True
            stop()
    return started.communicate()[1], hangs


class Merged:
    """The record of all launches, as it grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.began = time.monotonic()
        self.file: TextIO | None = None
        self.header: dict[str, Any] = {}
        self.launches = 0
        self.points = 0

    def add_mpi(self, path: Path, planned: Sequence[str]) -> None:
        """Take a record of `mpi_impact`; the first one gives the header. Raises LaunchError."""
        header, points, footer = _parts(path, "header")
        if self.file is None:
            self.header = _with_launches(header, planned)
            self.file = self.path.open("x", encoding="utf-8")
            self._write(self.header)
        same = _with_launches(header, self.header["plan"]["own"]["launches"])
        for name in SAME:
            if same[name] != self.header[name]:
                raise LaunchError(f"launch {self.launches} has another {name} than the first one")
        places = [_place(rank) for rank in header["placement"]]
        cpu_ns = {name: footer[name] for name in CPU_TIMES}
        self._add(MPI_IMPACT, header, places, cpu_ns, footer["wall_seconds"], [points])

    def add_alone(self, base: Path) -> None:
        """Take the records of all processes of `compute_alone`, base.0, base.1, …  Raises LaunchError."""
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
        """files: the points of each file, in the order of ranks."""
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
        for index, same in enumerate(zip(*files, strict=True)):
            parameters = same[0]["parameters"]
            if same[0]["index"] != index or any(point["parameters"] != parameters for point in same):
                raise LaunchError(f"launch {self.launches} of {program} did other work than was planned")
            times = [rank for point in same for rank in point["rank_samples"]["t_comp_ns"]]
            windows = [rank for point in same for rank in point["own"]["window_utc_ns"]]
            self._write(
                {
                    **same[0],
                    "index": self.points,
                    "parameters": {**parameters, "launch": self.launches, "program": program},
                    "rank_samples": {"t_comp_ns": times},
                    "own": {"window_utc_ns": windows, "launch": launch},
                }
            )
            self.points += 1
        self.launches += 1

    def close(self, reason: str) -> None:
        """The footer; complete where there is no reason against it."""
        if self.file is not None:
            self._write(footer_line(_footer(reason, time.monotonic() - self.began), self.points))
            self.file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        assert self.file is not None
        write_line(self.file, line)


def _parts(path: Path, kind: str) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """First line, points and footer of a program's own file. Raises RecordError where it is not whole."""
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
    return {name: rank[name] for name in ("host", "cpuset", "compute_cpusets")}


def _with_launches(header: Mapping[str, Any], launches: Sequence[str]) -> dict[str, Any]:
    """The header of a launch, with what was planned of all."""
    plan = header["plan"]
    points = plan["points"] * len(launches)
    return {**header, "plan": {**plan, "points": points, "own": {**plan["own"], "launches": list(launches)}}}


def _footer(reason: str, wall_seconds: float) -> Footer:
    """Of all launches: what a launch's own footer says beside its wall time is in its points."""
    return Footer(complete=not reason, reason=reason, wall_seconds=wall_seconds)


def measure(programs: Programs, merged: Merged, asked: argparse.Namespace, words: Sequence[str]) -> None:
    """Calibrate where that is asked for, then all launches. Raises LaunchError and RecordError."""
    folder = merged.path.parent
    sizes = asked.sizes or asked.save_sizes
    times = ["--comp-times", asked.comp_times] if asked.comp_times else []
    if asked.save_sizes:
        programs.run(MPI_IMPACT, [*words, *times, "--save-sizes", sizes, "--calibrate-only"])
    left = max(1e-3, asked.budget_seconds - (time.monotonic() - merged.began)) if asked.budget_seconds else 0.0
    schedule = Schedule.within(left, SHORTEST_SECONDS + SHORTEST_FACTOR * _sum_seconds(Path(sizes)))
    options = [*words, *times, "--sizes", sizes, "--seconds", f"{schedule.seconds:.2f}", "--quiet"]
    like: Path | None = None
    for number, program in enumerate(schedule.launches):
        launch_folder = folder / f"launch-{number}"
        if program == MPI_IMPACT:
            path = launch_folder.with_suffix(".jsonl")
            programs.run(MPI_IMPACT, [*options, "--record", str(path)])
            merged.add_mpi(path, schedule.launches)
            like = like or path
        else:
            ranks = ["--rank-variables", asked.rank_variables] if asked.rank_variables else []
            programs.run(COMPUTE_ALONE, ["--like", str(like), "--record", str(launch_folder), *ranks])
            merged.add_alone(launch_folder)
        print(f"launch {number + 1} of {len(schedule.launches)}: {program}", flush=True)


def _sum_seconds(sizes: Path) -> float:
    """One repetition of every time of a sizes file, together. Raises LaunchError."""
    try:
        document = json.loads(sizes.read_text(encoding="utf-8"))
        return float(sum(max(piece["time_ns"], piece["target_ns"]) for piece in document["work"]) / 1e9)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LaunchError(f"{sizes} is no sizes file of mpi_impact ({error})") from error


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code."""
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
    asked = parser.parse_args(arguments)
    merged = Merged(asked.record)
    reason = ""
    try:
        ends = time.monotonic() + (asked.limit_seconds or math.inf)
        measure(Programs(asked.programs, tuple(shlex.split(asked.launcher)), ends), merged, asked, asked.words)
    except (LaunchError, RecordError) as error:
        reason = str(error)
    except OSError as error:
        reason = f"{error.filename or asked.record}: {error.strerror}"
    except (KeyError, TypeError) as error:
        reason = f"launch {merged.launches} left a record without {error}"
    try:
        merged.close(reason)
    except OSError as error:
        reason = reason or f"{asked.record}: {error.strerror}"
    if reason:
        print(f"mpi_impact: {reason.removeprefix('mpi_impact: ')}", file=sys.stderr)
    return EXIT_FAILED if reason else EXIT_GOOD


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
