"""Launches that were computed from records, kept in files, so that they are computed once."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from postprocess.records.kept import Kept

_PROBLEMS = b"problems"


class KeptLaunches:
    """Tables of launches. Public copies of runs have no tables, and runs of older versions have others."""

    def __init__(self, folder: Path) -> None:
        self._files = Kept(folder)

    def read(self, run: Path) -> tuple[Any, tuple[str, ...]] | None:
        """The table of a run folder and the problems of its records; None where they are not kept."""
        try:
            table = pq.read_table(self._files.path(run), use_threads=False)
            problems = json.loads(table.schema.metadata[_PROBLEMS])
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
            return None
        return table.replace_schema_metadata(None), tuple(problems)

    def keep(self, run: Path, table: Any, problems: Sequence[str]) -> None:
        """Keep the table and the problems of a run folder."""
        whole = table.replace_schema_metadata({_PROBLEMS: json.dumps(problems).encode()})
        self._files.keep(lambda path: pq.write_table(whole, path), run)
