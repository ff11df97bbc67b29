"""A family of benchmarks is one entry of the registry: it has all that belongs to one, and nobody else names it."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from click.testing import CliRunner

from mpi_campaign import ROOT
from mpi_campaign.archive import rendering, run_folders
from mpi_campaign.commands import cli, verdicts
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS
from mpi_campaign.processes.progress import Progress
from mpi_campaign.running import ending
from mpi_campaign.toolchains import resolving
from postprocess.families import registry
from postprocess.families.axes import SIZES
from postprocess.families.family import Family
from postprocess.records import reading
from postprocess.records.description import descriptions
from postprocess.records.fields import Json, lines_of
from postprocess.records.fields_text import tables
from postprocess.records.reading import load_record
from postprocess.records.run import load_run
from postprocess.verdicts.launches import launch_table
from tests.archives import EVERY, archived, name_of
from tests.support import MPI, Command, copy_of_project

FAMILIES = pytest.mark.parametrize("family", registry.FAMILIES, ids=lambda one: str(one.name))

NOT_OF_A_CAMPAIGN: Mapping[str, str] = {"timing_selfcheck": "mpi_campaign/doctor/selfcheck.py"}
"""What no run of a campaign has, and what launches it instead of a ReFrame test."""
PROGRAMS_OF_OTHERS = ("peers",)

# Files that name a family without being its own: why.
ALLOWED: Mapping[str, str] = {
    "postprocess/families/registry.py": "one line per family",
    "postprocess/families/axes.py": "by family what a case can be asked to differ in, for planning, without pandas",
    "postprocess/quality/precision.py": "it is about what timing_selfcheck measures",
    "postprocess/quality/precision_plot.py": "the same", "postprocess/quality/precision_text.py": "the same",
    "mpi_campaign/doctor/examination.py": "the same", "mpi_campaign/doctor/measuring_precision.py": "the same",
    "mpi_campaign/doctor/selfcheck.py": "what launches timing_selfcheck",
    "mpi_campaign/doctor/busy_clock.py": "what reads the records of these launches",
    "mpi_campaign/launching/impact_launches.py": "what launches mpi_impact and compute_alone in turn",
    "mpi_campaign/planning/benchmarks/registry.py": "one line per benchmark",
    "mpi_campaign/planning/suite_rows.py": "which of their cases some suites have",
    "mpi_campaign/planning/suites.py": "which benchmarks a suite runs",
    "mpi_campaign/planning/checks.py": "where programs of others are looked for is an option of every run",
    "mpi_campaign/running/run.py": "programs of others are provided before a run",
    "mpi_campaign/commands/setup.py": "the same",
    "mpi_campaign/commands/runs.py": "the short forms of `show`",
    "mpi_campaign/standalone/programs.py": "which of them a program of one file can show, an entry each",
    "mpi_campaign/toolchains/spack/matrix.py": "a key of spack.yaml, for packages of others",
}  # fmt: skip


def named(tree: ast.Module) -> Iterator[str]:
    """The families that a module names: in an import of what is theirs, or in a text that is one's name or that of one
    of its benchmarks."""
    modules = {f"postprocess.families.{one.name}": one.name for one in registry.FAMILIES}
    words = {word: one.name for one in registry.FAMILIES for word in (one.name, *one.benchmarks)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
            yield from (
                family for module, family in modules.items() for one in inside if f"{one}.".startswith(f"{module}.")
            )
            yield from (words[one.name] for one in node.names if one.name in words and "families" not in node.module)
        elif isinstance(node, ast.Constant) and node.value in words:
            yield words[node.value]


def is_own(path: Path, family: str) -> bool:
    """Whether a file is one of a family's: its own name, or that of a folder that it lies in, begins with its name."""
    return any(part.startswith(family) for part in path.relative_to(ROOT).parts)


def strangers() -> dict[str, set[str]]:
    """Files that name families which they are not of."""
    found = {}
    for top in ("postprocess", "mpi_campaign", "reframe"):
        for path in sorted((ROOT / top).rglob("*.py")):
            there = {one for one in named(ast.parse(path.read_text(encoding="utf-8"))) if not is_own(path, one)}
            if there:
                found[str(path.relative_to(ROOT))] = there
    return found


def test_nobody_else_names_a_family() -> None:
    beside_basic = {"reframe/peers.py", "mpi_campaign/planning/benchmarks/peers.py"}  # they take its sizes
    found = {name: there for name, there in strangers().items() if name not in beside_basic}
    assert {name: there for name, there in found.items() if name not in ALLOWED} == {}


@FAMILIES
def test_the_papers_that_a_family_follows_are_in_the_citation_file(family: Family) -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    for paper in family.papers:
        (one,) = [one for one in cited if f": {one['title']}. " in paper]
        assert str(one["year"]) in paper and paper.endswith(one.get("doi", str(one["year"])))
        last_names = [author["family-names"] for author in one["authors"]]
        assert [name.split()[-1] for name in paper.partition(":")[0].split(", ")] == last_names


@FAMILIES
def test_a_family_has_all_that_belongs_to_one(family: Family) -> None:
    launched_by = ROOT / NOT_OF_A_CAMPAIGN.get(family.name, f"reframe/{family.name}.py")
    assert launched_by.is_file()
    if family.name not in PROGRAMS_OF_OTHERS:
        assert (ROOT / "benchmarks" / family.name).is_dir()
    if family.name not in NOT_OF_A_CAMPAIGN:
        assert (ROOT / "mpi_campaign" / "planning" / "benchmarks" / f"{family.name}.py").is_file()
        assert set(family.benchmarks) <= BENCHMARKS.keys()
    page = (ROOT / "docs" / "benchmarks" / f"{family.name}.md").read_text()
    assert page.startswith(f"# {family.name}\n")
    names = [*(one.name for one in family.metrics), *(one.name for one in family.files)]
    assert [name for name in names if f"`{name}`" not in page] == []


def _described(family: Family) -> set[str]:
    """The names of the fields and axes that the programs of a family describe."""
    own = [description for description in descriptions().values() if description.family == family.name]
    names = {option.parameter for description in own for option in description.options}
    fields = [
        field
        for description in own
        for fields in (
            description.header, *(getattr(kind, name) for kind in description.points for name in vars(kind)),
        )
        for field in fields
    ]  # fmt: skip
    while fields:
        field = fields.pop()
        names.add(field.name)
        fields += field.members
    return names


@FAMILIES
def test_every_column_of_a_table_is_explained(family: Family) -> None:
    every, *_ = tables().values()
    for file in family.files[:1]:
        columns = {**every["columns"], **tables().get(file.name, every)["columns"]}
        named = {name for names in columns for name in names.split(", ")} | _described(family)
        named |= set(re.findall(r"`([^`]+)`", " ".join(columns.values())))
        named |= {name.removesuffix("…") + other for name in named if name.endswith("…") for other in named}
        without_ends = {name: re.sub("_ci9[05]_(low|high)$", "", name) for name in family.columns}
        assert [name for name, short in without_ends.items() if not named & {name, short}] == []


@FAMILIES
def test_records_of_every_family_are_at_hand(family: Family) -> None:
    there = sorted((ROOT / "tests" / "data" / "records").glob("*.jsonl"))
    own = [path for path in there if load_record(path).family == family.name]
    assert own
    for path in own:
        registry.validate(path)
        assert registry.load(path, family).header.benchmark in family.benchmarks


def test_names_are_each_of_one_family() -> None:
    benchmarks = [name for family in registry.FAMILIES for name in family.benchmarks]
    metrics = [one.name for family in registry.FAMILIES for one in family.metrics]
    sections = [one.name for family in registry.FAMILIES for one in family.sections]
    files = [one.name for family in registry.FAMILIES for one in family.files]
    for names in (benchmarks, metrics, sections, files):
        assert len(set(names)) == len(names)
    planned = [name for name in benchmarks if name not in NOT_OF_A_CAMPAIGN]
    assert set(planned) == set(BENCHMARKS)


# Asks for an archived run with records of every family.


@FAMILIES
def test_a_table_has_the_columns_that_are_promised(family: Family, tmp_path: Path) -> None:
    run = load_run(archived(tmp_path, name_of(1), **EVERY).path)
    table = registry.found(run, family).table
    assert tuple(table.columns) == family.columns
    if family.launches is not None:
        launches = family.launches.of_table(table)
        axes = {*(one.name for one in family.axes), *family.sizes}
        assert axes | {one.name for one in family.metrics} <= {*launches.columns, "benchmark", "system"}


def test_archived_tables_have_the_launches_that_the_records_have(tmp_path: Path) -> None:
    folder = archived(tmp_path, name_of(1), **EVERY).path
    of_tables, no_problems = launch_table([folder])
    for table in folder.glob("*.parquet"):
        table.unlink()
    of_records, _ = launch_table([folder])
    assert not no_problems
    assert set(of_tables["benchmark"]) == {
        family.benchmarks[0] for family in registry.FAMILIES if family.launches is not None
    }
    order = [name for name in of_tables if name not in registry.METRICS]
    first, second = (
        one.astype(dict.fromkeys(order, str)).sort_values(order, ignore_index=True) for one in (of_tables, of_records)
    )
    pd.testing.assert_frame_equal(first, second)


def test_metrics_are_compared_on_sizes_and_states_that_there_are() -> None:
    for family in registry.FAMILIES:
        assert {name for one in family.metrics for name in one.same} <= {one.name for one in SIZES}
        named_by = family.launches.named_by if family.launches else ()
        assert set(named_by) - {"oversubscribed"} <= {one.name for one in registry.AXES}


def test_the_help_of_a_comparison_names_every_metric() -> None:
    page = CliRunner().invoke(verdicts.compare, ["--help"]).output
    assert set(re.findall(r"\w+", page)) >= set(registry.METRICS)


@pytest.fixture
def run(tmp_path: Path) -> str:
    return str(archived(tmp_path, name_of(1), **EVERY).path)


def shown(*words: str) -> str:
    done = CliRunner().invoke(cli.campaign, ["show", *words], catch_exceptions=False, standalone_mode=False)
    assert done.return_value == 0
    return done.output


def test_show_has_every_family_by_its_name_and_by_that_of_its_benchmarks(run: str) -> None:
    loaded = load_run(run)
    for family in registry.FAMILIES:
        for name in dict.fromkeys((family.name, *family.benchmarks)):
            table = registry.found(loaded, family).table
            if name != family.name and len(family.benchmarks) > 1:
                table = table[table["benchmark"] == name] if len(table) else table
            if table.empty:
                for words in (("--benchmark", name), ("--benchmark", name, "--json")):
                    with pytest.raises(CampaignError, match=f"has no record of {name}; it has nbc_overlap "):
                        shown(run, *words)
                continue
            text = shown(run, "--benchmark", name)
            assert not text.startswith("nothing")
            assert len(json.loads(shown(run, "--benchmark", name, "--json"))) == len(table)
    assert shown(run, "--impact") == shown(run, "--benchmark", "mpi_impact")
    assert shown(run, "--points").startswith(shown(run, "--benchmark", "nbc_overlap").rstrip("\n"))


def test_a_benchmark_that_there_is_not_is_refused_with_those_that_the_run_has(run: str) -> None:
    with pytest.raises(CampaignError) as told:
        shown(run, "--benchmark", "nothing")
    legal, _, has = str(told.value).removeprefix("there is no benchmark 'nothing'; there are: ").partition("has ")
    assert {name for family in registry.FAMILIES for name in family.benchmarks} - {"timing_selfcheck"} <= {
        *re.findall(r"\w+", legal)
    }
    assert "nbc_overlap (" in has and "imb_nbc" not in has
    with pytest.raises(CampaignError, match="ask for one of them"):
        shown(run, "--benchmark", "mpi_impact", "--peers")


def test_of_a_family_of_several_benchmarks_one_is_shown_alone(run: str) -> None:
    loaded = load_run(run)
    peers = registry.BY_NAME["peers"]
    whole = registry.found(loaded, peers)
    rows = [dict.fromkeys(peers.columns) | {"benchmark": name} for name in ("imb_nbc", "osu", "osu")]
    loaded.made[registry.found, "peers"] = type(whole)(loaded, (), pd.DataFrame(rows))
    assert len(json.loads(rendering.Points(loaded, peers, "osu").as_json())) == 2
    assert len(json.loads(rendering.Points(loaded, peers, "peers").as_json())) == 3


@pytest.mark.parametrize(
    "words",
    [("show",), ("show", "--json"), ("show", "--benchmark", "hybrid"), ("show", "--impact"), ("show", "--provenance")],
)
def test_a_command_reads_every_record_once(words: tuple[str, ...], run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = counted(monkeypatch)
    command, *rest = words
    CliRunner().invoke(cli.campaign, [command, run, *rest], catch_exceptions=False, standalone_mode=False)
    assert read == {path.name: 1 for path in Path(run, "records").glob("*.jsonl")}


def test_the_end_of_a_run_reads_every_record_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = archived(tmp_path, name_of(1), **EVERY)
    manifest = run_folders.read_manifest(folder)
    manifest.pop("checksums")
    folder.partial.parent.mkdir(exist_ok=True)
    folder.archived.rename(folder.partial)
    monkeypatch.setattr(signal, "signal", lambda *_given: None)
    read = counted(monkeypatch)
    assert ending.close(folder, manifest, Progress(6), (), interrupted=False) == 0
    assert read == {path.name: 1 for path in folder.records_folder.glob("*.jsonl")}
    again = load_run(folder.path)
    assert not again.problems
    assert again.manifest["status"] == "complete"
    assert again.manifest["seen"]["nodes"]
    assert {path.name for path in folder.path.glob("*.parquet")} == {
        file.name for family in registry.FAMILIES for file in family.files
    }
    assert folder.report.is_file()


def test_a_run_whose_answer_another_command_tells_has_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = archived(tmp_path, name_of(1))
    manifest = run_folders.read_manifest(folder)
    manifest.pop("checksums")
    folder.archived.rename(folder.partial)
    monkeypatch.setattr(signal, "signal", lambda *_given: None)
    assert ending.close(folder, manifest, Progress(5), (), interrupted=False, is_answered=True) == 0
    assert folder.archived.is_dir() and not folder.report.exists()
    assert f"run: {folder.path}" in capsys.readouterr().out


def test_a_run_with_a_whole_record_that_nobody_checked_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = archived(tmp_path, name_of(1))
    manifest = run_folders.read_manifest(folder)
    manifest.pop("checksums")
    folder.archived.rename(folder.partial)
    manifest["cases"][0]["result"] = "missing"
    monkeypatch.setattr(signal, "signal", lambda *_given: None)
    assert ending.close(folder, manifest, Progress(6), (), interrupted=True) == 130
    assert run_folders.read_manifest(folder)["status"] == "incomplete"
    assert folder.partial.is_dir() and not folder.archived.exists()


def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often each record is read from now on, by its name."""
    read: dict[str, int] = {}

    def counting(path: Path) -> Iterator[tuple[str, Json | None]]:
        read[path.name] = read.get(path.name, 0) + 1
        return lines_of(path)

    monkeypatch.setattr(reading, "lines_of", counting)
    return read


ONE_MORE = ROOT / "tests" / "one_more_family"
"""The places of a family of its own, `barrier_time`: its program, its ReFrame test, and what else belongs to one."""

# Its lines elsewhere: file, the line before which it stands, and the line.
LINES = (
    (
        "postprocess/families/registry.py",
        "from postprocess.records.parquet",
        "from postprocess.families.barrier_time.entry import BARRIER_TIME\n",
    ),
    ("postprocess/families/registry.py", "    TIMING_SELFCHECK,\n", "    BARRIER_TIME,\n"),
    (
        "mpi_campaign/planning/benchmarks/registry.py",
        "from mpi_campaign.planning.benchmarks.benchmark",
        "from mpi_campaign.planning.benchmarks.barrier_time import BARRIER_TIME\n",
    ),
    ("mpi_campaign/planning/benchmarks/registry.py", "    **PEERS,\n", '    "barrier_time": BARRIER_TIME,\n'),
    ("benchmarks/CMakeLists.txt", "    bind_rank\n", "    barrier_time\n"),
)
MOST_LINES = 225


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with one more family."""
    folder = copy_of_project(tmp_path_factory.mktemp("project"))
    for path in filter(Path.is_file, ONE_MORE.rglob("*")):
        place = folder / path.relative_to(ONE_MORE)
        place.parent.mkdir(parents=True, exist_ok=True)
        assert not place.exists(), "its places are its own"
        place.write_bytes(path.read_bytes())
    for name, before, line in LINES:
        text = (folder / name).read_text()
        assert text.count(before) == 1
        (folder / name).write_text(text.replace(before, line + before))
    return folder


def test_one_more_family_is_small() -> None:
    files = [path for path in ONE_MORE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sum(len(path.read_text().splitlines()) for path in files) + len(LINES) <= MOST_LINES


@pytest.fixture(scope="module")
def one_more(project: Path) -> dict[str, Any]:
    """What the copy makes of made-up records of the family."""
    done = subprocess.run(
        [sys.executable, "tests/follow_family.py", str(project / "followed")],
        cwd=project, env={**os.environ, "PYTHONPATH": str(project)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_one_more_family_is_shown_and_archived(one_more: dict[str, Any]) -> None:
    assert one_more["alone"].splitlines()[0].split() == ["toolchain", "network", "configuration", "barriers", "time"]
    assert "How long barriers take" in one_more["shown"] and "2 barriers" in one_more["shown"]
    assert [row["barriers"] for row in one_more["json"]] == [1, 2] * 3
    assert one_more["files"] == ["barrier_time.parquet", "points.parquet", "samples.parquet"]
    assert one_more["faults"] == ["manifest.json: no checksums: the run was never completed"]
    assert '<a href="#barrier-time">Barriers</a>' in one_more["report"]
    assert "<h2>Barriers</h2>" in one_more["report"]


def test_one_more_family_is_compared_on_its_own_axes(one_more: dict[str, Any]) -> None:
    assert not one_more["problems"]
    assert [(case["barriers"], case["verdict"]) for case in one_more["cases"]] == [(1, "slower"), (2, "slower")]
    assert {case["collective"] for case in one_more["cases"]} == {""}
    assert {case["barriers"] for case in one_more["others"]} == {0}
    assert "bars" in one_more["text"].split()
    assert not {"comm", "comp"} & set(one_more["text"].split())  # no case has a value on these
    assert "2 barriers" in one_more["text"]


def test_one_more_family_leaves_the_series_of_others_their_names(one_more: dict[str, Any]) -> None:
    assert {word.partition("=")[0] for key in one_more["keys"] for word in key} >= {"barriers", "toolchain"}
    assert one_more["old keys"]
    assert not any(word.startswith("barriers") for key in one_more["old keys"] for word in key)


@pytest.fixture(scope="module")
def in_the_copy(project: Path) -> Command:
    """Run `campaign ...` of the copy."""

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(project / ".venv" / "bin" / "python"), "-m", "mpi_campaign", *words],
            cwd=project, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return call


@pytest.mark.beside_others
@pytest.mark.slow
@pytest.mark.rare  # every other family runs so, too
@pytest.mark.needs("mpi")
def test_one_more_family_runs_from_end_to_end(in_the_copy: Command, project: Path, tmp_path: Path) -> None:
    """Its program is built, launched, judged, shown, reported, compared, and becomes a reference."""
    mpich = resolving.resolve(resolving.parse(MPI), print)
    asked = ["--benchmark", "barrier_time", "--network", "shm", "--toolchain", f"{MPI}={mpich.prefix}"]
    basic = ("--configuration", "basic")
    runs = []
    # References need three runs and a comparison two; only one of them needs every configuration.
    for words in (("--repeat", "2"), ("--repeat", "2", *basic), basic):
        done = in_the_copy("run", *asked, *words, "--budget-seconds", "20", "--output", str(tmp_path))
        assert done.returncode == 0, done.stdout + done.stderr
        runs.append(next(line for line in done.stdout.splitlines() if line.startswith("run: ")).removeprefix("run: "))
    cases = [(case["configuration"], case["result"]) for case in load_run(runs[0]).manifest["cases"]]
    assert sorted(cases) == [("async", "pass")] * 2 + [("basic", "pass")] * 2
    rows = json.loads(in_the_copy("show", runs[0], "--benchmark", "barrier_time", "--json").stdout)
    assert sorted(row["barriers"] for row in rows) == [1] * 4 + [100] * 4
    one, hundred = (
        [row["t_barriers_ns"] for row in rows if (row["barriers"], row["configuration"]) == (count, "basic")]
        for count in (1, 100)
    )
    assert 0 < max(one) < min(hundred)
    assert in_the_copy("results", "verify", runs[0]).returncode == 0
    page = tmp_path / "report.html"
    assert in_the_copy("report", runs[0], "-o", str(page)).returncode == 0
    assert "<h2>Barriers</h2>" in page.read_text()
    compared = in_the_copy("compare", runs[0], runs[1], "--metric", "t_barriers_ns", "--json")
    assert compared.returncode in (0, 1), compared.stderr  # 1: a noisy machine made one of them slower
    assert {case["barriers"] for case in json.loads(compared.stdout)["cases"]} == {1, 100}
    accepted = in_the_copy("baseline", *runs, "--output", str(tmp_path))
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    assert "t_barriers_ns" in (project / "systems" / "local" / "references.yaml").read_text()
