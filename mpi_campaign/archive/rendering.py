"""What a finished run is turned into: tables, Parquet, the report."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from mpi_campaign.archive import provenance, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from postprocess.families.mpi_impact import table as impact
from postprocess.families.mpi_impact.record import impacts_of
from postprocess.families.nbc_overlap.map_plot import Look
from postprocess.families.nbc_overlap.points import points_as_json, points_of, write_parquet
from postprocess.families.nbc_overlap.record import overlaps_of
from postprocess.families.nbc_overlap.tables import (
    break_even_text,
    diagnosis_text,
    measured_share_text,
    points_table_text,
    summary_table,
)
from postprocess.families.peers import table as peers
from postprocess.families.peers.record import peer_records_of
from postprocess.records.fields import RecordError
from postprocess.records.header import Header
from postprocess.records.run import Run, load_run
from postprocess.report.html import write_report as render


def load(folder: RunFolder) -> Run:
    """Raises CampaignError where the run cannot be read."""
    try:
        run = load_run(folder.path)
        unread = [line for seen in (overlaps_of, peer_records_of, impacts_of) for line in seen(run).problems]
        changed = bool(run.manifest) and run_folders.differs(run_folders.read_manifest(folder))
        edited = [f"{run_folders.MANIFEST}: {run_folders.DIFFERS}"] if changed else []
        return replace(run, problems=(*edited, *run.problems, *unread))
    except RecordError as error:
        raise CampaignError(str(error)) from error


BUILT_WITH = ("compiler", "flags", "blas")


def seen(folder: RunFolder) -> dict[str, Any]:
    """What the records of a run say of where and how it ran, in short: hosts; what each toolchain's environment held,
    {toolchain: {variable: values in all of its cases}}; alike, which library it is, and with what we were built."""
    run = load(folder)
    variables: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    builds: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    headers = headers_of(run)
    for header in headers:
        for name, value in header.environment.items():
            variables[header.toolchain][name].add(str(value))
        builds[header.toolchain]["library"].add(_in_short(header.mpi_library_version))
        for name in BUILT_WITH:
            builds[header.toolchain][name].add(str(header.build.get(name, "")))
    return {
        "nodes": sorted({place.host for header in headers for place in header.placement}),
        "variables": _sorted(variables),
        "builds": _sorted(builds),
    }


def headers_of(run: Run) -> list[Header]:
    """The first lines of all records of our own."""
    return [record.header for seen in (overlaps_of, impacts_of) for record in seen(run).records]


def _in_short(text: str) -> str:
    """A text of many lines as one that differs where it does."""
    return (
        f"{' '.join(text.partition(chr(10))[0].split())[:80]} (sha256:{hashlib.sha256(text.encode()).hexdigest()[:8]})"
    )


def _sorted(named: Mapping[str, Mapping[str, set[str]]]) -> dict[str, dict[str, list[str]]]:
    return {key: {name: sorted(values) for name, values in inside.items()} for key, inside in named.items()}


def write_tables(folder: RunFolder) -> None:
    """points.parquet and samples.parquet, beside the records; impact.parquet where such were measured."""
    write_parquet(folder.path)
    impact.write_parquet(load_run(folder.path))


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
    given, target = target, target or folder.report
    if target.exists() and not target.is_file():
        raise CampaignError(f"{target} is no regular file: give another file with -o")
    for place in filter(None, (given, maps)):
        run_folders.check_outside(place)
    if given and not given.parent.is_dir():
        raise CampaignError(f"{given.parent} is not a folder: make it, or give another file with -o")
    if given and not maps:
        maps = given.with_name(f"{given.stem}-maps")  # two reports in one folder have their own
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


def short_tables(folder: RunFolder) -> list[str]:
    """What `run` ends with: a table of each kind of benchmark that ran, at least one; a line per case, and why."""
    run = load(folder)
    points, impacts = points_of(run), impact.impact_of(run)
    beside = peers.peers_summary_text(peers.peers_of(run, points))
    others = [f"{beside}\n(all of it: ./campaign show {folder.run} --peers)"] if beside else []
    if not impacts.empty:
        others.append(impact.impact_text(impact.highlighted(impacts)))
    own = _parts(summary_table(points), measured_share_text(overlaps_of(run).records), diagnosis_text(points))
    return others if points.empty and others else [own, *others]


def peers_table(folder: RunFolder) -> str:
    """What `show --peers` prints."""
    return f"{peers.peers_table_text(peers_of(folder))}\n\n{peers.PEERS_NOTE}"


def peers_as_json(folder: RunFolder) -> str:
    """What `show --peers --json` prints: a list of objects, one per size and program."""
    return _as_json(peers_of(folder))


def peers_of(folder: RunFolder) -> pd.DataFrame:
    """What other benchmarks said, beside ours."""
    run = load(folder)
    return peers.peers_of(run, points_of(run))


def impact_table(folder: RunFolder) -> str:
    """What `show --impact` prints."""
    table = impact.impact_of(load(folder))
    return "no impact was measured" if table.empty else impact.impact_text(table)


def impact_as_json(folder: RunFolder) -> str:
    """What `show --impact --json` prints: a list of objects, one per computation time and case."""
    return _as_json(impact.impact_of(load(folder)))


def provenance_text(folder: RunFolder) -> str:
    """What `show --provenance` prints."""
    try:
        run = load(folder)
        said = provenance.Said(headers_of(run), peers.programs_of(peer_records_of(run).records))
        return provenance.as_text(run_folders.read_manifest(folder), said)
    except (AttributeError, TypeError) as error:
        raise CampaignError(f"{folder.path / run_folders.MANIFEST} is not what a run writes: {error}") from error


def provenance_as_json(folder: RunFolder) -> str:
    """What `show --provenance --json` prints: those parts of the manifest."""
    manifest = run_folders.read_manifest(folder)
    names = ("run", "system", "status", "started_utc", "command_line", "campaign", "host", "toolchains")
    return json.dumps({name: manifest.get(name) for name in names}, indent=1, ensure_ascii=False)


def full_table(folder: RunFolder) -> str:
    """What `show` prints: the points, what their maps show, where giving up a core pays; what an idle library cost."""
    run = load(folder)
    points, impacts = points_of(run), impact.impact_of(run)
    told = "" if impacts.empty else impact.impact_text(impacts)
    if points.empty and told:
        return told
    share = measured_share_text(overlaps_of(run).records)
    return _parts(points_table_text(points), share, diagnosis_text(points), break_even_text(points), told)


def _parts(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


def as_json(folder: RunFolder) -> str:
    """What `show --json` prints: a list of objects, one per point."""
    return _as_json(points_of(load(folder)))


def _as_json(table: pd.DataFrame) -> str:
    return json.dumps(points_as_json(table), indent=1, ensure_ascii=False, allow_nan=False)
