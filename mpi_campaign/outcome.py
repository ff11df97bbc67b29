"""What a finished run is turned into: tables, Parquet, the report. The only door to `postprocess` for the commands."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd

from mpi_campaign.archive import RunFolder
from mpi_campaign.errors import CampaignError
from postprocess import peers
from postprocess.fields import RecordError
from postprocess.load import Run, load_run
from postprocess.plot import Look
from postprocess.points import points_as_json, points_of, write_parquet
from postprocess.report import write_report as render
from postprocess.table import break_even_text, diagnosis_text, points_table_text, summary_table


def load(folder: RunFolder) -> Run:
    """Raises CampaignError where the run cannot be read."""
    try:
        run = load_run(folder.path)
        return replace(run, problems=(*run.problems, *peers.load_peers(run)[1]))
    except RecordError as error:
        raise CampaignError(str(error)) from error


def write_tables(folder: RunFolder) -> None:
    """points.parquet and samples.parquet, beside the records."""
    write_parquet(folder.path)


def look(palette: str, metrics: tuple[str, ...], kinds: tuple[str, ...], *, dim: bool) -> Look:
    """How maps are drawn, as asked for. Raises CampaignError for a name that there is not."""
    try:
        return Look(palette, dim, metrics, kinds or Look.kinds)
    except ValueError as error:
        raise CampaignError(str(error)) from error


def write_report(
    folder: RunFolder, target: Path | None = None, maps: Path | None = None, drawn: Look | None = None
) -> Path:
    """The report, and its maps beside it or in a folder. Raises CampaignError where these cannot be written."""
    target = target or folder.report
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        render(folder.path, target, maps, drawn or Look())
    except RecordError as error:
        raise CampaignError(str(error)) from error
    except OSError as error:
        what, way = (maps, "folder with --maps") if maps and _lies_in(error, maps) else (target, "file with -o")
        raise CampaignError(f"{what} cannot be written ({error.strerror}): give another {way}") from error
    return target


def _lies_in(error: OSError, folder: Path) -> bool:
    """Whether what could not be written is the folder, lies in it, or is on the way to it."""
    failed = Path(str(error.filename or ""))
    return failed == folder or folder in failed.parents or failed in folder.parents


def short_table(folder: RunFolder) -> str:
    """What `run` ends with: a line per case, and why."""
    points = points_of(load(folder))
    return _parts(summary_table(points), diagnosis_text(points))


def short_peers_table(folder: RunFolder) -> str:
    """What `run` ends with where other benchmarks ran; empty otherwise."""
    return peers_table(folder) if peers.load_peers(load(folder))[0] else ""


def peers_table(folder: RunFolder) -> str:
    """What `show --peers` prints."""
    return f"{peers.peers_table_text(peers_of(folder))}\n\n{peers.peers_note()}"


def peers_as_json(folder: RunFolder) -> str:
    """What `show --peers --json` prints: a list of objects, one per size and program."""
    return _as_json(peers_of(folder))


def peers_of(folder: RunFolder) -> pd.DataFrame:
    """What other benchmarks said, beside ours."""
    run = load(folder)
    return peers.peers_table(peers.load_peers(run)[0], points_of(run))


def full_table(folder: RunFolder) -> str:
    """What `show` prints: the points, what their maps show, and where giving up a core pays."""
    points = points_of(load(folder))
    return _parts(points_table_text(points), diagnosis_text(points), break_even_text(points))


def _parts(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


def as_json(folder: RunFolder) -> str:
    """What `show --json` prints: a list of objects, one per point."""
    return _as_json(points_of(load(folder)))


def _as_json(table: pd.DataFrame) -> str:
    return json.dumps(points_as_json(table), indent=1, ensure_ascii=False, allow_nan=False)
