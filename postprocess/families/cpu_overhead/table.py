"""The table of collectives and the CPU: one row per point, with its shares and its validity.

All times are of one call: those of a batch divided by its calls. Shares and ratios are made within repetitions, so that
what disturbs both times cancels: their value is the median over repetitions, and the 95 % interval is that of a median,
distribution free, from order statistics (`metrics.series_estimate`). The ratio of two medians would take both as
independent.

    cpu_share         t_cpu / t_wall                  `cpu_use.cpu_share`: the process, all threads
    thread_cpu_share  t_thread_cpu / t_wall           the same of the calling thread alone
    idle_share        1 - cpu_share                   `cpu_use.idle_share`
    idle_ns           t_wall - t_cpu                  `cpu_use.idle_time`
    user_share        t_user / t_wall                 over all ranks; binomial interval (`cpu_use.tick_share`)
    system_share      t_system / t_wall               likewise
    slowdown          t_wall / t_reference_wall       per call; 1 for the control, where both are the same call
                                                      (`even` of the ways in which ranks are out of step)
    cpu_change        t_cpu / t_reference_cpu - 1     per call; 0 for the control
    soaked_share      t_soaked / t_wall               over all ranks: what a thread of lowest priority got
    work_share        t_work / t_reference_wall       of `working`
    node_cpus         t_node_busy / t_node_window     the CPUs of the machine of rank 0 that were busy, on average, with
                                                      anything; binomial interval (`cpu_use.tick_share`)
    softirq_cpus      t_node_softirq / t_node_window  of them, in soft interrupts; likewise
    ranks_cpus        t_node_ranks / t_node_window    of them, charged to the ranks by the kernel. (In records of
                                                      method 2 the window ends with rank 0, and ranks that end later
                                                      are charged for all of their batch: so it can exceed node_cpus)
    t_once_ns         t_wall of the point `once` with the same collective, ranks and size; every point of these has it
    availability      the knee of slowdown over work_share (`cpu_use.availability`), from all points of `working` with
                      the same collective, ranks and size; every point of these has it

A record of `loggp` has a row per size of messages; `loggp_table` says what its columns mean. A blocking collective that
the model describes (`loggp.MODELLED`) has what the parameters predict, of the same run, library, network and
configuration:

    predicted_ns, predicted_cpu_ns, predicted_network_ns    the equations; an end of an interval is the prediction from
                                                            the same ends of all parameters
    to be held against t_once_ns, since the equations describe one call whose ranks begin together

t_wall is that of the slowest rank, from the first begin to the last end; t_cpu that of the rank that used most. So no
rank is idle for less than idle_share. Nothing is clamped: with a progress thread, a process uses two CPUs, and its
idle share is about -1.

`validity` says what a point may be used for.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from postprocess.families import axes, sampled, sampled_table
from postprocess.families.cpu_overhead import loggp_table, validity
from postprocess.families.cpu_overhead.axes import AXES
from postprocess.families.cpu_overhead.loggp_record import LOGGP, LogGPRecord, loggp_record
from postprocess.families.cpu_overhead.record import BLOCKING, ONCE, SOAKING, WORKING, CpuPoint, CpuRecord, cpu_record
from postprocess.records.header import NAMED
from postprocess.records.record import Record
from postprocess.statistics import cpu_use, loggp
from postprocess.statistics.metrics import UNKNOWN, Estimate, Floats, as_float, scaled, series_estimates

_ESTIMATES = (
    "t_wall_ns", "t_cpu_ns", "t_thread_cpu_ns", "idle_ns", "cpu_share", "thread_cpu_share", "idle_share",
    "voluntary_switches", "involuntary_switches", "slowdown", "cpu_change", "soaked_share", "work_share",
    "ranks_cpus",
)  # fmt: skip
BY_TICKS = ("user_share", "system_share")
"""The two shares into which the kernel's ticks divide the CPU time of the ranks: `cpu_ticks` of them."""
_OF_NODE = ("node_cpus", "softirq_cpus")
_OF_CELL = ("availability", "t_once_ns")
_PREDICTED = ("predicted_ns", "predicted_cpu_ns", "predicted_network_ns")
_ALL_ESTIMATES = (
    *_ESTIMATES, *BY_TICKS, *_OF_NODE, *_OF_CELL, *_PREDICTED, *loggp_table.OF_SIZE, *loggp_table.PARAMETERS,
    *loggp_table.OF_RUN,
)  # fmt: skip
_OF_POINT = ("communicator_ranks", "message_bytes", "way", "lateness_ns", "calls")
COLUMNS = sampled_table.with_own(AXES.family, (
    "benchmark", *AXES.case, NAMED, "communicator_ranks", "message_bytes", "way", "lateness_ns", "pair",
    *sampled_table.names_of_estimates(_ALL_ESTIMATES),
    "cpu_all_ranks_ns", "cpu_ticks", "calls", "cpu_clock_step_ns", "eager_bytes", "waiting_bytes", "g_hidden",
    "G_hidden", "G_from_bytes", "G_to_bytes", "misfit",
    *loggp_table.PLAIN_OF_RUN,
    *sampled_table.LAST_COLUMNS,
))  # fmt: skip
"""The columns of `cpu_table`, in order.

Times and switches are medians of one call, times in nanoseconds, sizes in bytes; shares have no unit. An unknown value
is NaN, an unknown text empty. `calls` are those of a batch.
"""
_ABSENT: Mapping[str, Any] = {
    axes.OPERATION.name: "", "way": "", "lateness_ns": 0, "pair": "", "calls": 0, "g_hidden": False,
    "G_hidden": False, "launches": 0, "launches_reliable": 0, "run_g_hidden": False, "run_G_hidden": False,
}  # fmt: skip
"""What a row has in columns of the other program that are no numbers. In the others it has NaN."""
AnyRecord: TypeAlias = CpuRecord | LogGPRecord


def any_record(record: Record) -> AnyRecord:
    """A record of one of this family's programs. Raises RecordError where the record does not fit."""
    return loggp_record(record) if record.header.benchmark == LOGGP else cpu_record(record)


def _rows_of(record: AnyRecord, failed: Sequence[str]) -> Iterator[dict[str, Any]]:
    rows = loggp_table.loggp_rows(record, failed) if isinstance(record, LogGPRecord) else _rows(record, failed)
    for plain, estimates in rows:
        yield {
            **_ABSENT,
            **sampled_table.case_of(record.header, AXES),
            **plain,
            **sampled_table.columns_of_estimates(estimates),
            "benchmark": record.header.benchmark,
        }


_Row: TypeAlias = tuple[dict[str, Any], dict[str, Estimate]]
"""The plain values of a row, and its estimates."""
_OF_LAUNCHES = (*sampled_table.same_case(AXES), "benchmark")
"""What the launches of a case have in common."""
cpu_table = sampled_table.maker(
    COLUMNS, _rows_of, then=lambda rows: _with_predictions(loggp_table.with_runs(rows, _OF_LAUNCHES))
)
"""One row per point of each record; the columns are COLUMNS."""
_SAME_CASE = (
    "toolchain", "provider", "network", "configuration", "ranks", "nodes", "threads_per_rank", "given_up_cores",
)  # fmt: skip
"""What parameters and the collectives that they predict have in common."""


def _with_predictions(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows, with what the model predicts of those that it describes.

    The parameters are those of all launches of the run together.
    """
    parameters: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        pair = "between_nodes" if row["nodes"] > 1 else "within_node"
        if row["benchmark"] == LOGGP and row["pair"] == pair:
            parameters.setdefault(tuple(row[name] for name in _SAME_CASE), row)
    for row in rows:
        found = parameters.get(tuple(row[name] for name in _SAME_CASE))
        modelled = row["way"] == BLOCKING and row[axes.OPERATION.name] in loggp.MODELLED
        yield _with_prediction(row, found) if found is not None and modelled else row


def _with_prediction(row: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    is_known = parameters["launches_reliable"] > 0 and 2 * parameters["launches_reliable"] >= parameters["launches"]
    doubt = [] if is_known else ["predicted from LogGP parameters that are not reliable"]
    return {**row, **_predicted(row, parameters), "flags": [*row["flags"], *doubt]}


def _predicted(row: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, float]:
    model = loggp.MODELLED[row[axes.OPERATION.name]]
    columns = {}
    for end in sampled_table.ENDS:
        names = ("run_L_ns", "run_o_ns", "run_G_ns_per_byte", "run_gamma_hot_ns_per_byte")
        found = model(
            loggp.Parameters(*(parameters[f"{name}{end}"] for name in names)),
            row["communicator_ranks"],
            row["message_bytes"],
        )
        for name, value in zip(_PREDICTED, (found.whole, found.cpu, found.network), strict=True):
            columns[f"{name}{end}"] = value
    return columns


def values_of(point: CpuPoint) -> dict[str, Floats]:
    """The values of a point by the names of their columns, a value per repetition, of one call."""
    batch, cpu = point.t_wall_ns, point.t_cpu_ns
    counted = ("t_wall_ns", "t_cpu_ns", "t_thread_cpu_ns", "voluntary_switches", "involuntary_switches")
    return {
        **{name: getattr(point, name) / point.calls for name in counted},
        "idle_ns": cpu_use.idle_time(cpu, batch) / point.calls,
        "cpu_share": cpu_use.cpu_share(cpu, batch),
        "thread_cpu_share": cpu_use.cpu_share(point.t_thread_cpu_ns, batch),
        "idle_share": cpu_use.idle_share(cpu, batch),
        **(_beside_reference(point) if point.t_reference_wall_ns.size else {}),
    }


def _beside_reference(point: CpuPoint) -> dict[str, Floats]:
    """The values of `values_of` that need the reference's batch, or what records have since it is measured."""
    batch, one = point.t_wall_ns, point.reference_calls / point.calls
    values = {
        "slowdown": cpu_use.cpu_share(batch, point.t_reference_wall_ns) * one,
        "cpu_change": cpu_use.cpu_share(point.t_cpu_ns, point.t_reference_cpu_ns) * one - 1,
    }
    if point.way == SOAKING:
        values["soaked_share"] = cpu_use.cpu_share(point.t_soaked_all_ranks_ns, batch) / point.communicator_ranks
    if point.way == WORKING:
        values["work_share"] = cpu_use.cpu_share(point.t_work_ns, point.t_reference_wall_ns) * one
    if point.t_node_window_ns.size:
        values["ranks_cpus"] = cpu_use.cpu_share(point.t_node_ranks_ns, point.t_node_window_ns)
    return values


def estimates_of(
    point: CpuPoint, tick_ns: float = 0.0, node_tick_ns: float = 0.0, cpus: int = 0
) -> dict[str, Estimate]:
    """The estimates of a point by the names of their columns. Those that it does not have are NaN.

    tick_ns, node_tick_ns, cpus: `kernel_tick_ns`, `node_tick_ns` and `node_cpus` of the record.
    """
    values = values_of(point)
    found = dict.fromkeys(_ESTIMATES, UNKNOWN)
    found |= series_estimates({name: values[name] for name in _ESTIMATES if name in values})
    user, system = float(point.t_user_all_ranks_ns.sum()), float(point.t_system_all_ranks_ns.sum())
    wall = float(point.t_wall_ns.sum()) * point.communicator_ranks
    of_wall = (user + system) / wall if wall > 0 else math.nan
    for name, of, rest in (("user_share", user, system), ("system_share", system, user)):
        found[name] = scaled(cpu_use.tick_share(of, rest, tick_ns), of_wall)
    busy, softirq = float(point.t_node_busy_ns.sum()), float(point.t_node_softirq_ns.sum())
    window = cpus * float(point.t_node_window_ns.sum())
    counted = node_tick_ns if busy > 0 else 0.0  # a system that does not tell has 0 everywhere
    for name, of in (("node_cpus", busy), ("softirq_cpus", softirq)):
        found[name] = scaled(cpu_use.tick_share(of, window - of, counted), cpus)
    return found


def availabilities(record: CpuRecord) -> dict[tuple[str, int, int], Estimate]:
    """The availability by collective, ranks of the communicator and size."""
    steps: dict[tuple[str, int, int], list[cpu_use.Step]] = {}
    for point in record.points:
        if point.way == WORKING and not sampled.invalid_reasons(point):
            found = estimates_of(point)
            steps.setdefault(_cell_of(point), []).append(cpu_use.Step(found["work_share"], found["slowdown"]))
    return {cell: cpu_use.availability(found) for cell, found in steps.items()}


def calls_alone(record: CpuRecord) -> dict[tuple[str, int, int], Estimate]:
    """The time of one call from a common start, likewise."""
    alone = (point for point in record.points if point.way == ONCE and not sampled.invalid_reasons(point))
    return {_cell_of(point): estimates_of(point)["t_wall_ns"] for point in alone}


def _cell_of(point: CpuPoint) -> tuple[str, int, int]:
    return point.operation, point.communicator_ranks, point.message_bytes


MOST_COPIES = 2
"""How often a rank sends its message at most in a call, as in an allreduce, on two ranks."""


def _rows(record: CpuRecord, failed: Sequence[str]) -> Iterator[_Row]:
    knees, alone = availabilities(record), calls_alone(record)
    for point in record.points:
        found = estimates_of(point, record.kernel_tick_ns, record.node_tick_ns, record.node_cpus)
        found["availability"] = knees.get(_cell_of(point), UNKNOWN)
        found["t_once_ns"] = alone.get(_cell_of(point), UNKNOWN)
        reasons = [
            *failed,
            *validity.unreliable_reasons(
                point, found["cpu_share"], record.cpu_clock_step_ns, oversubscribed=record.header.oversubscribed
            ),
        ]
        sent_bytes = MOST_COPIES * point.message_bytes * point.calls
        bucket = sampled.within_bucket(record.header, as_float(found["t_wall_ns"].value) * point.calls, sent_bytes)
        plain = {
            axes.OPERATION.name: point.operation,
            **{name: getattr(point, name) for name in _OF_POINT},
            "cpu_all_ranks_ns": point.cpu_all_ranks_ns / point.calls,
            "cpu_ticks": cpu_use.ticks_of(
                float(point.t_user_all_ranks_ns.sum() + point.t_system_all_ranks_ns.sum()), record.kernel_tick_ns
            ),
            "cpu_clock_step_ns": record.cpu_clock_step_ns,
            **sampled_table.columns_of_point(record, point, reasons, [*validity.flags(point), *bucket]),
        }
        yield plain, found


def record_numbers(record: CpuRecord) -> dict[str, float]:
    """The numbers that sum up the blocking calls of a record, for ReFrame. Numbers that are not finite are left out.

    Geometric means over the `usable` points, so that each size weighs the same: t_wall_ns and t_cpu_ns, of one call,
    and cpu_share. Counts: points, points_valid, points_reliable.
    """
    table = cpu_table([record])
    table = table[table["way"] == BLOCKING]
    chosen = sampled_table.usable(table)
    numbers = {name: sampled_table.geometric_mean(chosen[name]) for name in ("t_wall_ns", "t_cpu_ns", "cpu_share")}
    return sampled_table.numbers_of(table, numbers)
