"""What `show` says of a run at first sight. That of a finished run is kept, so that it is made once."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mpi_campaign import STATE, archive
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.archive.window import Window
from postprocess.records.kept import Kept

if TYPE_CHECKING:
    from postprocess.records.run import Run


@dataclass(frozen=True)
class FirstScreen:
    """lines: for a window.  problems, failures: of `rendering`."""

    lines: Sequence[str]
    problems: Sequence[str]
    failures: Sequence[str]


def read(folder: RunFolder, on: Window) -> FirstScreen:
    """The first screen of a run. Raises CampaignError where the run cannot be read."""
    try:
        return FirstScreen(**json.loads(_kept().path(folder.path, *_facts(on)).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        from mpi_campaign.archive import rendering  # noqa: PLC0415 - pandas takes a second to load

        return make(folder, rendering.load(folder), on)


def make(folder: RunFolder, run: "Run", on: Window) -> FirstScreen:
    """The first screen of a run that was read."""
    from mpi_campaign.archive import matrices, rendering  # noqa: PLC0415 - likewise

    screen = FirstScreen(matrices.lines(run, on), rendering.problems(folder, run), rendering.failures(run))
    if folder.is_complete:

        def write(path: Path) -> None:
            path.write_text(json.dumps(asdict(screen)), encoding="utf-8")

        _kept().keep(write, folder.path, *_facts(on))
    return screen


def next_words(folder: RunFolder) -> Iterator[str]:
    """The report, and the commands that show more."""
    report = folder.report if folder.report.is_file() else f"./campaign report {folder.run}"
    yield f"report: {report}"
    yield f"every point: ./campaign show {folder.run} --points"


def _kept() -> Kept:
    return Kept(STATE / "screens", archive)


def _facts(on: Window) -> tuple[object, ...]:
    return on.width, on.paint("x", "good"), on.halves is not None
