"""The memory of idle ranks by the number of ranks: what a raised eager limit costs (White & Bova 1999, section II.B).

The paper expects the memory of eager buffers to grow as the square of the number of ranks, because each rank has
buffers for every other. Here the growth is measured: p of amount ~ ranks^p.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import Column, Columns, first_of, number, plain
from postprocess.drawing.text import size
from postprocess.families import axes
from postprocess.families.sampled_table import having
from postprocess.statistics.growth import power_law

_PLACE = ["toolchain", "provider", "network", "configuration", "nodes"]
_GROUP = [*_PLACE, axes.PROTOCOL.name, "ranks"]
LEAST_NUMBERS = 3
"""So many numbers of ranks make a growth."""


def memory_table(table: pd.DataFrame) -> pd.DataFrame:
    """A row per library, place, protocol and number of ranks, from the launches of a table of `sync_table`.

    launches: how many.  total_bytes: the median over launches of the memory of all ranks, from total_low to total_high.
    shared_bytes: that of shared memory in it.  extra_bytes: beyond the median of the protocol `default`; NaN for that
    protocol, and where it was not measured.  fragments, fragment_bytes: buffers that the library reserves in advance,
    and their size; NaN where that cannot be read.
    """
    known = having(table, "idle_pss_total_bytes")
    known = known[known[axes.SEND.name] != axes.SENT_LATE].drop_duplicates("record")
    rows = []
    for key, of in known.groupby(_GROUP, sort=False):
        total = of["idle_pss_total_bytes"].to_numpy(np.float64)
        rows.append(
            {
                **dict(zip(_GROUP, key, strict=True)),
                "launches": len(of),
                "total_bytes": float(np.median(total)),
                "total_low": float(total.min()),
                "total_high": float(total.max()),
                "shared_bytes": float(of["idle_pss_shared_bytes"].median()),
                "fragments": float(of["fragments"].median()),
                "fragment_bytes": float(of["fragment_bytes"].median()),
            }
        )
    found = pd.DataFrame(rows, columns=[*_GROUP, *_COLUMNS[:-1]])
    usual = found[found[axes.PROTOCOL.name] == axes.PROTOCOL.usual].set_index([*_PLACE, "ranks"])["total_bytes"]
    extra = [
        math.nan
        if row[axes.PROTOCOL.name] == axes.PROTOCOL.usual
        else row["total_bytes"] - usual.get(tuple(row[name] for name in (*_PLACE, "ranks")), math.nan)
        for row in found.to_dict("records")
    ]
    result: pd.DataFrame = found.assign(extra_bytes=extra).sort_values([*_PLACE, axes.PROTOCOL.name, "ranks"])
    return result


_COLUMNS = (
    "launches", "total_bytes", "total_low", "total_high", "shared_bytes", "fragments", "fragment_bytes", "extra_bytes",
)  # fmt: skip


def growth_sentences(memory: pd.DataFrame) -> Iterator[str]:
    """How the memory beyond that of the protocol `default` grows with the number of ranks, for each protocol that was
    measured with enough numbers of ranks; of the protocol `default`, how all of the memory does."""
    for _, rows in memory.groupby([*_PLACE, axes.PROTOCOL.name], sort=False):
        first = first_of(rows)
        usual = axes.PROTOCOL.is_usual(first[axes.PROTOCOL.name])
        amounts = rows["total_bytes" if usual else "extra_bytes"].to_numpy(np.float64)
        ranks = rows["ranks"].to_numpy(np.float64)
        if len(rows) < LEAST_NUMBERS or not np.isfinite(amounts).all():
            continue
        where = f"{first['toolchain']}, {first['network']}, {_configuration(first)}"
        what = "the memory of idle ranks" if usual else "the memory beyond that of the protocol default"
        between = f"{_signed(amounts[0])} with {int(ranks[0])} ranks, {_signed(amounts[-1])} with {int(ranks[-1])}"
        if amounts.min() <= 0:
            yield f"{where}: {what} is {between}: no growth can be told"
            continue
        power = "{:.2f} [{:.2f}, {:.2f}]".format(*power_law(ranks, amounts).numbers)
        yield f"{where}: {what} grows as the ranks to the power of {power}: {between}"


def _configuration(row: Mapping[str, Any]) -> str:
    return axes.configuration_words(row, (axes.PROTOCOL,))


def _signed(amount: float) -> str:
    return f"-{size(-amount)}" if amount < 0 else size(amount)


def _known(words: Callable[[float], str]) -> Callable[[float], str]:
    return lambda amount: words(amount) if math.isfinite(amount) else ""


def _between(row: Mapping[Any, Any]) -> str:
    return "one launch" if row["launches"] == 1 else f"{size(row['total_low'])} to {size(row['total_high'])}"


def _fragments(row: Mapping[Any, Any]) -> str:
    known = math.isfinite(row["fragments"]) and math.isfinite(row["fragment_bytes"])
    return f"{row['fragments']:.0f} of {size(row['fragment_bytes'])}" if known else "not readable"


SHOWN = Columns((
    plain("toolchain"),
    plain("network"),
    Column("configuration", _configuration),
    number("ranks"),
    number("memory", "total_bytes", size),
    Column("launches", _between),
    Column("each rank", lambda row: size(row["total_bytes"] / row["ranks"]), right=True),
    number("of it shared", "shared_bytes", _known(size)),
    number("beyond default", "extra_bytes", _known(_signed)),
    Column("fragments of a rank", _fragments),
))  # fmt: skip
"""The table of the memory of idle ranks, of rows of `memory_table`."""
