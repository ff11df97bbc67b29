"""The curves of partitioned communication, as data: the counterparts of figures 4 to 8 of Gillis et al. 2023.

A chart has the points of one library, network, configuration, placement, noise, delay, and number of neighbours and of
partitions.

    time         without a delay, the time against the message size, a curve per approach: figures 4 (one thread, one
                 partition), 5 and 6 (many threads)
    aggregation  without a delay, the time of the approaches that send partitions together, a curve per aggregation:
                 figure 7
    gain         with a delay, the gain against the message size, a curve per approach, with the model's: figure 8

Points without a value are left out, and counted.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from postprocess.drawing.columns import first_of
from postprocess.drawing.curves import (
    COLOURS,
    DASH_DOTTED,
    DASHED,
    DOTTED,
    MESSAGE,
    Chart,
    ChartAxis,
    Curve,
    Mark,
    Style,
    edges_of_times,
    ratio_axis,
    sure_values,
    time_axis,
)
from postprocess.drawing.text import duration, plural, ratio
from postprocess.families import axes
from postprocess.families.launch_marks import marks_of
from postprocess.families.partitioned.axes import AXES, DELAY_RATIO
from postprocess.families.partitioned.table import approach_words, neighbours_words
from postprocess.families.partitioned.verdict import SINGLE
from postprocess.families.sampled_table import case_words, having
from postprocess.statistics import launches, pipelining

TIME, AGGREGATION, GAIN = "time", "aggregation", "gain"
FIGURES: Mapping[str, str] = {TIME: "figures 4 to 6", AGGREGATION: "figure 7", GAIN: "figure 8"}
"""The figures of the paper that have the same curves."""
_VERTICAL: Mapping[str, ChartAxis] = {
    TIME: time_axis("time"),
    AGGREGATION: time_axis("time"),
    GAIN: ratio_axis("gain over one message"),
}

_LOOKS: Mapping[str, tuple[str, str]] = {
    "part": ("blue", "o"), "part_parrived": ("blue", "s"), "part_coarse": ("blue", "^"),
    "part_neighbours": ("blue", "D"), "part_neighbours_4": ("blue", "D"), "part_neighbours_6": ("blue", "D"),
    "part_startall": ("blue", "v"), "part_polling": ("blue", "v"), "single": ("black", "x"), "many": ("red", "D"),
    "streams": ("red", "s"), "persistent": ("orange", "v"), "layer": ("green", "o"),
    "rma_single_passive": ("pink", "o"), "rma_many_passive": ("pink", "s"), "rma_single_active": ("sky", "o"),
    "rma_many_active": ("sky", "s"), "rma_fence": ("sky", "^"),
}  # fmt: skip
"""The colour and the marker of an approach in every picture. Those of one kind share a colour."""
_SHADES = (1.0, 0.75, 0.5, 0.3)
"""Opacity of the curves of one approach that differ in the aggregation or in the receiver's partitions."""
_REFERENCE = Style(COLOURS["black"], marker="", line=DASHED)
"""One message in the same repetitions."""
_MODEL = Style(marker="", line=DASH_DOTTED)
"""The model for the measured times."""
_LIMIT = Style(marker="", line=DOTTED)
"""The model without latency, or the time by the bandwidth alone."""

_GROUP = [
    "toolchain", "provider", "network", "configuration", "ranks", "nodes", "threads_per_rank", "given_up_cores",
    axes.NAMED_CORES.name, "noise", "interfaces", "cache", "method", "neighbours", "partitions_send",
    "delay_ratio",
]  # fmt: skip
_SERIES = ["approach", "partitions_receive", "aggregation_bytes"]


def charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield the charts of a table of `partitioned_table`: for each group of points those that it has curves for, gains
    before times."""
    yield from sorted(_charts(table), key=lambda chart: chart.kind != GAIN)


def _charts(table: pd.DataFrame) -> Iterator[Chart]:
    for _, rows in table.groupby(_GROUP, sort=False):
        first = first_of(rows)
        known = having(rows, "gain")
        if known.empty:
            continue
        if first["delay_ratio"] > 0:
            yield _chart(GAIN, first, rows, known, tuple(_gain_curves(first, known)))
            continue
        apart = known[known["aggregation_bytes"] == 0]
        if not apart.empty:
            of_apart = rows[rows["aggregation_bytes"] == 0]
            yield _chart(TIME, first, of_apart, apart, tuple(_time_curves(apart, apart)))
        together = set(known.loc[known["aggregation_bytes"] > 0, "approach"])
        if together:
            of_together = rows[rows["approach"].isin([*together, SINGLE, "many"])]
            shown = known[known["approach"].isin([*together, SINGLE, "many"])]
            yield _chart(AGGREGATION, first, of_together, shown, tuple(_time_curves(shown, known)))


def _chart(
    kind: str, first: Mapping[str, Any], rows: pd.DataFrame, known: pd.DataFrame, curves: tuple[Curve, ...]
) -> Chart:
    edges = (0.0, 1.08 * max(sure_values(curves)[1], 1.0)) if kind == GAIN else edges_of_times(curves)
    return Chart(
        kind=kind,
        title=_title(kind, first),
        figures=f"{FIGURES[kind]} of Gillis et al. 2023",
        horizontal=MESSAGE,
        vertical=_VERTICAL[kind],
        low=edges[0],
        high=edges[1],
        curves=curves,
        level=1.0 if kind == GAIN else math.nan,
        left_out=len(rows) - len(known),
    )


def _title(kind: str, row: Mapping[str, Any]) -> str:
    """What all points of a chart have in common."""
    return ", ".join([
        f"{'Gain' if kind == GAIN else 'Time'}: {case_words(AXES, row)}",
        plural(int(row["threads_per_rank"]), "thread"),
        *neighbours_words(row),
        plural(int(row["partitions_send"]), "partition"),
        *([DELAY_RATIO.words(row["delay_ratio"])] if kind == GAIN else []),
        *(["partitions sent together"] if kind == AGGREGATION else []),
    ])  # fmt: skip


def _by_size(rows: pd.DataFrame) -> list[tuple[int, pd.DataFrame]]:
    """The message sizes of rows in bytes, ascending, each with its rows."""
    sizes: list[int] = sorted(set(rows["message_bytes"].tolist()))
    return [(one, rows[rows["message_bytes"] == one]) for one in sizes]


def _gain_curves(first: Mapping[str, Any], known: pd.DataFrame) -> Iterator[Curve]:
    yield from _measured(known, "gain", _VERTICAL[GAIN])
    partitions = int(first["partitions_send"]) * int(first["neighbours"])
    apart = having(known[known["messages"] == partitions], "gain_model")
    if not apart.empty:
        predicted = [(size, launches.of_rows(of_size, "gain_model").numbers) for size, of_size in _by_size(apart)]
        marks = tuple(Mark(size, *numbers, ratio(numbers[0])) for size, numbers in predicted)
        yield Curve(f"model, {partitions} messages", _MODEL, marks)
    limit = float(pipelining.gain_of_delay_rate(partitions, 1, first["delay_ratio"], 1.0))
    sizes = sorted(set(map(int, known["message_bytes"])))
    yield Curve(
        f"model without latency, {ratio(limit)}",
        _LIMIT,
        tuple(Mark(one, limit, math.nan, math.nan, ratio(limit)) for one in sizes),
    )


def _time_curves(shown: pd.DataFrame, known: pd.DataFrame) -> Iterator[Curve]:
    """The curves of the approaches that are shown, and those of one message and of the bandwidth, of all points."""
    yield from _measured(shown, "t_ns", _VERTICAL[TIME])
    sizes = _by_size(known)
    yield Curve(
        "one message, in the same repetitions",
        _REFERENCE,
        marks_of(known, "message_bytes", "t_ref_ns", _VERTICAL[TIME]),
    )
    bandwidth = float(known["bytes_per_second"].median())
    if math.isfinite(bandwidth):
        least = float(known["t_ref_ns"].min()) / 2  # the line would leave most of the picture empty
        neighbours = int(known["neighbours"].iloc[0])
        times = [(size, time) for size, _ in sizes if (time := 1e9 * neighbours * size / bandwidth) >= least]
        yield Curve(
            f"by the bandwidth alone, {bandwidth / 1e9:.3g} GB/s",
            _LIMIT,
            tuple(Mark(size, time, math.nan, math.nan, duration(time)) for size, time in times),
        )


def _measured(rows: pd.DataFrame, name: str, axis: ChartAxis) -> Iterator[Curve]:
    """The curves of the approaches: those of one approach get the `_SHADES` in turn."""
    order = list(axes.APPROACH.values)

    def place(of_series: pd.DataFrame) -> tuple[int, str, int, int]:
        first = of_series.iloc[0]
        approach = str(first["approach"])
        known = order.index(approach) if approach in order else len(order)
        return known, approach, int(first["partitions_receive"]), int(first["aggregation_bytes"])

    seen: dict[str, int] = {}
    for of_series in sorted((group for _, group in rows.groupby(_SERIES, sort=False)), key=place):
        first = first_of(of_series)
        approach = str(first["approach"])
        colour, marker = _LOOKS.get(approach, ("grey", "o"))
        shade = _SHADES[seen.get(approach, 0) % len(_SHADES)]
        seen[approach] = seen.get(approach, 0) + 1
        style = Style(COLOURS[colour], marker, opacity=shade)
        yield Curve(approach_words(first), style, marks_of(of_series, "message_bytes", name, axis))
