"""End to end on real MPI libraries: run, archive, show, report; and everything that can interrupt it."""

import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT, STATE
from mpi_campaign.__main__ import answer
from mpi_campaign.archive import run_folders
from mpi_campaign.networks import registry as networks
from mpi_campaign.processes import guard
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import resolving
from mpi_campaign.verdicts.answering import LIBRARIES
from tests.postprocess.test_postprocess_report import Page
from tests.support import Command, check_record, ignoring, refused, run_path, running

pytestmark = [pytest.mark.slow, pytest.mark.beside_others, pytest.mark.needs("mpi"), pytest.mark.timeout(900)]

# The smallest map there is, and one of three points.
POINT = ("--comm-time", "8ms", "--comp-time", "8ms")
ROW = ("--comm-time", "8ms")
QUICK = ("--collective", "ibcast", *POINT, "--budget-seconds", "24")
FIELDS = {
    "benchmark", "collective", "toolchain", "configuration", "network", "ranks", "comm_target_ns", "comp_target_ns",
    "message_bytes", "t_comm_ref_ns", "t_comp_ref_ns", "t_measured_ns", "r_overhead", "r_overhead_ci95",
    "r_overhead_vs_basic", "speedup_vs_basic", "r_comm", "r_comp_slowdown", "repetitions", "valid", "reliable",
    "oversubscribed", "shared_core",
}  # fmt: skip


def points(run: Path) -> list[dict[str, Any]]:
    with redirect_stdout(io.StringIO()) as shown:
        assert answer(["show", str(run), "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(shown.getvalue())
    return found


# What a shell or a site's modules may set, and what would place threads where no configuration wants them.
OF_A_SITE = {"OMP_PROC_BIND": "true", "OMP_PLACES": "{0}", "MPIR_CVAR_PROGRESS_THREAD_AFFINITY": "0,0"}
TO_LET_IN = {"UCX_LOG_LEVEL": "error"}
LET_IN = {"I_MPI_NOTE": "a b=$(c)", "UCX_LOG_LEVEL": "error"}


@pytest.fixture(scope="module")
def two_libraries(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """Both default libraries, both configurations, over the default network, into a folder with an awkward name."""
    output = tmp_path_factory.mktemp("it's an $(archive)")
    return subprocess.run(
        [sys.executable, str(ROOT / "campaign"), "run", "--collective", "ibcast", "--budget-seconds", "38", "--output",
         str(output), "--env", "UCX_LOG_LEVEL", "--env", "I_MPI_NOTE=a b=$(c)"],
        capture_output=True, text=True, cwd=ROOT, check=False, env={**os.environ, **OF_A_SITE, **TO_LET_IN},
    )  # fmt: skip


def test_two_libraries_end_to_end(two_libraries: subprocess.CompletedProcess[str]) -> None:
    assert two_libraries.returncode == 0, two_libraries.stdout + two_libraries.stderr
    run = run_path(two_libraries.stdout)
    found = points(run)
    assert {point["toolchain"] for point in found} == {"openmpi@5.0.11", "mpich@5.0.2"}
    network = "shm" if machine.network_refusal("wire") else networks.with_rate("wire")
    assert {point["network"] for point in found} == {network}
    expected = {("openmpi@5.0.11", "basic"), ("mpich@5.0.2", "basic"), ("mpich@5.0.2", "async")}
    if network != "shm":
        expected.add(("openmpi@5.0.11", "async"))
    assert {(point["toolchain"], point["configuration"]) for point in found} == expected
    assert len(found) == 9 * len(expected)
    for point in found:
        assert set(point) >= FIELDS
        assert len(point["r_overhead_ci95"]) == 2
        assert point["oversubscribed"] is False
        assert point["shared_core"] is (point["configuration"] == "async")


def test_threads_are_placed_by_the_campaign_whatever_the_shell_says(
    two_libraries: subprocess.CompletedProcess[str],
) -> None:
    for path in (run_path(two_libraries.stdout) / "records").glob("*.jsonl"):
        header = json.loads(path.read_text().splitlines()[0])
        assert not OF_A_SITE.keys() & header["environment"].keys()
        assert header["metadata"]["environment"]["kept_out"].items() >= OF_A_SITE.items()
        bound = [cpuset for rank in header["placement"] for cpuset in rank["compute_cpusets"]]
        assert all(map(str.isdigit, bound))
        assert len(set(bound)) == len(bound) == header["ranks"] * header["threads_per_rank"]
        if header["configuration"] == "basic":
            assert [rank["cpuset"] for rank in header["placement"]] == header["metadata"]["shares"]


def test_what_a_person_lets_in_reaches_the_ranks(
    two_libraries: subprocess.CompletedProcess[str], campaign: Command
) -> None:
    assert "kept out of launches: " in two_libraries.stdout
    assert "let into launches: UCX_LOG_LEVEL, I_MPI_NOTE" in two_libraries.stdout
    run = run_path(two_libraries.stdout)
    for path in (run / "records").glob("*.jsonl"):
        header = json.loads(path.read_text().splitlines()[0])
        assert header["metadata"]["environment"]["let_in"] == LET_IN
        assert header["environment"].items() >= LET_IN.items()
    again = campaign("reproduce", str(run)).stdout
    assert shlex.join(["--env", "UCX_LOG_LEVEL=error", "--env", "I_MPI_NOTE=a b=$(c)"]) in again


def test_every_record_conforms_and_all_have_the_same_sizes(two_libraries: subprocess.CompletedProcess[str]) -> None:
    run = run_path(two_libraries.stdout)
    for record in (run / "records").glob("*.jsonl"):
        check_record(record)
    sizes: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for point in points(run):
        key = (point["comm_target_ns"], point["comp_target_ns"])
        sizes.setdefault(key, set()).add((point["message_bytes"], point["work_size"]))
    assert all(len(used) == 1 for used in sizes.values())


def test_the_report_is_where_the_run_says(two_libraries: subprocess.CompletedProcess[str]) -> None:
    line = next(line for line in two_libraries.stdout.splitlines() if line.startswith("report: "))
    report = Path(line.removeprefix("report: "))
    assert "openmpi@5.0.11" in report.read_text()
    answers = (LIBRARIES, " could not be decided")
    answer = next(line for line in two_libraries.stdout.splitlines() if any(words in line for words in answers))
    assert answer.partition(" (all of it")[0] in Page(report.read_text()).text


def test_the_first_library_is_shown_before_the_second_one_is_measured(
    two_libraries: subprocess.CompletedProcess[str],
) -> None:
    first, _, second = two_libraries.stdout.partition("ok   mpich@")
    assert "as it comes" in first and "missing" not in first
    assert "as it comes" in second


def test_the_archived_reframe_line_works_when_it_is_typed(two_libraries: subprocess.CompletedProcess[str]) -> None:
    line = json.loads((run_path(two_libraries.stdout) / "manifest.json").read_text())["reframe_command"]
    done = subprocess.run(
        line.removesuffix("--run") + "-l", shell=True, capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "nbc_overlap %configuration=async %test_interval_ns=0 %basic.collective=ibcast" in done.stdout


def test_the_archived_run_keeps_its_checksums(two_libraries: subprocess.CompletedProcess[str]) -> None:
    run = run_path(two_libraries.stdout)
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["status"] == "complete"
    assert {case["result"] for case in manifest["cases"]} <= {"pass", "skip"}
    assert {"points.parquet", "samples.parquet", "junit.xml"} <= set(manifest["checksums"])
    assert all(package["sha256"] for toolchain in manifest["toolchains"] for package in toolchain["packages"])


# -- what interrupts it ------------------------------------------------------------------------------------------------

ONE = ("--toolchain", "openmpi@5.0.11", "--network", "shm", "--configuration", "basic")


def started(
    output: Path, *words: str, env: dict[str, str] | None = None, ignored: tuple[int, ...] = ()
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "campaign"), "run", *ONE, "--output", str(output), *words], cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}, start_new_session=True,
        preexec_fn=ignoring(*ignored),  # noqa: PLW1509 - this process has one thread
    )  # fmt: skip


def session_of(output: Path) -> Path:
    """Where ReFrame stages the one run under a results folder."""
    run = next(output.glob("local/.partial/*"), None)
    return STATE / "sessions" / (run.name if run else "none yet")


def wait_for_points(output: Path, count: int, process: subprocess.Popen[str]) -> Path:
    """Until a case has measured that many points. Returns its record in the stage folder."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        for record in session_of(output).glob(f"stage/**/{run_folders.RECORD}"):
            if record.read_bytes().count(b'"type":"point"') >= count:
                return record
        time.sleep(0.1)
    raise AssertionError(f"no record with {count} points: {process.communicate()[0]}")


def benchmark_processes(record: Path) -> list[int]:
    """Ranks that write into a record's folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cwd").readlink() == record.parent and b"nbc_overlap" in (entry / "comm").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.fixture
def no_one_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever the test starts carries a mark in its environment, and must be gone in the end."""
    mark = f"CAMPAIGN_TEST_MARK={tmp_path}"
    monkeypatch.setenv(*mark.split("=", 1))
    yield
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and _marked(mark):
        time.sleep(0.1)
    assert not _marked(mark)


def _marked(mark: str) -> list[str]:
    """The names of living processes with this in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"\0{mark}\0".encode() in b"\0" + (entry / "environ").read_bytes():
                found.append((entry / "comm").read_text().strip())
        except OSError:
            continue  # it has ended, or is another user's
    return found


@pytest.mark.usefixtures("no_one_left")
def test_a_signal_before_a_time_limit_keeps_what_there_is_and_resume_goes_on(tmp_path: Path, campaign: Command) -> None:
    process = started(tmp_path, "--collective", "ibcast", "--collective", "ireduce", *ROW, "--budget-seconds", "20")
    wait_for_points(tmp_path, 2, process)
    process.send_signal(signal.SIGXCPU)
    stdout, _ = process.communicate(timeout=300)
    assert process.returncode == 130, stdout
    run = run_path(stdout)
    assert run.parent.name == ".partial"
    assert "incomplete" in stdout
    assert len(points(run)) >= 2
    before = json.loads((run / "manifest.json").read_text())["sessions"]
    looked = campaign("run", "--resume", run.name, "--output", str(tmp_path), "--dry-run")
    assert looked.returncode == 0, looked.stderr
    assert len(points(run)) >= 2
    again = campaign("run", "--resume", run.name, "--budget-seconds", "22", "--output", str(tmp_path))
    assert again.returncode == 0, again.stdout + again.stderr
    assert run_path(again.stdout) == tmp_path / "local" / run.name
    assert len(points(run_path(again.stdout))) == 6
    after = json.loads((run_path(again.stdout) / "manifest.json").read_text())["sessions"]
    assert after[: len(before)] == before and len(after) > len(before) > 0
    assert campaign("run", "--resume", run.name, "--output", str(tmp_path)).returncode == 2


@pytest.mark.rare
def test_a_record_that_nobody_has_checked_is_checked_when_its_run_is_resumed(tmp_path: Path, campaign: Command) -> None:
    """Of a family without a file of sizes, which the record has beside it in others."""
    late = ("--benchmark", "sync_overlap", "--send", "early", "--message-bytes", "64", "--budget-seconds", "3")
    done = campaign("run", *ONE, *late, "--output", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    run = run_path(done.stdout)
    manifest = json.loads((run / "manifest.json").read_text())
    record = run / manifest["cases"][0]["record"]
    measured = record.read_bytes()
    manifest["cases"][0]["result"] = "missing"
    manifest["status"] = "incomplete"
    del manifest["checksums"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    run.rename(run.parent / ".partial" / run.name)
    again = campaign("run", "--resume", run.name, "--output", str(tmp_path))
    assert again.returncode == 0, again.stdout + again.stderr
    assert run_path(again.stdout) == run
    assert record.read_bytes() == measured
    (case,) = json.loads((run / "manifest.json").read_text())["cases"]
    assert case["result"] == "pass"


@pytest.mark.rare
@pytest.mark.usefixtures("no_one_left")
def test_what_a_run_was_started_to_ignore_ends_no_process_of_it(tmp_path: Path) -> None:
    """`nohup ./campaign run` and its like: each signal goes to every process, MPI's launcher and ReFrame too.

    SIGHUP goes to the ranks as well. The launcher starts ranks with SIGINT and SIGTERM as usual: these spare them.
    """
    numbers = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
    process = started(tmp_path, *QUICK, "--budget-seconds", "36", ignored=numbers)
    record = wait_for_points(tmp_path, 0, process)
    ranks = set(benchmark_processes(record))
    assert ranks
    for number in numbers:
        for pid in {process.pid, *guard.descendants(process.pid)} - (ranks if number != signal.SIGHUP else set()):
            os.kill(pid, number)
        assert process.poll() is None, number.name
    stdout, _ = process.communicate(timeout=300)
    assert process.returncode == 0, stdout
    assert json.loads((run_path(stdout) / "manifest.json").read_text())["status"] == "complete"


@pytest.mark.usefixtures("no_one_left")
def test_kill_9_leaves_no_process_and_what_was_measured(tmp_path: Path) -> None:
    process = started(tmp_path, "--collective", "ibcast", "--budget-seconds", "60")
    record = wait_for_points(tmp_path, 2, process)
    below = guard.descendants(process.pid)
    assert benchmark_processes(record)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(map(running, below)):
        time.sleep(0.1)
    assert not list(filter(running, below))
    found = points(next(tmp_path.glob("local/.partial/*")))
    assert len(found) >= 2


@pytest.mark.usefixtures("no_one_left")
def test_a_killed_rank_fails_its_case_alone_with_a_line(tmp_path: Path) -> None:
    process = started(tmp_path, "--collective", "ibcast", "--collective", "ireduce", *ROW, "--budget-seconds", "32")
    record = wait_for_points(tmp_path, 1, process)
    os.kill(max(benchmark_processes(record)), signal.SIGKILL)
    stdout, _ = process.communicate(timeout=300)
    assert process.returncode == 1, stdout
    manifest = json.loads((run_path(stdout) / "manifest.json").read_text())
    assert sorted(case["result"] for case in manifest["cases"]) == ["fail", "pass"]
    assert manifest["status"] == "incomplete"
    assert len([line for line in stdout.splitlines() if line.startswith("FAIL ")]) == 1


@pytest.mark.usefixtures("no_one_left")
def test_a_hang_is_ended_by_its_limit(tmp_path: Path) -> None:
    process = started(tmp_path, "--collective", "ibcast", *ROW, "--budget-seconds", "40", "--case-limit-seconds", "12")
    record = wait_for_points(tmp_path, 1, process)
    os.kill(max(benchmark_processes(record)), signal.SIGSTOP)
    stdout, _ = process.communicate(timeout=120)
    assert process.returncode == 1, stdout
    assert re.search(r"it hung: no end within its limit of 12 s \(--case-limit-seconds\): rank \d hangs in ", stdout)


def run_on_mount(output: Path, mount: str, after: str = "exit $?") -> subprocess.CompletedProcess[str]:
    """A run beside which something is mounted, which only the run sees, and after which a shell does more."""
    inside = (
        f"{mount} || exit 99; "
        f"'{sys.executable}' campaign run {' '.join(ONE)} {' '.join(QUICK)} --output '{output}'; {after}"
    )
    return subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", inside], capture_output=True, text=True,
        cwd=ROOT, check=False,
    )  # fmt: skip


@pytest.mark.needs("mount")
@pytest.mark.usefixtures("no_one_left")
def test_an_mpi_that_does_not_start(tmp_path: Path) -> None:
    """In place of the library's launcher, one that fails as that of a broken installation does."""
    mpi = resolving.resolve(resolving.parse("openmpi@5.0.11"), print)
    launcher = tmp_path / "mpiexec"
    words = "#!/bin/sh\necho 'mpiexec: cannot load libpmix.so' >&2\nexit 127\n"
    launcher.write_text(words.ljust(Path(mpi.mpiexec).stat().st_size))  # of another size, it would be installed again
    launcher.chmod(0o755)
    done = run_on_mount(tmp_path / "archive", f"mount --bind '{launcher}' '{mpi.mpiexec}'")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "cannot load libpmix.so" in next(line for line in done.stdout.splitlines() if line.startswith("FAIL "))


def small_disk(folder: Path, size: str) -> str:
    """The command that makes a folder a file system of that size."""
    return f"mount -t tmpfs -o size={size} tmpfs '{folder}'"


@pytest.mark.needs("mount")
@pytest.mark.usefixtures("no_one_left")
def test_a_full_disk_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    look = f"code=$?; find '{tmp_path}' -name '*.jsonl' | xargs head -qc 20; exit $code"
    done = run_on_mount(tmp_path, small_disk(tmp_path, "96k"), look)
    assert done.returncode == 1, done.stdout + done.stderr
    (said,) = [
        line.strip() for line in done.stdout.splitlines() if "No space left on device" in line and "--resume" in line
    ]
    assert said.startswith(f"{tmp_path}/")  # the full one, not where it was copied from
    assert said.endswith(f"--output {tmp_path}")
    assert "Traceback" not in done.stdout + done.stderr
    assert '{"type":"header"' in done.stdout


@pytest.mark.needs("mount")
def test_a_disk_that_is_full_before_anything_is_measured_leaves_nothing_to_go_on_with(tmp_path: Path) -> None:
    fill = f"cat /dev/zero > '{tmp_path}/full' 2> /dev/null"
    done = run_on_mount(tmp_path, f"{small_disk(tmp_path, '2m')} && {{ {fill}; true; }}")
    refused(done, "No space left on device")
    assert "--resume" not in done.stdout + done.stderr


@pytest.mark.needs("system-mpi")
def test_an_installed_mpi_is_used_by_its_prefix(tmp_path: Path, campaign: Command) -> None:
    said = subprocess.run(["mpiexec", "--version"], capture_output=True, text=True, check=False).stdout
    family = "openmpi" if "Open" in said else "mpich"
    version = next(word for word in said.split() if word[0].isdigit() and "." in word)
    prefix = Path(str(shutil.which("mpicc"))).parent.parent
    done = campaign(
        "run", "--toolchain", f"{family}@{version}={prefix}", "--network", "shm", *QUICK, "--configuration", "basic",
        "--output", str(tmp_path), "--toolchain", f"other@1.0={tmp_path}",
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.findall(r"^(?:FAIL|MISSING|skipped) [^=]+", done.stdout, re.MULTILINE) == ["skipped other@1.0"]
    assert {point["provider"] for point in points(run_path(done.stdout))} == {"prefix"}
