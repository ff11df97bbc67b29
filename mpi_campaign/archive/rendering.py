"""The tables, Parquet files and reports that are made from a finished run."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from mpi_campaign.archive import provenance, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from postprocess.drawing.look import PLAIN, Look
from postprocess.drawing.text import clean
from postprocess.families import registry
from postprocess.families.axes import COLLECTIVE, OPERATION
from postprocess.families.family import Family, Found
from postprocess.records.as_json import rows_as_json
from postprocess.records.fields import RecordError
from postprocess.records.header import Header
from postprocess.records.run import Run, cases_of, load_run
from postprocess.records.run_words import run_name
from postprocess.report.html import write_report as render
from postprocess.report.verified import carried_of, observed_in
from postprocess.verdicts.answers import Answers


def load(folder: RunFolder) -> Run:
    """A run with its records. Raises CampaignError where it cannot be read."""
    try:
        return load_run(folder.path)
    except RecordError as error:
        raise CampaignError(str(error)) from error


def problems(folder: RunFolder, run: Run) -> tuple[str, ...]:
    """The problems of a run, a line each."""
    changed = bool(run.manifest) and run_folders.differs(run_folders.read_manifest(folder))
    edited = [f"{run_folders.MANIFEST}: {run_folders.DIFFERS}"] if changed else []
    return (*edited, *run.problems, *registry.problems(run))


def failures(run: Run) -> tuple[str, ...]:
    """A line about each case that failed: tables show what its record has, and nothing where it has no point."""
    failed = (case for case in cases_of(run.manifest) if case.get("result") == "fail")
    return tuple(
        clean(f"{case.get('case') or 'a case'} failed: {case.get('reason') or 'no reason was given'}")
        for case in failed
    )


def moved(run: Run, folder: RunFolder) -> Run:
    """A loaded run after its folder was moved into place and its manifest got the checksums. No record is read twice.
    Raises CampaignError where the manifest cannot be read."""
    return replace(
        run, path=folder.path, manifest={**run_folders.read_manifest(folder), "cases": run.manifest["cases"]}
    )


BUILT_WITH = ("compiler", "flags", "blas")


def seen(run: Run) -> dict[str, Any]:
    """What the records of a run tell about where and how it ran, in short.

    nodes: hosts.  variables: the environment of each toolchain, {toolchain: {variable: values in all of its cases}}.
    builds: in the same form, the library of each toolchain, and what our benchmarks were built with.
    """
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
    """The headers of all records that tell where they ran."""
    readings = [registry.read(run, family) for family in registry.FAMILIES if family.inside is not None]
    return [record.header for read in readings for record in read.records]


def _in_short(text: str) -> str:
    """The first line of a text, shortened, with a digest by which different texts differ."""
    first_line = " ".join(text.partition("\n")[0].split())
    return f"{first_line[:80]} (sha256:{hashlib.sha256(text.encode()).hexdigest()[:8]})"


def _sorted(by_name: Mapping[str, Mapping[str, set[str]]]) -> dict[str, dict[str, list[str]]]:
    return {key: {name: sorted(values) for name, values in inside.items()} for key, inside in by_name.items()}


def look(palette: str, metrics: tuple[str, ...], kinds: tuple[str, ...], *, dim: bool) -> Look:
    """The way to draw maps that was asked for. Raises CampaignError for an unknown name."""
    try:
        return registry.look(palette, metrics, kinds, dim=dim)
    except ValueError as error:
        raise CampaignError(str(error)) from error


def write_report(
    folder: RunFolder,
    run: Run,
    answers: Answers,
    target: Path | None = None,
    maps: Path | None = None,
    drawn: Look = PLAIN,
) -> Path:
    """Write the report, and its maps beside it or in a folder. Raises CampaignError where that fails."""
    given, target = target, target or folder.report
    if target.exists() and not target.is_file():
        raise CampaignError(f"{target} is no regular file: give another file with -o")
    for place in filter(None, (given, maps)):
        run_folders.check_outside(place)
    if given and not given.parent.is_dir():
        raise CampaignError(f"{given.parent} is not a folder: make it, or give another file with -o")
    if given and not maps:
        maps = given.with_name(f"{given.stem}-maps")  # two reports in the same folder have different maps
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        render(run, target, maps, drawn, answers)
    except OSError as error:
        what, way = (maps, "folder with --maps") if maps and _lies_in(error, maps) else (target, "file with -o")
        raise CampaignError(f"{what} cannot be written ({error.strerror}): give another {way}") from error
    return target


def _lies_in(error: OSError, folder: Path) -> bool:
    """Whether the path that could not be written is the folder, lies in it, or is a parent of it."""
    failed = Path(str(error.filename or ""))
    return failed == folder or folder in failed.parents or failed in folder.parents


def family_named(name: str, run: Run) -> Family:
    """The family of this name, or of the benchmark of this name. Raises CampaignError, which lists the legal names."""
    family = registry.BY_NAME.get(name) or registry.BY_BENCHMARK.get(name)
    if family is None:
        legal = dict.fromkeys(word for each in registry.FAMILIES for word in (each.name, *each.benchmarks))
        measured = _measured_words(run) or "none of them"
        raise CampaignError(
            f"there is no benchmark '{name}'; there are: {', '.join(legal)}; run {run_name(run)} has {measured}"
        )
    return family


def _measured_words(run: Run) -> str:
    """The families that a run has records of, with their titles."""
    measured = [f"{each.name} ({each.title})" for each in registry.FAMILIES if registry.read(run, each).records]
    return ", ".join(measured)


def has(run: Run, family: Family, benchmark: str) -> bool:
    """Whether a run has a record of a family, or of the one of its benchmarks that is named."""
    of_family = benchmark == family.name
    return any(of_family or record.header.benchmark == benchmark for record in run.of(family.name))


def lacks_words(run: Run, benchmark: str) -> str:
    """A line about a run that has no record of a benchmark."""
    return f"run {run_name(run)} has no record of {benchmark}; it has {_measured_words(run) or 'no record'}"


@dataclass(frozen=True)
class Points:
    """Points of a run.  family: None for all that are compared with each other, of JSON and CSV the main one.
    benchmark: one of its programs; empty, or the family's name, for all.  collective: empty for all."""

    run: Run
    family: Family | None = None
    benchmark: str = ""
    collective: str = ""

    def text(self) -> str:
        """The tables, with what they say. Raises CampaignError where the run lacks the collective."""
        families = [self.family] if self.family else [one for one in registry.FAMILIES if one.launches]
        found = [(family, self._found(family)) for family in families]
        texts = [family.text(of_family) for family, of_family in found if not of_family.table.empty]
        if self.collective and not texts:
            self._refuse(families)
        if self.family is None and not texts:
            return registry.MAIN.text(registry.found(self.run, registry.MAIN))
        return "\n\n".join(filter(None, texts)) or "nothing was measured"

    def as_json(self) -> str:
        """A list of objects, one per row of the family's table."""
        return json.dumps(rows_as_json(self._table()), indent=1, ensure_ascii=False, allow_nan=False)

    def as_csv(self) -> str:
        """A line per row of the family's table, after the names of the columns. Lists are joined by semicolons."""
        table = self._table()
        joined = table.map(lambda value: "; ".join(map(str, value)) if isinstance(value, list) else value)
        return str(joined.to_csv(index=False, lineterminator="\n")).rstrip("\n")

    def _table(self) -> pd.DataFrame:
        family = self.family or registry.MAIN
        table = self._found(family).table
        if self.collective and table.empty:
            self._refuse([family])
        return table

    def _found(self, family: Family) -> Found:
        of_family = registry.found(self.run, family)
        table = of_family.table
        if self.benchmark in family.benchmarks and self.benchmark != family.name and len(family.benchmarks) > 1:
            table = table[table["benchmark"] == self.benchmark]
        if self.collective:
            named = [name for name in _COLLECTIVES if name in table]
            table = table[(table[named] == self.collective).any(axis=1)] if named else table.head(0)
        return replace(of_family, table=table)

    def _refuse(self, families: Sequence[Family]) -> NoReturn:
        tables = [registry.found(self.run, family).table for family in families]
        there = {str(name) for table in tables for column in _COLLECTIVES if column in table for name in table[column]}
        known = ", ".join(sorted(there - {""})) or "none"
        raise CampaignError(f"run {run_name(self.run)} has no point of '{self.collective}'; it has: {known}")


_COLLECTIVES = (COLLECTIVE.name, OPERATION.name)


def provenance_text(folder: RunFolder, run: Run) -> str:
    """What `show --provenance` prints."""
    programs = [
        program for family in registry.FAMILIES for program in family.audit.programs(registry.read(run, family).records)
    ]
    facts = provenance.RecordFacts(headers_of(run), programs, carried_of(observed_in(run)))
    try:
        return provenance.as_text(run_folders.read_manifest(folder), facts)
    except (AttributeError, TypeError) as error:
        raise CampaignError(f"{folder.path / run_folders.MANIFEST} is not what a run writes: {error}") from error


def provenance_as_json(folder: RunFolder) -> str:
    """What `show --provenance --json` prints: parts of the manifest."""
    manifest = run_folders.read_manifest(folder)
    names = [
        "run", "system", "status", "started_utc", "command_line", "campaign", "host", "jobs", "nodes", "toolchains",
    ]  # fmt: skip
    return json.dumps({name: manifest.get(name) for name in names}, indent=1, ensure_ascii=False)
