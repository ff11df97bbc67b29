"""The launches of two sides with one row for each map: what all its points say together.

A map is what the same launches measured: the points of a collective in a configuration. Each point of a launch is held
against the mean of both sides at that point; the value of the launch is the median of these differences over the
points, at the median point. So a launch that lacks some points is not taken for a fast one, and the noise of single
points, and of a machine whose speed changes within seconds, is averaged.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from postprocess.families.axes import SIZES
from postprocess.families.family import STATE, Metric
from postprocess.statistics.effects import Integers
from postprocess.statistics.metrics import Floats
from postprocess.verdicts.launches import numbered, scaled, with_keys

LEAST_POINTS = 0.5
"""The share of a map's points that a launch must have to count."""
MEASURED = " measured"
"""After the name of a metric: the column that says whether a launch has it at any point, whether or not it counts."""


def of_maps(
    launches: pd.DataFrame, side: Integers, key: Sequence[str], points: Sequence[str], metrics: Sequence[Metric]
) -> pd.DataFrame:
    """The launches of maps, with the columns of `key`, `run`, `launch`, `side`, the sizes, STATE, and of each metric
    its value and MEASURED.

    launches: of both sides.  side: of each, 0 or 1.  key: the columns that name a map.  points: those that name a point
    of it. Points that one side lacks, or has at another size than the other where a metric needs equal ones, count for
    nothing.
    """
    keyed = with_keys(launches).assign(side=side)
    number, table = numbered(keyed, [*dict.fromkeys([*key, "oversubscribed", "run", "launch", "side"])])
    of_map, _ = numbered(keyed, key)
    for metric in metrics:
        value = launches[metric.name].to_numpy(np.float64)
        used = launches[metric.state].to_numpy(bool) & metric.has_effect(value)
        same = {f"{name} ": launches[name] for name in metric.same if name in launches}
        of_point, _ = numbered(keyed.assign(**same), [*key, *points, *same])
        found = _over_points(
            scaled(value[used], metric), of_point[used], of_map[used], side[used], number[used], len(table)
        )
        table[metric.name] = np.exp(found) if metric.ratio else found
        table[f"{metric.name}{MEASURED}"] = np.bincount(number, np.isfinite(value)) > 0
    good = dict.fromkeys((name for name in STATE if name not in table), True)
    whole: pd.DataFrame = table.assign(**{axis.name: 0 for axis in SIZES}, **good)
    return whole


def _over_points(
    value: Floats, point: Integers, of_map: Integers, side: Integers, launch: Integers, launches: int
) -> Floats:
    """The value of each launch over its points; NaN for one that has too few of them."""
    table = pd.DataFrame({"value": value, "point": point, "map": of_map, "side": side, "launch": launch})
    of_sides = table.groupby(["point", "side"])["value"].mean().unstack("side").reindex(columns=[0, 1])
    centre = of_sides.dropna().mean(axis=1)
    table = table[table["point"].isin(centre.index)]
    table = table.assign(centre=table["point"].map(centre))
    places = table.drop_duplicates("point").groupby("map")["centre"].agg(["median", "size"])
    by_launch = table.assign(apart=table["value"] - table["centre"]).groupby("launch")
    found = by_launch["apart"].median() + by_launch["map"].first().map(places["median"])
    enough = by_launch.size() >= LEAST_POINTS * by_launch["map"].first().map(places["size"])
    return np.asarray(found[enough].reindex(range(launches)), np.float64)
