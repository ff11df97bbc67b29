"""The table of partitioned communication: one row per point, with its gain, the model's, and its validity.

All ratios are made within repetitions. Each repetition times the tested approach and, right beside it, one message
after all partitions are ready. What disturbs both, such as another process or a slower clock of the processor, cancels
in their ratio. So the value of a ratio is the median over the ratios of the repetitions, and its 95 % interval is that
of a median, distribution free, from order statistics (`metrics.series_estimate`). The ratio of two medians
(`metrics.ratio_estimate`) would take both as independent, and its interval would be too wide where they rise and fall
together. For the same reason `gain_model` is the median of the model's prediction for each repetition, from that
repetition's own delay and reference.

    gain            t_ref / t                                          equation 1, with the reference as T_b
    gain_model      T_b / T_p, `pipelining.predicted_gain`             equations 1 to 3 with a latency
    gain_vs_model   gain / gain_model
    overhead, perceived_bytes_per_second, availability, early_bird_share      `pipelining`, Temuçin et al. 2022

The model takes D from t_delay, alpha from the readings of the launch, and beta from the reference itself, so that the
protocol for a message of this size is in it: beta = S / (t_ref - alpha). Where the reference is not longer than alpha,
beta is that of the readings. Its number of partitions is the number of messages that the approach sends.

`validity` says what a point may be used for.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from postprocess.drawing.columns import Column, Columns, estimate, number
from postprocess.drawing.text import duration, ratio, size
from postprocess.families import sampled, sampled_table
from postprocess.families.partitioned import validity
from postprocess.families.partitioned.axes import AXES, OF_POINT
from postprocess.families.partitioned.record import OF_COMPUTING, Network, PartitionedPoint, PartitionedRecord
from postprocess.families.sampled_table import LAST, leading
from postprocess.records.fields import Nanoseconds
from postprocess.records.header import NAMED
from postprocess.statistics import pipelining
from postprocess.statistics.metrics import Estimate, Floats, as_float, mean_estimate, series_estimate, series_estimates

_NS = 1e-9
LEAST_OF_MODEL = 1 << 20
"""The smallest message whose gain relative to the model's sums up a record, in bytes. The model adds up the latencies
of short messages, so that their gains are far from it in both directions, and a mean over them says little."""
_TIMES = ("t_ns", "t_ref_ns", "t_delay_ns", "t_after_last_ns")
RATIOS = (
    "gain", "gain_model", "gain_vs_model",
    "overhead", "perceived_bytes_per_second", "availability", "early_bird_share",
)  # fmt: skip
_OF_NETWORK = ("latency_ns", "bytes_per_second", "delay_ratio_measured")
_ESTIMATES = (*_TIMES, *OF_COMPUTING, *RATIOS, *_OF_NETWORK)
COLUMNS = sampled_table.with_own(AXES.family, (
    *AXES.case, "threads", NAMED, *(axis.name for axis in OF_POINT),
    *sampled_table.names_of_estimates(_ESTIMATES),
    "t_mean_ns", "t_mean_ci90_low_ns", "t_mean_ci90_high_ns",
    "delay_us_per_mb",
    *sampled_table.LAST_COLUMNS,
))  # fmt: skip
"""The columns of `partitioned_table`, in order.

Times are medians, in nanoseconds, sizes in bytes; ratios have no unit. An unknown value is NaN. `threads` is the number
of threads of each rank that fill the buffer, as `threads_per_rank` has it too. `delay_us_per_mb` is gamma, from the
measured delay, and `delay_ratio_measured` gamma beta, from the measured delay and beta. `delay_ratio` is the planned
gamma beta. `t_computing_cpu_ns` and `t_computing_waiting_ns` say what the thread that computes longest does meanwhile;
they are unknown for short delays and in older records.
"""


def ratios_of(point: PartitionedPoint, network: Network) -> dict[str, Floats]:
    """The ratios of a point by the names in RATIOS, a value per repetition."""
    t, reference, delay, after_last = (getattr(point, name).astype(np.float64) for name in _TIMES)
    gains, predicted = pipelining.gain(reference, t), model_gains(point, network)
    return {
        "gain": gains,
        "gain_model": predicted,
        "gain_vs_model": gains / predicted,
        "overhead": pipelining.communication_overhead(delay, after_last, reference),
        "perceived_bytes_per_second": pipelining.perceived_bandwidth(
            point.neighbours * point.message_bytes, _NS * after_last
        ),
        "availability": pipelining.availability(after_last, reference),
        "early_bird_share": pipelining.early_bird_share(delay, after_last),
    }


def model_gains(point: PartitionedPoint, network: Network) -> Floats:
    """The model's gain for each repetition; NaN where the launch has no latency or no bandwidth."""
    latency, bandwidth_of_run = _NS * as_float(network.latency_ns.value), as_float(network.bytes_per_second.value)
    reference, delay = _NS * point.t_ref_ns, _NS * point.t_delay_ns
    transfer, size_of_all = reference - latency, point.neighbours * point.message_bytes
    with np.errstate(divide="ignore", invalid="ignore"):
        bandwidth = np.where(transfer > 0, size_of_all / transfer, bandwidth_of_run)
    return pipelining.predicted_gain(point.messages, size_of_all, bandwidth, delay, latency)


def measured_delay_ratio(point: PartitionedPoint, network: Network) -> Estimate:
    """gamma beta of the delay and of beta as they were measured: D over the time of one partition.

    Its interval holds those of both. That of beta is left out where it is not known.
    """
    delay, beta = series_estimate(_NS * point.t_delay_ns), network.bytes_per_second
    partition_bytes = point.message_bytes / point.partitions_send
    low, high = (np.where(np.isfinite(end), end, beta.value) for end in (beta.low, beta.high))
    measured = ((delay.value, beta.value), (delay.low, low), (delay.high, high))
    return Estimate(*(time * rate / partition_bytes for time, rate in measured))


def _rows(record: PartitionedRecord, failed: Sequence[str]) -> Iterator[dict[str, Any]]:
    header, network = record.header, record.network
    case = {**sampled_table.case_of(header, AXES), "threads": header.threads_per_rank}
    for point in sorted(record.points, key=_place):
        times = series_estimates({name: getattr(point, name) for name in _TIMES})
        computing = {name: _known(getattr(point, name), point.t_computing_cpu_ns) for name in OF_COMPUTING}
        ratios = series_estimates(ratios_of(point, network))
        delay_ratio = measured_delay_ratio(point, network)
        of_network = dict(zip(_OF_NETWORK, (network.latency_ns, network.bytes_per_second, delay_ratio), strict=True))
        estimates = {**times, **computing, **ratios, **of_network}
        reasons = [
            *failed,
            *validity.unreliable_reasons(point, ratios["gain"], oversubscribed=header.oversubscribed),
            *sampled.within_bucket(header, as_float(times["t_ref_ns"].value)),
        ]
        yield {
            **case,
            **{axis.name: getattr(point, axis.name) for axis in OF_POINT},
            **sampled_table.columns_of_estimates(estimates),
            **_mean_columns(point),
            "delay_us_per_mb": _delay_rate(point),
            **sampled_table.columns_of_point(
                record, point, reasons, validity.flags(point, record.noise, network, delay_ratio, ratios["gain"])
            ),
        }


partitioned_table = sampled_table.maker(COLUMNS, _rows)
"""One row per point of each record; the columns are COLUMNS."""


def _known(times_ns: Nanoseconds, cpu_ns: Nanoseconds) -> Estimate:
    """The median of a time of a computation; NaN where it was not read: then there is no CPU time either."""
    return series_estimate(times_ns if cpu_ns.any() else times_ns[:0])


def _place(point: PartitionedPoint) -> tuple[float, ...]:
    """The programs measure long messages first; a reader expects them last."""
    return tuple(getattr(point, axis.name) for axis in OF_POINT)


def _delay_rate(point: PartitionedPoint) -> float:
    """gamma, in microseconds per megabyte of a partition, of the delay that was measured."""
    partition_megabytes = point.message_bytes / point.partitions_send / 1e6
    return as_float(series_estimate(point.t_delay_ns).value) / 1e3 / partition_megabytes


def _mean_columns(point: PartitionedPoint) -> dict[str, float]:
    """The mean time with its 90 % interval, as the paper reports it."""
    names = ("t_mean_ns", "t_mean_ci90_low_ns", "t_mean_ci90_high_ns")
    return dict(zip(names, mean_estimate(point.t_ns).numbers, strict=True))


def record_numbers(record: PartitionedRecord) -> dict[str, float]:
    """The numbers that sum up a record, for ReFrame. Numbers that are not finite are left out.

    Over the `usable` points, geometric means: t_ratio_to_single, t / t_ref, which is 1 / gain; and gain_vs_model of the
    points that have a planned delay and LEAST_OF_MODEL bytes or more. Counts: points, points_valid, points_reliable.
    """
    table = partitioned_table([record])
    chosen = sampled_table.usable(table)
    of_model = chosen[(chosen["delay_ratio"] > 0) & (chosen["message_bytes"] >= LEAST_OF_MODEL)]
    numbers = {
        "t_ratio_to_single": sampled_table.geometric_mean(1 / chosen["gain"]),
        "gain_vs_model": sampled_table.geometric_mean(of_model["gain_vs_model"]),
    }
    return sampled_table.numbers_of(table, numbers)


def approach_words(row: Mapping[Any, Any]) -> str:
    """The approach of a row and what tells it apart: ``part_coarse, 2 received``, ``layer, up to 4 KiB together``."""
    received, together = int(row["partitions_receive"]), int(row["aggregation_bytes"])
    parts = [
        str(row["approach"]),
        *([f"{received} received"] if received != row["partitions_send"] else []),
        *([f"up to {size(together)} together"] if together else []),
    ]
    return ", ".join(parts)


def neighbours_words(row: Mapping[Any, Any]) -> list[str]:
    """How many neighbours a sender has, in words; none for one."""
    return [f"{int(row['neighbours'])} neighbours"] if row["neighbours"] > 1 else []


SHOWN = Columns((
    *leading(AXES),
    Column("approach", approach_words),
    number("message", "message_bytes", size),
    number("parts", "partitions_send"),
    number("delay", "t_delay_ns", duration),
    number("t", "t_ns", duration),
    number("single", "t_ref_ns", duration),
    *estimate("gain", "gain", right=False),
    number("model", "gain_model", ratio),
    number("of model", "gain_vs_model", ratio),
    number("early bird", "early_bird_share", ratio),
    number("messages"),
    *LAST,
))  # fmt: skip
"""The columns of a table of `partitioned_table` for a reader."""
