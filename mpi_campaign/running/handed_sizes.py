"""The files of sizes in the folder of a session: what a launch of `basic` takes over, and what it hands on.

The campaign puts there what earlier sessions or the system have (`same_sizes`), in a file with the case's name. Within
a session, libraries take turns with each case: the first one without a file finds the sizes for those after it.
"""

import shutil
from pathlib import Path

from mpi_campaign.archive import run_folders

SUFFIX = run_folders.RECORD_FILES[run_folders.SIZES]


def _of_all_libraries(folder: Path, stem: str) -> Path:
    """The file for the case with every library. stem: of the case, which begins with the library's environment."""
    return folder / f"{stem.partition('.')[2]}{SUFFIX}"


def given(folder: Path, stem: str, *, own: bool) -> Path | None:
    """The file with sizes for a case; None where it finds its own. own: it takes over none of another library."""
    files = [folder / f"{stem}{SUFFIX}", *([] if own else [_of_all_libraries(folder, stem)])]
    return next(filter(Path.is_file, files), None)


def hand_on(folder: Path, stem: str, found: Path, *, own: bool) -> None:
    """Let the libraries that measure the case next take over sizes, where none are there. found: the file, if any, that
    the launch of the case has written or taken over.  own: as of `given`."""
    if own or not found.is_file() or given(folder, stem, own=own) is not None:
        return
    folder.mkdir(exist_ok=True)
    shutil.copyfile(found, _of_all_libraries(folder, stem))
