"""Rows of tables as strict JSON values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

NEVER = "never"


def rows_as_json(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as JSON objects: whole numbers stay whole, NaN and infinity are null.

    Two columns ``…_ci95_low`` and ``…_ci95_high`` become one value [low, high]. An infinite number of cores is
    ``never``: no number of cores is enough.
    """
    rows = []
    for row in table.to_dict("records"):
        values: dict[str, Any] = {}
        for key, value in row.items():
            name = str(key)
            if name.endswith("_ci95_low"):
                stem = name.removesuffix("_low")
                values[stem] = [_plain(bound, stem) for bound in (value, row[f"{stem}_high"])]
            elif not name.endswith("_ci95_high"):
                values[name] = _plain(value, name)
        rows.append(values)
    return rows


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if name.removesuffix("_ci95").endswith("_cores") and value == math.inf:
        return NEVER
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item, "") for item in value]
    return value
