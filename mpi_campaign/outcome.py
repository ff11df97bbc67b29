"""What a finished run is turned into: tables, Parquet, the report. The only door to `postprocess` for the commands."""

import json
from pathlib import Path

from mpi_campaign.archive import RunFolder
from mpi_campaign.errors import CampaignError
from postprocess.fields import RecordError
from postprocess.load import Run, load_run
from postprocess.points import points_as_json, points_of, write_parquet
from postprocess.report import write_report as render
from postprocess.table import points_table_text, summary_table


def load(folder: RunFolder) -> Run:
    """Raises CampaignError where the run cannot be read."""
    try:
        return load_run(folder.path)
    except RecordError as error:
        raise CampaignError(str(error)) from error


def write_tables(folder: RunFolder) -> None:
    """points.parquet and samples.parquet, beside the records."""
    write_parquet(folder.path)


def write_report(folder: RunFolder, target: Path | None = None) -> Path:
    """The report, and its maps beside it. Raises CampaignError where the target cannot be written."""
    target = target or folder.report
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        render(folder.path, target)
    except RecordError as error:
        raise CampaignError(str(error)) from error
    except OSError as error:
        raise CampaignError(f"{target} cannot be written ({error.strerror}): give another file with -o") from error
    return target


def short_table(folder: RunFolder) -> str:
    """What `run` ends with."""
    return summary_table(points_of(load(folder)))


def full_table(folder: RunFolder) -> str:
    """What `show` prints."""
    return points_table_text(points_of(load(folder)))


def as_json(folder: RunFolder) -> str:
    """What `show --json` prints: a list of objects, one per point."""
    return json.dumps(points_as_json(points_of(load(folder))), indent=1, ensure_ascii=False, allow_nan=False)
