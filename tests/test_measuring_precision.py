"""`campaign figures`: a quick run for real, an interrupted one, wrong use; the stop rule beside the C program's own."""

import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mpi_campaign import ROOT
from mpi_campaign.doctor import disturbances, measuring_precision
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.settings import Impossible, Settings
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import resolving
from postprocess.families.timing_selfcheck.record import load_selfcheck
from postprocess.quality import precision, stop_rules
from tests.support import Command, launch, refused

pytestmark = pytest.mark.beside_others

MOST = 100


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--toolchain", "fastmpi"], "NAME@VERSION"),
        (["--out", "README.md"], "README.md"),
        (["--out", "benchmarks"], "there already"),
        (["--out", ""], "name a new or an empty folder"),
        (["--slow"], "--slow"),
        (["now"], "now"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_use_is_one_line_and_exit_code_2(inside: Command, words: list[str], says: str) -> None:
    refused(inside("figures", *words), says)


def test_a_page_without_a_place_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / measuring_precision.PAGE).write_text("# Prose\n")
    monkeypatch.setattr(measuring_precision, "DOCS", tmp_path)
    run = measuring_precision.Run(
        measuring_precision.QUICK, resolving.parse("openmpi@5.0.11"), tmp_path, ["./campaign", "figures"]
    )
    with pytest.raises(CampaignError, match="figures: begin"):
        run()
    assert sorted(path.name for path in tmp_path.iterdir()) == [measuring_precision.PAGE]


@pytest.mark.parametrize("given", [True, False])
def test_what_cannot_be_measured_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, given: bool
) -> None:
    def without_compiler() -> None:
        raise CampaignError("no compiler")

    monkeypatch.setattr(measuring_precision, "FOLDER", tmp_path / "figures")
    monkeypatch.setattr(machine, "compiler", without_compiler)
    out = tmp_path / "new" if given else None
    run = measuring_precision.Run(
        measuring_precision.QUICK, resolving.parse("openmpi@5.0.11"), out, ["./campaign", "figures"]
    )
    with pytest.raises(CampaignError, match="no compiler"):
        run()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("before", "meanwhile", "busy"), [(0.0, 0.0, False), (0.15, 0.0, True), (0.0, 0.028, True)])
def test_other_load_above_the_limit_of_the_doctor_is_said(
    monkeypatch: pytest.MonkeyPatch, *, before: float, meanwhile: float, busy: bool
) -> None:
    monkeypatch.setattr(measuring_precision, "LOAD_SECONDS", 0.0)
    load = measuring_precision._Load((0,))
    load.look()
    load.share_before, load.others_until_look = before, meanwhile
    load.until_look = disturbances.CpuTime(100, 0, 0)  # nothing stolen, whatever this machine had
    seen = load.seen()
    assert ("busy" in seen) == busy
    assert not busy or "more than 2.0 % disturbs" in seen["busy"]


@pytest.mark.parametrize("nodes", [True, False])
def test_without_nodes_only_what_needs_them_is_left_out(tmp_path: Path, *, nodes: bool) -> None:
    mpi = resolving.Toolchain("mpich@1", "mpich", "1", "prefix", "/p", "/p/bin/mpicc", "/p/bin/mpiexec")
    between = Settings(options=("-hosts", "node0,node1")) if nodes else Impossible("no namespaces")
    placement = Placement(1, 2, 1)
    program, truth = Path("/p/check"), Path("/p/truth")
    launches = measuring_precision.Launches(
        mpi, placement, Settings(), between, tmp_path, measuring_precision.WHOLE, program, truth
    )
    steps = list(launches.steps())
    records = [step.record.name for step in steps]
    assert len(records) == len(set(records))
    expected = {"launch": 11, "within": 3, "truth-within": 2, "series-500us": 2, "series-4ms": 2, "series-16ms": 1}
    expected |= {"between": 3, "truth-between": 2} if nodes else {}
    assert Counter(name.rpartition("-")[0] for name in records) == expected
    for step in steps:
        assert ("mpi_campaign.launching.nodes" in step.words) == ("between" in step.record.name)


@pytest.mark.rare
@pytest.mark.slow
@pytest.mark.needs("mpi")
def test_a_quick_run_leaves_records_tables_and_pictures(campaign: Command, tmp_path: Path) -> None:
    out = tmp_path / "new"
    done = campaign("figures", "--quick", "--out", str(out), timeout=900)
    if done.returncode == 1:  # a launch that hung on a machine under load is told, and the rest is there
        assert "campaign: " in done.stderr
    else:
        assert done.returncode == 0, done.stderr
    assert f"figures: {out / 'measurement.md'}" in done.stdout
    assert "launch 1 of 4" in done.stderr
    page = (out / "measurement.md").read_text()
    rows = re.findall(
        r"^\| residual, at once, (within a node|between nodes) \| ≤ .* \| (.*) \| .* \|$", page, re.MULTILINE
    )
    assert [where for where, _ in rows] == ["within a node", "between nodes"]
    for address in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page):
        assert ElementTree.parse(out / address).getroot().tag.endswith("svg")
    records = precision.load(out / "records")
    assert len(records.within) == 1
    assert len(records.launches) == 4
    refusal = machine.nodes_refusal()
    assert records.no_nodes == (refusal or "")
    if refusal is None and done.returncode == 0:
        (between,) = records.between
        assert between.header.nodes == 2
        assert between.clock is not None
        assert between.clock.clocks == 2
        assert {one.where for one in records.truths} == {"within", "between"}
    else:
        assert refusal is None or refusal in page
    again = campaign("figures", "--quick", "--out", str(out))
    refused(again, "there already")


@pytest.mark.slow
@pytest.mark.rare
@pytest.mark.needs("mpi")
def test_an_interrupted_run_shows_what_there_is(tmp_path: Path) -> None:
    out = tmp_path / "new"
    words = [sys.executable, str(ROOT / "campaign"), "figures", "--quick", "--out", str(out)]
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.strip().startswith("2 of"):
                break
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "interrupted in launch 2" in errors
    assert "interrupted in launch 2" in (out / "measurement.md").read_text()
    assert (out / "records" / "launch-01.jsonl").is_file()


@pytest.mark.slow
@pytest.mark.needs("mpi")
@pytest.mark.parametrize("width", [0.01, 0.05])
def test_the_program_stops_where_its_twin_does(built: Path, tmp_path: Path, width: float) -> None:
    record = tmp_path / "record.jsonl"
    words = ("--only", "work", "--targets", "300us,1ms", "--interval", str(width), "--max-repetitions", str(MOST))
    done = launch(built / "timing_selfcheck", *words, "--threads", "1", "--record", str(record))
    assert done.returncode == 0, done.stderr
    stopped = [work for work in load_selfcheck(record).works if work.stop_reason in ("interval", "repetitions")]
    assert stopped or "unreachable" in record.read_text()
    for work in stopped:
        count, interval = len(work.samples_ns) + work.warmup_repetitions, work.stop_reason == "interval"
        if interval:
            assert count in set(stop_rules.looks(count)) or count >= MOST
            assert stop_rules.outlived(count, work.warmup_repetitions)
            assert stop_rules.settled(work.samples_ns, width)
        else:
            assert len(work.samples_ns) >= MOST
        if work.warmup_repetitions == 0:  # otherwise the record has not all that the program saw
            stop = stop_rules.adaptive(work.samples_ns, 0, width, MOST)
            assert stop is not None
            assert (stop.end, stop.reached) == (count, interval)
