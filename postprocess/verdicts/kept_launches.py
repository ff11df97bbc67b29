"""Launches that were computed from records, kept in files, so that they are computed once.

Public copies of runs have no tables, and runs of older versions have others. A file is used for the same run folder
only, with the same files in it, and by the same code only. All can be deleted at any time.
"""

import contextlib
import hashlib
import json
import secrets
import shutil
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

import postprocess
from postprocess.records.storage import run_files

_PROBLEMS = b"problems"


class KeptLaunches:
    """Tables of launches in a folder, one file per run. It is made when the first one is kept."""

    def __init__(self, folder: Path) -> None:
        self._all = folder
        self._of_code = folder / _digest_of_code()

    def read(self, run: Path) -> tuple[Any, tuple[str, ...]] | None:
        """The table of a run folder and the problems of its records; None where they are not kept."""
        try:
            table = pq.read_table(self._path(run), use_threads=False)
            problems = json.loads(table.schema.metadata[_PROBLEMS])
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
            return None
        return table.replace_schema_metadata(None), tuple(problems)

    def keep(self, run: Path, table: Any, problems: tuple[str, ...]) -> None:
        """Keep the table and the problems of a run folder. A folder that cannot be written keeps nothing."""
        metadata = {_PROBLEMS: json.dumps(problems).encode()}
        with contextlib.suppress(OSError):
            if not self._of_code.is_dir():
                self._of_code.mkdir(parents=True, exist_ok=True)
                for other in self._all.iterdir():  # of other code: not used again
                    if other != self._of_code:
                        shutil.rmtree(other, ignore_errors=True)
            path = self._path(run)
            new_path = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
            try:
                pq.write_table(table.replace_schema_metadata(metadata), new_path)
                new_path.replace(path)
            finally:
                new_path.unlink(missing_ok=True)

    def _path(self, run: Path) -> Path:
        """The file of a run folder. Raises OSError."""
        place = run.resolve()
        states = [(name, path.stat()) for name, path in run_files(place).items()]
        facts = [str(place), *(f"{name} {state.st_size} {state.st_mtime_ns}" for name, state in states)]
        return self._of_code / f"{_digest(facts)}.parquet"


@lru_cache(maxsize=1)
def _digest_of_code() -> str:
    """A digest of this package's own modules, which compute the launches."""
    package = Path(postprocess.__file__).parent
    return _digest(f"{path.relative_to(package)} {path.read_text()}" for path in sorted(package.rglob("*.py")))


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogateescape")).hexdigest()[:24]
