"""`mpi_impact` and `compute_alone` by hand and in turn, whole and broken on purpose; one real run of both."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from mpi_campaign.launching import impact_launches
from mpi_campaign.launching.impact_launches import Schedule
from postprocess.families.mpi_impact.record import COMPUTE_ALONE, MPI_IMPACT, load_impact
from postprocess.families.mpi_impact.table import impact_table
from postprocess.records.fields import lines_of
from postprocess.records.reading import validate_lines
from tests.support import Command, check_record, launch, launch_line

pytestmark = pytest.mark.beside_others

PROGRAMS = (MPI_IMPACT, COMPUTE_ALONE)
SHORT = ("--comp-times", "1ms,4ms")


def words_of(schedule: Schedule) -> list[str]:
    return list(schedule.launches)


@pytest.mark.parametrize(
    ("budget", "shortest", "pairs"),
    [(0.0, 3.0, 6), (1000.0, 3.0, 12), (100.0, 3.0, 7), (60.0, 3.0, 6), (20.0, 3.0, 2), (1.0, 3.0, 2), (0.001, 3.0, 2)],
)
def test_a_budget_buys_more_launches_before_longer_ones(budget: float, shortest: float, pairs: int) -> None:
    schedule = Schedule.within(budget, shortest)
    assert schedule.pairs == pairs
    assert schedule.seconds == 0 or schedule.seconds >= shortest
    if budget >= 20:
        assert 2 * pairs * (schedule.seconds + impact_launches.START_SECONDS) <= budget + 1e-6


def test_programs_take_turns_so_that_each_is_first_as_often_as_second() -> None:
    order = words_of(Schedule(4, 1.0))
    assert order[:4] == [MPI_IMPACT, COMPUTE_ALONE, COMPUTE_ALONE, MPI_IMPACT]
    pairs = list(zip(order[::2], order[1::2], strict=True))
    assert all(set(pair) == set(PROGRAMS) for pair in pairs)
    assert [pair[0] for pair in pairs].count(MPI_IMPACT) == 2


def test_a_program_that_never_ends_is_ended(tmp_path: Path) -> None:
    (tmp_path / COMPUTE_ALONE).write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / COMPUTE_ALONE).chmod(0o755)
    programs = impact_launches.Programs(tmp_path, ("env",), time.monotonic() + 0.1)
    with pytest.raises(impact_launches.LaunchError, match="compute_alone: it hung, and was ended"):
        programs.run(COMPUTE_ALONE, [])


@pytest.mark.slow
class TestPrograms:
    """Under a real launcher."""

    pytestmark = pytest.mark.needs("mpi")

    @pytest.fixture(scope="class")
    def sizes(self, built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
        path = tmp_path_factory.mktemp("sizes") / "sizes.txt"
        done = launch(built / MPI_IMPACT, *SHORT, "--threads", "1", "--save-sizes", str(path), "--calibrate-only")
        assert done.returncode == 0, done.stderr
        return path

    @pytest.fixture(scope="class")
    def like(self, built: Path, sizes: Path) -> Path:
        """What the launch says that left mpi.jsonl."""
        like, record = sizes.with_name("like.txt"), sizes.with_name("mpi.jsonl")
        options = ("--threads", "1", "--sizes", str(sizes), "--seconds", "0.2", "--quiet", "--record", str(record))
        done = launch(built / MPI_IMPACT, *SHORT, *options, "--save-like", str(like))
        assert done.returncode == 0, done.stderr
        return like

    def in_turn(self, built: Path, tmp_path: Path, *words: str, **changed: str) -> subprocess.CompletedProcess[str]:
        """The launches of a case, as the campaign starts them."""
        line, environment = launch_line(built / MPI_IMPACT)
        options = {"programs": str(built), "launcher": shlex.join(line[:-1]), "record": str(tmp_path / "record.jsonl")}
        options |= {"comp-times": "1ms,4ms", "budget-seconds": "1"}
        given = [f"--{name}={value}" for name, value in {**options, **changed}.items()]
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.run(
            [sys.executable, "-m", "mpi_campaign.launching.impact_launches", *given, "--", "--threads", "1", *words],
            capture_output=True, text=True, check=False, timeout=240, env=environment,
        )  # fmt: skip

    def test_one_is_linked_without_mpi_and_the_other_with_it(self, built: Path) -> None:
        def libraries(program: str) -> str:
            return subprocess.run(["ldd", built / program], capture_output=True, text=True, check=True).stdout

        assert "libmpi" in libraries(MPI_IMPACT)
        assert "libmpi" not in libraries(COMPUTE_ALONE)
        for library in ("libgomp", "openblas"):
            assert (library in libraries(MPI_IMPACT)) == (library in libraries(COMPUTE_ALONE))
        symbols = subprocess.run(["nm", "-D", built / COMPUTE_ALONE], capture_output=True, text=True, check=True).stdout
        assert "MPI_" not in symbols
        assert "dgemm" in symbols

    def test_both_do_the_same_on_the_same_cpus(self, built: Path, like: Path, tmp_path: Path) -> None:
        done = launch(built / COMPUTE_ALONE, "--like", str(like), "--record", str(tmp_path / "alone"))
        assert done.returncode == 0, done.stderr
        header, *points = [value for _, value in lines_of(like.with_name("mpi.jsonl"))][:-1]
        assert header is not None
        validate_lines(like.with_name("mpi.jsonl"))
        for rank in range(2):
            path = tmp_path / f"alone.{rank}"
            validate_lines(path)
            process, *own = [value for _, value in lines_of(path)][:-1]
            assert process is not None
            assert process["compute_cpusets"] == header["placement"][rank]["compute_cpusets"]
            for one, other in zip(points, own, strict=True):
                assert one is not None
                assert other is not None
                assert one["parameters"] == other["parameters"]
                times, others = one["rank_samples"]["t_comp_ns"][rank], other["rank_samples"]["t_comp_ns"][0]
                assert len(times) == len(others) == one["repetitions"] == other["repetitions"]
        assert not list(tmp_path.glob("*.ready"))

    def test_launches_in_turn_make_one_record(self, built: Path, tmp_path: Path) -> None:
        done = self.in_turn(built, tmp_path, "--toolchain", "mpich@5.0.2", **{"save-sizes": str(tmp_path / "s.txt")})
        assert done.returncode == 0, done.stderr
        check_record(tmp_path / "record.jsonl")
        record = load_impact(tmp_path / "record.jsonl")
        assert record.complete
        assert record.header.toolchain == "mpich@5.0.2"
        assert record.computation == "dgemm"
        assert [one.program for one in record.launches] == words_of(Schedule(len(record.launches) // 2, 1.0))
        table = impact_table([record])
        assert list(table["comp_target_ns"]) == [1_000_000, 4_000_000]
        assert (table["r_mpi_impact"] > 0).all()
        assert (table["pairs"] >= 2).all()

    def test_a_hang_says_where_each_rank_is_and_closes_the_record(self, built: Path, tmp_path: Path) -> None:
        """What is not over within its limit: here a launch that computes for seconds."""
        sizes = tmp_path / "s.txt"
        long = ("--comp-times", "300ms", "--threads", "1", "--save-sizes", str(sizes), "--calibrate-only")
        assert launch(built / MPI_IMPACT, *long).returncode == 0
        limited = {"sizes": str(sizes), "comp-times": "300ms", "budget-seconds": "100", "limit-seconds": "2"}
        done = self.in_turn(built, tmp_path, **limited)
        assert done.returncode == 1
        for rank in range(2):
            assert f"mpi_impact: rank {rank} hangs in the computation" in done.stderr

    def test_another_computation(self, built: Path, tmp_path: Path) -> None:
        done = self.in_turn(built, tmp_path, "--computation", "triad", **{"save-sizes": str(tmp_path / "s.txt")})
        assert done.returncode == 0, done.stderr
        assert load_impact(tmp_path / "record.jsonl").computation == "triad"

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (["--calibrate-only"], "--save-sizes"),
            (["--comp-times", "1ns"], "no size of the computation"),
        ],
    )
    def test_wrong_use_is_one_line(self, built: Path, words: list[str], says: str) -> None:
        done = launch(built / MPI_IMPACT, *words)
        assert done.returncode == 2, done.stderr
        lines = [line for line in done.stderr.splitlines() if line.startswith("mpi_impact:")]
        assert len(lines) == 1, done.stderr
        assert says in lines[0]

    def test_sizes_that_are_wrong_are_refused(self, built: Path, sizes: Path, tmp_path: Path) -> None:
        wrong = tmp_path / "wrong.txt"
        wrong.write_text(sizes.read_text().replace("ranks 2", "ranks 7"))
        done = self.in_turn(built, tmp_path, sizes=str(wrong))
        assert done.returncode == 1
        assert [line for line in done.stderr.splitlines() if line.startswith("mpi_impact:") and "7 ranks" in line]
        assert not (tmp_path / "record.jsonl").exists()

    def test_a_program_that_is_not_there_fails_with_what_was_measured(
        self, built: Path, sizes: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / "programs"
        folder.mkdir()
        (folder / MPI_IMPACT).symlink_to(built / MPI_IMPACT)
        done = self.in_turn(built, tmp_path, sizes=str(sizes), programs=str(folder))
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith(f"mpi_impact: there is no program {folder / COMPUTE_ALONE}")
        record = load_impact(tmp_path / "record.jsonl")
        assert len(record.launches) == 1
        assert str(COMPUTE_ALONE) in record.incomplete

    def test_a_process_that_is_killed_ends_the_launch(self, built: Path, like: Path, tmp_path: Path) -> None:
        slow = tmp_path / "slow.txt"
        slow.write_text(re.sub(r"(?m)^(target .*) \d+ (\d+)$", r"\1 100000 \2", like.read_text()))
        line, environment = launch_line(built / COMPUTE_ALONE, "--like", str(slow), "--record", str(tmp_path / "alone"))
        with subprocess.Popen(line, env=environment, stderr=subprocess.PIPE, text=True) as launcher:
            victim = self.wait_for_process(tmp_path / "alone.1", launcher)
            os.kill(victim, signal.SIGKILL)
            launcher.communicate(timeout=120)
        assert launcher.returncode != 0

    def wait_for_process(self, record: Path, launcher: "subprocess.Popen[str]") -> int:
        """The process id of the one that has this record open."""
        for _ in range(600):
            assert launcher.poll() is None
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if any(link.resolve() == record for link in (process / "fd").iterdir()):
                        return int(process.name)
                except OSError:
                    continue
            time.sleep(0.1)
        raise AssertionError(f"nobody opened {record}")

    def test_a_process_that_never_comes_is_named(self, built: Path, like: Path, tmp_path: Path) -> None:
        words = ["--like", str(like), "--record", str(tmp_path / "alone"), "--rank", "0", "--wait-seconds", "0.3"]
        done = subprocess.run([built / COMPUTE_ALONE, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "process 1, one of 2 of this host, did not get ready" in done.stderr
        assert not list(tmp_path.glob("*.ready"))

    def test_alone_refuses_what_it_cannot_do_alike(self, built: Path, like: Path, tmp_path: Path) -> None:
        def refused(*words: str, **env: str) -> str:
            without = {name: value for name, value in os.environ.items() if not name.endswith("RANK")}
            line = [str(built / COMPUTE_ALONE), *words]
            done = subprocess.run(line, capture_output=True, text=True, check=False, env={**without, **env})
            assert done.returncode == 2, done.stderr
            (said,) = done.stderr.splitlines()
            assert said.startswith("compute_alone: ")
            return said

        record = ("--record", str(tmp_path / "alone"))
        cut, moved = tmp_path / "cut.txt", tmp_path / "moved.txt"
        cut.write_text(like.read_text()[:-3])
        moved.write_text(re.sub(r"(?m)^rank (\d+) .*$", r"rank \1 8191", like.read_text()))
        assert "--like FILE" in refused()
        assert "no launcher says" in refused("--like", str(like), *record)
        assert "of 2 ranks" in refused("--like", str(like), *record, PMI_RANK="2")
        named = ("--rank-variables", "MY_RANK,OTHER_RANK")
        assert "no launcher says" in refused("--like", str(like), *record, *named, MY_RANK="none")
        assert "of 2 ranks" in refused("--like", str(like), *record, *named, OTHER_RANK="2", PMI_RANK="0")
        assert "cut off" in refused("--like", str(cut), *record, "--rank", "0")
        assert "is JSON" in refused("--like", str(like.with_name("mpi.jsonl")), *record, "--rank", "0")
        assert "/nonexistent" in refused("--like", str(like), "--record", "/nonexistent/x", "--rank", "0")
        assert "cannot be bound" in refused("--like", str(moved), *record, "--rank", "0")


@pytest.mark.slow
@pytest.mark.needs("mpi")
def test_a_run_measures_shows_and_reports_it(campaign: Command, inside: Command, tmp_path: Path) -> None:
    """The whole way: no other record is in the run."""
    done = campaign(
        "run", "--benchmark", "mpi_impact", "--toolchain", "mpich@5.0.2", "--configuration", "basic",
        "--configuration", "async", "--network", "shm", "--comp-time", "8ms", "--comp-time", "128ms",
        "--budget-seconds", "20", "--output", str(tmp_path), timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("local/2*")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["status"] == "complete"
    assert {case["result"] for case in manifest["cases"]} == {"pass"}
    records = sorted(folder.glob("records/*.jsonl"))
    assert len(records) == 2
    for record in records:
        check_record(record)
        assert load_impact(record).complete
    table = pd.read_parquet(folder / "impact.parquet")
    assert set(table["configuration"]) == {"basic", "async"}
    assert set(table["comp_target_ns"]) == {8_000_000, 128_000_000}
    busy = table.groupby("configuration")["progress_cpu_share"].max()
    assert busy["async"] > busy["basic"]  # MPICH's progress thread polls although there is nothing to do
    shown = inside("show", str(folder), "--impact")
    assert shown.returncode == 0, shown.stderr
    assert sum(line.startswith("mpich@") for line in shown.stdout.splitlines()) == len(table)
    assert len(json.loads(inside("show", str(folder), "--impact", "--json").stdout)) == len(table)
    assert "Impact of an idle library" in inside("show", str(folder)).stdout
    report = tmp_path / "report.html"
    words = ("report", str(folder), "-o", str(report), "--format", "svg")
    assert inside(*words).returncode == 0
    assert "Impact of an idle library" in report.read_text()
    assert list((tmp_path / "report-maps").glob("*mpact-on-every-computation*"))
