"""The launches of archived runs as one table, from which comparisons and histories start.

A row is one point of one launch, of any family. The columns are the axes and the metrics that these launches have: an
axis that has its usual value everywhere has no column, so that no family pays for the others. Where a row's family does
not have an axis, the axis has its usual value; where it does not have a metric, there is no value.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from postprocess.drawing.text import clean, plural
from postprocess.families import registry
from postprocess.families.axes import SIZES
from postprocess.families.family import LONGEST_NS, STATE, STATE_OF_POINTS, Axis, Family, Launches, Metric
from postprocess.families.sampled import TOO_WIDE
from postprocess.records.fields import RecordError, fail
from postprocess.records.header import SIMULATED
from postprocess.records.run import MANIFEST_VERSION, Run, failed_records, load_run, without_repeat
from postprocess.records.storage import record_files
from postprocess.statistics.effects import Integers
from postprocess.statistics.metrics import Floats
from postprocess.verdicts.kept_launches import KeptLaunches

_AXES: Mapping[str, Axis] = {axis.name: axis for axis in (*registry.AXES, *SIZES)}
WORDS = tuple(axis.name for axis in _AXES.values() if axis.kind == "text")
"""The columns that are text."""
COLUMNS = (*_AXES, *registry.METRICS, *STATE, "run")
"""All columns that a table of launches may have, in their order."""
_METHOD = "record_method"
"""The number of the method by which a family was measured, until the launches of older methods are left out."""
_LARGEST_METHOD = 10**9
"""A foreign record may tell any number: a larger one is no number of a column."""
_KINDS = {"text": pa.dictionary(pa.int32(), pa.string()), "integer": pa.int64(), "number": pa.float64()}


def _type_of(name: str) -> Any:
    """The Arrow type of one of COLUMNS."""
    if name in STATE:
        return pa.bool_()
    if name in registry.METRICS:
        return pa.float64()
    if name == _METHOD:
        return pa.int64()
    return _KINDS[_AXES[name].kind if name in _AXES else "text"]


USUAL_VALUES = {axis.name: axis.usual for axis in registry.AXES if axis.usual is not None}
"""The value of each axis of which a table of launches may have no column."""
_SIZES_OF: Mapping[str, list[str]] = {
    size.name: [name for family in registry.FAMILIES if size.name in family.sizes for name in family.benchmarks]
    for size in SIZES
}
"""The benchmarks that have a size, by the name of the size. Other families may have an axis of that name."""


_OMITTED = {*USUAL_VALUES} - {*_SIZES_OF}


def with_keys(launches: pd.DataFrame, sizes: Sequence[str] = ()) -> pd.DataFrame:
    """The launches with columns that name cases: an axis that is a size of a row's family has its usual value there.

    Calibration found the sizes, so they name no case. sizes: the columns that keep their values nevertheless.
    """
    neutral = {
        axis.name: launches[axis.name].mask(launches["benchmark"].isin(_SIZES_OF[axis.name]), axis.usual)
        for axis in registry.AXES
        if axis.name in _SIZES_OF and axis.name in launches and axis.name not in sizes
    }
    keyed: pd.DataFrame = launches.assign(**neutral)
    return keyed


def numbered(table: pd.DataFrame, key: Sequence[str]) -> tuple[Integers, pd.DataFrame]:
    """The number of each row's key, and the keys by number. Keys are numbered in the order in which they appear."""
    number = np.zeros(len(table), np.int64)
    for name in key:  # one column at a time: pd.groupby holds the codes of all columns at once
        codes, values = pd.factorize(table[name], use_na_sentinel=False)
        if len(values) > 1:
            number = pd.factorize(number * len(values) + codes)[0]
    first = np.unique(number, return_index=True)[1]
    return number, table[list(key)].iloc[first].reset_index(drop=True)


def scaled(values: Floats, metric: Metric) -> Floats:
    """Values on a scale on which effects are differences: logarithms for a ratio. NaN where no effect can be formed."""
    known = metric.has_effect(values)
    found = np.full(values.shape, np.nan)
    found[known] = np.log(values[known]) if metric.ratio else values[known]
    return found


# Arrow's own allocator does not give memory back: comparing a million points would take half as much memory again.
pa.set_memory_pool(pa.system_memory_pool())

_SCHEMA = pa.schema([(name, _type_of(name)) for name in (*COLUMNS, _METHOD)])


def launch_table(
    chosen: Iterable[Path],
    tell: Callable[[int, int], object] = lambda _done, _total: None,
    kept: KeptLaunches | None = None,
    loaded: Run | None = None,
    *,
    every_method: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """The launches of run folders, with those of COLUMNS that they have, texts as categories; and a line about
    everything that cannot be read.

    The other runs are read all the same. The names of runs and systems are those of their folders in the archive.
    Numbers of different methods are never compared: of each benchmark only what the newest method measured is there.
    every_method: what older methods measured is there too, until `of_newest_methods` leaves it out.  tell: is called
    with the number of runs that are read, and of all.  kept: where launches that are computed from records are kept, so
    that the next time they are read.  loaded: one of the runs, if it was read already.
    """
    folders = list(chosen)
    tables, problems = [], []
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # most of the work is done outside of Python's lock
        tell(0, len(folders))
        found = pool.map(partial(_launches_or_problem, kept=kept, loaded=loaded), folders)
        for folder, (table, unread) in zip(folders, found, strict=True):
            tables.append(table)
            tell(len(tables), len(folders))
            problems += [f"{clean(folder.name)}: {problem}" for problem in unread]
    table = _as_launches(tables)
    pa.default_memory_pool().release_unused()  # what the threads needed to read the runs
    if every_method:
        return table, problems
    table, older = of_newest_methods(table)
    return table, [*problems, *older]


def of_newest_methods(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The launches of each benchmark that its newest method measured, and a line about those of older ones. The table
    is of `launch_table` with every method."""
    newest = table.groupby("benchmark", observed=True)[_METHOD].transform("max")
    old = table[_METHOD] < newest
    lines = []
    for benchmark, rows in table[old].groupby("benchmark", observed=True):
        runs = sorted(map(str, rows["run"].unique()))
        methods = " and ".join(str(one or "unknown") for one in sorted(rows[_METHOD].unique()))
        lines.append(
            f"{benchmark} of {', '.join(runs[:3])}{' and others' * (len(runs) > 3)} is left out: it was measured by "
            f"method {methods}, and is not compared with method {newest[rows.index[0]]}"
        )
    kept = table.drop(columns=_METHOD) if not lines else table[~old].drop(columns=_METHOD)
    return kept, lines


def _launches_or_problem(
    folder: Path, kept: KeptLaunches | None, loaded: Run | None
) -> tuple[pa.Table, tuple[str, ...]]:
    try:
        return _run_launches(folder, kept, loaded)
    except RecordError as error:
        return _SCHEMA.empty_table(), (str(error),)


def _as_launches(tables: list[pa.Table]) -> pd.DataFrame:
    """Tables as one. The list is emptied, so that a year of nightly runs is not in memory twice."""
    joined = _as_one(tables).unify_dictionaries()
    tables.clear()
    table: pd.DataFrame = joined.to_pandas(split_blocks=True, self_destruct=True)
    return table


def _as_one(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables, each with some columns of _SCHEMA, as one with the columns that any of them has."""
    had = set[str]().union(*(table.column_names for table in tables if table.num_rows))
    schema = pa.schema([field for field in _SCHEMA if field.name in had or not had])
    return pa.concat_tables([schema.empty_table(), *(_in_schema(table, schema) for table in tables if table.num_rows)])


class _Folder:
    """A run folder. Its records are read once, and only where its archived tables do not tell enough."""

    def __init__(self, path: Path, loaded: Run | None) -> None:
        self.path = path
        self.partial = path.parent.name == ".partial"
        self.loaded = loaded

    @property
    def system(self) -> str:
        return self.path.parent.parent.name if self.partial else self.path.parent.name

    @property
    def run(self) -> Run:
        """Raises RecordError."""
        if self.loaded is None:
            self.loaded = load_run(self.path)
        return self.loaded


def _run_launches(path: Path, kept: KeptLaunches | None, loaded: Run | None) -> tuple[pa.Table, tuple[str, ...]]:
    """The launches of one run, with columns of _SCHEMA, and a line about each record that is not read or left out.

    They come from the archived tables, whose checksums are checked. Where the tables lack a column, because an older
    version wrote them, or where the run is not complete, they come from the records. Cases that failed are left out,
    and what was simulated.
    Raises RecordError where neither can be read, or the tables are not those of a run.
    """
    folder = _Folder(path, loaded if loaded is not None and loaded.path == path else None)
    if kept is not None and not folder.partial and (found := kept.read(path)) is not None:
        return found
    failed = _failed(path)
    launches = Counter((without_repeat(label), reason) for label, reason in failed.values())
    problems = tuple(
        f"{case} is left out{f' in {count} launches' * (count > 1)}, it failed: {reason}"
        for (case, reason), count in launches.items()
    )
    names = {"system": folder.system, "run": path.name}
    methods = methods_of(path)
    parts = []
    for family, part in _parts(folder, ["record", "failed"] if failed else []):
        possible, impossible = _possible(_with_soundness(_without(part, failed)), family)
        if impossible:
            problems += (f"{impossible} of {family.name} cannot be, such as infinite times: not valid",)
        if part.num_rows:
            parts.append(_with_methods(_told(possible, _benchmark(family) | names), methods))
    if folder.loaded is not None:
        problems = (*problems, *folder.run.problems, *registry.problems(folder.run))
    joined = _as_one(parts)
    measured = _without_simulated(joined)
    if measured.num_rows < joined.num_rows:
        problems = (*problems, "what was simulated is left out: simulated times are not compared")
    if kept is not None and not folder.partial and folder.loaded is not None:
        kept.keep(path, measured, problems)
    return measured, problems


def _without_simulated(table: pa.Table) -> pa.Table:
    """The rows of a table that no simulator made."""
    networks = table["network"]
    if not any(SIMULATED in chunk.dictionary.to_pylist() for chunk in networks.chunks):
        return table
    return table.filter(pc.not_equal(networks.cast(pa.string()), SIMULATED))


def _benchmark(family: Family) -> dict[str, str]:
    """The name of a family's benchmark, as {"benchmark": name}; empty where its table has that column."""
    return {} if any(axis.name == "benchmark" for axis in family.axes) else {"benchmark": family.benchmarks[0]}


def _parts(folder: _Folder, needed: Sequence[str]) -> Iterator[tuple[Family, pa.Table]]:
    """Yield each family that has launches, and its launches. Raises RecordError.

    needed: columns that archived tables must have beside those of launches. Tables without them are of an older
    version, which compared with a `basic` that failed as with any other.
    """
    for family in registry.FAMILIES:
        launches = family.launches
        if launches is None or not _may_have(folder, family, launches):
            continue
        more = [name for name in needed if name in family.columns]
        tables = None if folder.partial else _tables(folder.path, launches, more)
        if tables is None:
            rows = launches.of_table(registry.found(folder.run, family).table)
            own = (
                *(axis.name for axis in family.axes),
                *family.sizes,
                *(metric.name for metric in family.metrics),
                *STATE_OF_POINTS,
                "record",
            )
            columns = [name for name in own if name in rows]
            yield family, pa.Table.from_pandas(rows[columns], preserve_index=False)
        else:
            yield family, launches.of_files(folder.path.name, tables)


def methods_of(run: Path) -> dict[str, int]:
    """The number of the method of each benchmark in a run folder, by its first record. A record is opened only where
    its name does not tell that its benchmark is known already."""
    methods: dict[str, int] = {}
    for record in record_files(run / "records"):
        named = max((name for name in registry.BY_BENCHMARK if name in record.name), key=len, default="")
        if named in methods:
            continue
        try:
            with record.open(encoding="utf-8") as lines:
                header = json.loads(lines.readline())
            methods.setdefault(str(header["benchmark"]), min(int(header["method"]), _LARGEST_METHOD))
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            continue  # whoever reads the record says so
    return methods


def _with_methods(part: pa.Table, methods: Mapping[str, int]) -> pa.Table:
    """The rows with the number of their benchmark's method, 0 where it is not known."""
    names = part["benchmark"].cast(pa.string()).to_pandas()
    return part.append_column(_METHOD, pa.array(names.map(methods).fillna(0).to_numpy(np.int64)))


def _may_have(folder: _Folder, family: Family, launches: Launches) -> bool:
    """Whether a run may have launches of a family: it has tables of the family, or records whose names are of it.

    Families that write empty tables too may always have launches.
    """
    always = any(file.even_empty for file in family.files)
    if always or folder.loaded is not None or any((folder.path / name).exists() for name in launches.columns):
        return True
    records = record_files(folder.path / "records")
    return any(name in record.name for name in family.benchmarks for record in records)


def _without(part: pa.Table, failed: Iterable[str]) -> pa.Table:
    """The rows that are not of failed records. Raises RecordError."""
    if not failed:
        return part
    return part.filter(pc.invert(pc.is_in(part["record"].cast(pa.string()), pa.array(failed, pa.string()))))


def _with_soundness(part: pa.Table) -> pa.Table:
    """The rows with the column `sound` of `STATE`."""
    reasons = part["unreliable_reasons"].cast(pa.list_(pa.string())).combine_chunks()
    amiss = np.zeros(part.num_rows, dtype=bool)
    other = pc.invert(pc.match_substring(pc.list_flatten(reasons), TOO_WIDE)).to_numpy(zero_copy_only=False)
    amiss[pc.list_parent_indices(reasons).to_numpy()[other]] = True
    return part.append_column("sound", pa.array(part["valid"].to_numpy() & ~amiss))


def _possible(part: pa.Table, family: Family) -> tuple[pa.Table, str]:
    """The rows without numbers that no measurement gives, whose launches are not valid; and how many points have them,
    in words."""
    wrong = np.zeros(part.num_rows, dtype=bool)
    for name in (metric.name for metric in family.metrics if metric.name in part.column_names):
        values = part[name].cast(pa.float64(), safe=False).to_numpy()
        beyond = np.abs(values) > LONGEST_NS
        if beyond.any():
            part = part.set_column(part.column_names.index(name), name, pa.array(values, mask=beyond))
            wrong |= beyond
    for name in ("valid", "sound") if wrong.any() else ():
        good = pc.and_(part[name], pa.array(~wrong))
        part = part.set_column(part.column_names.index(name), name, good)
    return part, plural(int(wrong.sum()), "point") if wrong.any() else ""


def _told(part: pa.Table, values: Mapping[str, str]) -> pa.Table:
    """Those columns of _SCHEMA that say something of these rows. Raises RecordError.

    values: columns that have one value in all rows.
    """
    columns = {}
    for field in _SCHEMA:
        if field.name in values:
            columns[field.name] = _everywhere(part.num_rows, field.type, values[field.name])
        elif field.name in part.column_names:
            columns[field.name] = _column(part[field.name], field)
    return pa.table({name: column for name, column in columns.items() if not _is_usual(name, column)})


def _column(column: Any, field: pa.Field) -> Any:
    """A column as its field in _SCHEMA has it. Raises RecordError."""
    try:
        if column.type != field.type and field.name in WORDS:
            column = column.cast(pa.string()).dictionary_encode()
        return column.cast(field.type)
    except pa.ArrowException as error:
        fail("points.parquet", clean(" ".join(str(error).split()))[:200])


def _is_usual(name: str, column: Any) -> bool:
    """Whether a column says nothing: a metric without a value, an axis with its usual value everywhere."""
    if column.null_count == len(column):
        return name in _OMITTED or name in registry.METRICS
    return name in _OMITTED and column.unique().to_pylist() == [USUAL_VALUES[name]]


def _in_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with all columns of a schema."""
    rows = table.num_rows

    def column(field: pa.Field) -> Any:
        if field.name in table.column_names:
            return table[field.name]
        usual = _AXES[field.name].usual if field.name in _AXES else None
        return pa.nulls(rows, field.type) if usual is None else _everywhere(rows, field.type, usual)

    return pa.table([column(field) for field in schema], schema=schema)


def _everywhere(rows: int, kind: Any, value: Any) -> Any:
    """A column with one value in all rows."""
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value], pa.string()))
    return pa.array(np.full(rows, value), kind)


def _failed(folder: Path) -> dict[str, tuple[str, str]]:
    """`failed_records` of a run folder. Raises RecordError."""
    try:
        return failed_records(_manifest(folder))
    except RecordError:
        if folder.parent.name == ".partial":
            return {}  # an unfinished run may have no manifest yet: its records are read
        raise


def _tables(folder: Path, launches: Launches, needed: Sequence[str]) -> list[pa.Table] | None:
    """The archived tables of a run with the columns of launches; None where one is missing or of an older version.

    needed: columns that the first table must have too. Raises RecordError.
    """
    checksums = _checksums(folder)
    tables: list[pa.Table] = []
    for name, of_launches in launches.columns.items():
        columns = of_launches if tables else tuple(dict.fromkeys((*of_launches, *needed)))
        try:
            data = (folder / name).read_bytes()
            expected = checksums.get(name)
            if expected not in (None, "sha256:" + hashlib.sha256(data).hexdigest()):
                fail(name, "not the file that was archived: its checksum differs")
            source = pa.BufferReader(data)
            metadata = pq.read_metadata(source)
            schema = metadata.schema.to_arrow_schema()
            if set(columns) - set(schema.names):
                return None
            _check_types(name, schema, columns)
            source.seek(0)
            texts = [
                column for column in columns if column in WORDS and not pa.types.is_null(schema.field(column).type)
            ]
            file = pq.ParquetFile(source, metadata=metadata, read_dictionary=texts)
            tables.append(file.read(list(columns), use_threads=False))  # runs are read in threads
            for column in columns:
                if tables[-1][column].null_count and column not in registry.METRICS:
                    fail(name, f"{column} has no value somewhere")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeError, pa.ArrowException) as error:
            fail(name, clean(" ".join(str(error).split()))[:200])
    return tables


def _checksums(folder: Path) -> dict[str, Any]:
    """The checksums in a run's manifest, by file. Raises RecordError."""
    checksums = _manifest(folder).get("checksums") or {}
    if not isinstance(checksums, dict):
        fail("manifest.json", "its checksums are of another type")
    return checksums


def _manifest(folder: Path) -> dict[str, Any]:
    """A run's manifest; empty where there is none. Raises RecordError where the file is no manifest, or of a newer
    version."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        fail("manifest.json", f"cannot be read: {clean(error)}")
    if not isinstance(manifest, dict):
        fail("manifest.json", "is not a manifest")
    version = manifest.get("schema_version")
    if type(version) is int and version > MANIFEST_VERSION:
        fail("manifest.json", f"schema version {version} is newer than {MANIFEST_VERSION}, the newest that this reads")
    return manifest


def _check_types(name: str, schema: pa.Schema, columns: Sequence[str]) -> None:
    """Raise RecordError where a column is not of the type that it has in a run's tables."""
    for column in columns:
        kind = schema.field(column).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        is_text = column in WORDS or column in ("record", "failed")
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        boolean = pa.types.is_boolean(kind)
        others = number if column in COLUMNS else number or boolean  # a family may have truth values of its own
        is_legal = text if is_text else boolean if column in STATE else others
        if pa.types.is_list(kind):  # reasons, which are texts
            is_legal = column not in COLUMNS and pa.types.is_string(kind.value_type)
        if not is_legal and not pa.types.is_null(kind):  # null: a table without rows
            fail(name, f"{column} is of type {clean(kind)}, which is not that of a run's tables")
