"""Tables as Parquet, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]


def write_table(table: pd.DataFrame, path: Path) -> Path:
    """Write a table as Parquet, whole or not at all. Raises OSError."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        arrow = _arrow(table)
        words = [field.name for field in arrow.schema if not pa.types.is_primitive(field.type)]
        # Times hardly repeat: a column of times is read faster without a dictionary.
        pq.write_table(arrow, partial, use_dictionary=words)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def _arrow(table: pd.DataFrame) -> pa.Table:
    """The table with the same schema whatever its rows are: a column of empty lists stays one of lists of strings."""
    schema = pa.Schema.from_pandas(table, preserve_index=False)
    for name in ("unreliable_reasons", "flags", "diagnosis_alternatives"):
        if name in schema.names:
            schema = schema.set(schema.get_field_index(name), pa.field(name, pa.list_(pa.string())))
    return pa.Table.from_pandas(table, schema=schema, preserve_index=False)
