"""What was computed from the records of a run, kept in files, so that it is computed once.

A file is used for the same run folder only, with files of the same sizes and times in it, and by the same code only.
All can be deleted at any time.
"""

import contextlib
import hashlib
import secrets
import shutil
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import ModuleType

import postprocess
from postprocess.records.storage import run_files

MOST_KEPT = 2000
"""The most files: after one more the oldest is deleted."""


class Kept:
    """Files in a folder, for each run and `facts`. It is made when the first one is kept.

    packages: whose code computes what is kept.
    """

    def __init__(self, folder: Path, *packages: ModuleType) -> None:
        self._all = folder
        self._of_code = folder / _digest_of_code(*(str(package.__file__) for package in (postprocess, *packages)))

    def path(self, run: Path, *facts: object) -> Path:
        """The file of a run folder. Raises OSError."""
        place = run.resolve()
        states = [(name, path.stat()) for name, path in run_files(place).items()]
        of_files = [f"{name} {state.st_size} {state.st_mtime_ns}" for name, state in states]
        return self._of_code / _digest([str(place), *of_files, *map(str, facts)])

    def keep(self, write: Callable[[Path], object], run: Path, *facts: object) -> None:
        """Keep the file that `write` writes. A folder that cannot be written keeps nothing."""
        with contextlib.suppress(OSError):
            if not self._of_code.is_dir():
                self._of_code.mkdir(parents=True, exist_ok=True)
                for other in self._all.iterdir():  # of other code: not used again
                    if other != self._of_code:
                        shutil.rmtree(other, ignore_errors=True)
            path = self.path(run, *facts)
            new_path = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
            try:
                write(new_path)
                new_path.replace(path)
                by_age = sorted(self._of_code.iterdir(), key=lambda file: file.stat().st_mtime_ns)
                for old in by_age[:-MOST_KEPT]:
                    old.unlink(missing_ok=True)
            finally:
                new_path.unlink(missing_ok=True)


@cache
def _digest_of_code(*packages: str) -> str:
    """A digest of the modules of packages, by the files of these."""
    folders = [Path(package).parent for package in packages]
    return _digest(
        f"{path.relative_to(folder)} {path.read_text()}" for folder in folders for path in sorted(folder.rglob("*.py"))
    )


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogateescape")).hexdigest()[:24]
