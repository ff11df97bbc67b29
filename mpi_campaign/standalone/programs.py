"""What a program of one file can show: an entry per benchmark, whose template is in `templates/`.

`templates/frame.c.j2` has what all of them share: it binds ranks, repeats, and prints PASS or FAIL by the ratio of
medians.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[Any, Any]

ARGUMENTS: Mapping[str, str] = {
    "barrier": "",
    "bcast": "sent, WORDS, MPI_DOUBLE, 0, ",
    "reduce": "sent, received, WORDS, MPI_DOUBLE, MPI_SUM, 0, ",
    "allreduce": "sent, received, WORDS, MPI_DOUBLE, MPI_SUM, ",
    "scan": "sent, received, WORDS, MPI_DOUBLE, MPI_SUM, ",
    "exscan": "sent, received, WORDS, MPI_DOUBLE, MPI_SUM, ",
    "reduce_scatter_block": "sent, received, WORDS, MPI_DOUBLE, MPI_SUM, ",
    "gather": "sent, WORDS, MPI_DOUBLE, received, WORDS, MPI_DOUBLE, 0, ",
    "scatter": "sent, WORDS, MPI_DOUBLE, received, WORDS, MPI_DOUBLE, 0, ",
    "allgather": "sent, WORDS, MPI_DOUBLE, received, WORDS, MPI_DOUBLE, ",
    "alltoall": "sent, WORDS, MPI_DOUBLE, received, WORDS, MPI_DOUBLE, ",
}
"""The arguments of a collective before its communicator."""

WORD_BYTES = 8
BATCH_SECONDS = 0.05


class CannotShowError(Exception):
    """One file cannot show it; the message says why, in words that follow the name of a case."""


@dataclass(frozen=True)
class Program:
    """A program of one file.

    template: its name in `templates/`.  metric: the ratio that it prints, as the family's table has it.
    bound: PASS lies below it; above it where `larger_is_better`.
    formula: how the ratio is made, a sentence.
    time, part: the time of a slowdown, as the family's table has it, and the part of the template that takes it; empty
    where the program chooses its work by its own time.
    values: from a row of the family's table the values of the template, among them `question` and `seconds` of a
    repetition. Raises CannotShowError.
    """

    template: str
    metric: str
    bound: float
    formula: str
    time: str
    part: str
    values: Callable[[Row], dict[str, Any]]
    larger_is_better: bool = False
    computes_with_threads: bool = False


def call_of(collective: str) -> tuple[str, str, bool]:
    """The MPI function of a nonblocking or persistent collective, its first arguments, and whether it is persistent.
    Raises CannotShowError."""
    persistent = collective.endswith("_init")
    operation = collective.removesuffix("_init") if persistent else collective[1:]
    if operation not in ARGUMENTS:
        raise CannotShowError("its blocks differ, or its ranks are neighbours")
    name = f"MPI_{operation.capitalize()}_init" if persistent else f"MPI_I{operation}"
    return name, ARGUMENTS[operation], persistent


def _words(row: Row) -> int:
    return max(int(row["message_bytes"]) // WORD_BYTES, 1)


def _overlap(row: Row) -> dict[str, Any]:
    if row["test_interval_ns"]:
        raise CannotShowError("it calls MPI_Test while it computes")
    name, arguments, persistent = call_of(row["collective"])
    return {
        "question": f"Does {name} make progress while its caller computes?",
        "call": name,
        "arguments": arguments,
        "persistent": persistent,
        "words": _words(row),
        "t_comp_s": row["t_comp_ref_ns"] / 1e9,
        "seconds": (row["t_comm_ref_ns"] + row["t_comp_ref_ns"] + row["t_measured_ns"]) / 1e9,
    }


def _receive(row: Row) -> dict[str, Any]:
    if row["send"] != "early":
        raise CannotShowError("its message is sent late, so that nothing can overlap")
    return {
        "question": f"Does a message of {row['message_bytes']} bytes arrive while its sender computes?",
        "message_bytes": max(int(row["message_bytes"]), 1),
        "delay_s": row["t_delay_ns"] / 1e9,
        "seconds": max(row["t_recv_ns"], row["t_wait_ns"]) / 1e9,
    }


def _early(row: Row) -> dict[str, Any]:
    approach, partitions = row["approach"], int(row["partitions_send"])
    if approach not in ("part", "many"):
        raise CannotShowError(f"approach {approach} is a program of its own: part and many can be shown")
    if row["partitions_receive"] != partitions or row["noise"] not in ("last", "none"):
        raise CannotShowError("its receiver has other partitions, or several partitions are late")
    if not row["t_delay_ns"] > 0:
        raise CannotShowError("nothing is computed before its last partition")
    how = "in partitions" if approach == "part" else "as several messages"
    return {
        "question": f"Does sending {row['message_bytes']} bytes early, {how}, pay while the last part is computed?",
        "partitioned": approach == "part",
        "partitions": partitions,
        "words": _words(row) // partitions,
        "delay_s": row["t_delay_ns"] / 1e9,
        "seconds": (row["t_ns"] + row["t_ref_ns"] + 2 * row["t_delay_ns"]) / 1e9,
    }


def _cpu(row: Row) -> dict[str, Any]:
    if row["way"] not in ("blocking", "late"):
        raise CannotShowError("ways blocking and late can be shown")
    operation, late_s = str(row["operation"]), row["lateness_ns"] / 1e9
    if operation not in ARGUMENTS:
        raise CannotShowError(f"{operation} takes more arguments than the program has")
    calls = 1 if late_s else max(math.ceil(BATCH_SECONDS * 1e9 / row["t_wall_ns"]), 1)
    return {
        "question": f"Does MPI_{operation.capitalize()} leave the CPU free for other work?",
        "call": f"MPI_{operation.capitalize()}",
        "arguments": ARGUMENTS[operation],
        "words": _words(row),
        "calls": calls,
        "late": int(late_s > 0),
        "late_s": late_s,
        "calibrates": late_s > 0,
        "slowest": late_s > 0,
        "seconds": calls * row["t_wall_ns"] / 1e9 + late_s,
    }


def _impact(row: Row) -> dict[str, Any]:
    return {
        "question": "Does an idle MPI library slow a computation down?",
        "threads": int(row["threads_per_rank"]),
        "calibrates": False,
        "t_comp_s": row["t_comp_ref_ns"] / 1e9,
        "seconds": (row["t_comp_ref_ns"] + row["t_comp_passive_mpi_ns"]) / 1e9,
    }


PROGRAMS: Mapping[str, Program] = {
    "nbc_overlap": Program(
        "overlap.c.j2", "r_overhead", 0.5,
        "r_overhead = (t_both - max(t_comm, t_comp)) / min(t_comm, t_comp): 0 if all is hidden, 1 if nothing is.",
        "t_measured_ns", "BOTH", _overlap,
    ),
    "sync_overlap": Program(
        "receive.c.j2", "recv_over_wait", 0.75,
        "recv_over_wait = t_recv / t_wait: 0.5 if the message arrives meanwhile, 1 if it waits for MPI_Wait.",
        "t_recv_ns", "RECV", _receive,
    ),
    "partitioned": Program(
        "early.c.j2", "gain", 1.0,
        "gain = t_ref / t, of one message when all is ready over parts as they are ready, without the computation.",
        "t_ns", "T", _early, larger_is_better=True,
    ),
    "cpu_overhead": Program(
        "cpu.c.j2", "cpu_share", 0.5, "cpu_share = CPU time / wall time of the calls; 1: it is never free.",
        "t_wall_ns", "WALL", _cpu,
    ),
    "mpi_impact": Program(
        "impact.c.j2", "r_mpi_impact", 1.1, "r_mpi_impact = t after MPI_Init / t before it.",
        "", "", _impact,
        computes_with_threads=True,
    ),
}  # fmt: skip
"""By the name of the benchmark. Other benchmarks take more than one file."""
