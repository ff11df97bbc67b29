"""The doctor: what it sees of made-up machines, how it launches, what it says."""

import fcntl
import gzip
import json
import multiprocessing
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT
from mpi_campaign.children import asking
from mpi_campaign.doctor import disturbances, examination
from mpi_campaign.doctor.disturbances import CpuTime, Throttling, others_share
from mpi_campaign.doctor.load import LEAST_SECONDS, Load
from mpi_campaign.doctor.selfcheck import refuse_unknown
from mpi_campaign.errors import CampaignError
from mpi_campaign.this_machine.findings import STATES, Finding
from mpi_campaign.toolchains import resolving
from postprocess.families.timing_selfcheck.record import Clock, Residual
from tests.support import NOWHERE, Command, refused
from tests.test_guard import gone

CPUS = (0, 1)
SYS_CPU = "sys/devices/system/cpu"
Look = Callable[[Path], Finding]


def machine_of(root: Path, files: dict[str, str | bytes]) -> Path:
    """A folder that stands for `/`."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


# -- disturbances ------------------------------------------------------------------------------------------------------

LOOKS: dict[str, Look] = {
    "siblings": lambda root: disturbances.siblings(root, CPUS),
    "governor": lambda root: disturbances.governor(root, CPUS), "turbo": disturbances.turbo,
    "tick": lambda root: disturbances.tick(root, CPUS), "autogroup": disturbances.autogroup,
    "huge_pages": disturbances.huge_pages, "numa_balancing": disturbances.numa_balancing, "swap": disturbances.swap,
    "clocksource": disturbances.clocksource,
}  # fmt: skip
AUTOGROUP = "proc/sys/kernel/sched_autogroup_enabled"
HUGE_PAGES = "sys/kernel/mm/transparent_hugepage/enabled"
NUMA = "proc/sys/kernel/numa_balancing"
CLOCKSOURCES = "sys/devices/system/clocksource/clocksource0"
SWAPS = "Filename\tType\tSize\tUsed\tPriority\n/swapfile file 2097152 {} -2\n"
VERSION_1 = "5:memory:/a\n2:cpu,cpuacct:/a/b\n0::/\n"


@pytest.mark.parametrize(
    ("look", "files", "state", "seen"),
    [
        ("siblings", {}, "good", "one hardware thread"),
        (
            "siblings",
            {f"{SYS_CPU}/cpu{cpu}/topology/thread_siblings_list": f"{cpu},{cpu + 8}\n" for cpu in CPUS},
            "note", "2 hardware threads",
        ),
        ("siblings", {f"{SYS_CPU}/cpu0/topology/thread_siblings_list": "0-3\n"}, "note", "4 hardware threads"),
        ("governor", {}, "good", "not visible"),
        (
            "governor", {f"{SYS_CPU}/cpu{cpu}/cpufreq/scaling_governor": "performance\n" for cpu in CPUS}, "good",
            "performance",
        ),
        (
            "governor",
            {
                f"{SYS_CPU}/cpu0/cpufreq/scaling_governor": "performance\n",
                f"{SYS_CPU}/cpu1/cpufreq/scaling_governor": "powersave\n",
            },
            "note", "powersave",
        ),
        ("turbo", {}, "good", "not visible"),
        ("turbo", {f"{SYS_CPU}/intel_pstate/no_turbo": "1\n"}, "good", "off"),
        ("turbo", {f"{SYS_CPU}/intel_pstate/no_turbo": "0\n"}, "note", "on"),
        ("turbo", {f"{SYS_CPU}/cpufreq/boost": "0\n"}, "good", "off"),
        ("turbo", {f"{SYS_CPU}/cpufreq/boost": "1\n"}, "note", "on"),
        ("tick", {}, "good", "rate not visible"),
        ("tick", {"proc/config.gz": gzip.compress(b"# CONFIG_HZ_100 is not set\nCONFIG_HZ=250\n")}, "good", "250 Hz"),
        ("tick", {"proc/config.gz": b"no archive"}, "good", "rate not visible"),
        (
            "tick", {"proc/sys/kernel/osrelease": "6.1.0\n", "boot/config-6.1.0": "CONFIG_HZ_1000=y\nCONFIG_HZ=1000\n"},
            "good", "1000 Hz",
        ),
        ("tick", {f"{SYS_CPU}/nohz_full": "1-7\n"}, "good", "1 of 2 CPUs without tick"),
        ("tick", {f"{SYS_CPU}/isolated": "0-1\n", f"{SYS_CPU}/nohz_full": "(null)\n"}, "good", "2 of 2 CPUs isolated"),
        ("autogroup", {}, "good", "not there"),
        ("autogroup", {AUTOGROUP: "0\n"}, "good", "off"),
        ("autogroup", {AUTOGROUP: "1\n"}, "note", "on"),
        ("huge_pages", {}, "good", "not visible"),
        ("huge_pages", {HUGE_PAGES: "always [madvise] never\n"}, "good", "madvise"),
        ("huge_pages", {HUGE_PAGES: "[always] madvise never\n"}, "note", "always"),
        ("numa_balancing", {NUMA: "1\n"}, "good", "1 memory node"),
        ("numa_balancing", {NUMA: "0\n"}, "good", "off"),
        (
            "numa_balancing", {NUMA: "1\n", **{f"sys/devices/system/node/node{node}/cpulist": "" for node in CPUS}},
            "note", "on, 2 memory nodes",
        ),
        ("swap", {}, "good", "none"),
        ("swap", {"proc/swaps": SWAPS.format(0)}, "good", "0.0 of 2.0 GiB"),
        ("swap", {"proc/swaps": SWAPS.format(1048576)}, "note", "1.0 of 2.0 GiB"),
        ("clocksource", {}, "good", "not visible"),
        ("clocksource", {f"{CLOCKSOURCES}/current_clocksource": "tsc\n"}, "good", "tsc"),
        ("clocksource", {f"{CLOCKSOURCES}/current_clocksource": "arch_sys_counter\n"}, "good", "arch_sys_counter"),
        ("clocksource", {f"{CLOCKSOURCES}/current_clocksource": "hpet\n"}, "note", "hpet"),
    ],
)  # fmt: skip
def test_a_disturbance_is_seen(tmp_path: Path, look: str, files: dict[str, str | bytes], state: str, seen: str) -> None:
    found = LOOKS[look](machine_of(tmp_path, files))
    assert found.state == state
    assert seen in found.seen
    assert bool(found.advice) is (state != "good")


@pytest.mark.parametrize(
    ("group", "file", "before", "after", "seconds"),
    [
        ("0::/a\n", "sys/fs/cgroup/a/cpu.stat", "nr_throttled 3\nthrottled_usec 1000000\n",
         "nr_throttled 5\nthrottled_usec 1500000\n", 0.5),
        (VERSION_1, "sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 1000000000\n",
         "nr_periods 99\nnr_throttled 5\nthrottled_time 1500000000\n", 0.5),
    ],
)  # fmt: skip
def test_throttling_is_counted_between_two_looks(
    tmp_path: Path, group: str, file: str, before: str, after: str, seconds: float
) -> None:
    root = machine_of(tmp_path, {"proc/self/cgroup": group, file: before})
    first = disturbances.throttling(root)
    second = disturbances.throttling(machine_of(root, {file: after}))
    assert second - first == Throttling(2, seconds)
    assert disturbances.throttled(second - first, "meanwhile").state == "note"
    assert disturbances.throttled(first - first, "meanwhile").state == "good"


def test_no_control_group_throttles_nothing(tmp_path: Path) -> None:
    assert disturbances.throttling(tmp_path) == Throttling(0, 0.0)


def stat(*rows: str) -> dict[str, str | bytes]:
    return {"proc/stat": "\n".join(["cpu  9 9 9 9 9 9 9 9 0 0", *rows, "intr 1 2 3"])}


def test_stolen_time_is_that_of_our_cpus(tmp_path: Path) -> None:
    root = machine_of(tmp_path, stat("cpu0 10 0 5 100 1 1 1 2 0 0", "cpu1 0 0 0 0 0 0 0 0 0 0", "cpu7 0 0 0 0 0 0 0 9"))
    before = disturbances.cpu_time(root, CPUS)
    assert before == CpuTime(total=120, busy=17, stolen=2)
    machine_of(root, stat("cpu0 60 0 5 150 1 1 1 5 0 0", "cpu1 0 0 0 97 0 0 0 0 0 0", "cpu7 0 0 0 0 0 0 0 999"))
    taken = disturbances.cpu_time(root, CPUS) - before
    assert taken == CpuTime(total=200, busy=50, stolen=3)
    assert disturbances.steal(taken, "meanwhile") == Finding("steal", "good", "1.5 % of the cores' time meanwhile")
    assert disturbances.steal(CpuTime(200, 0, 5), "meanwhile").state == "note"
    assert disturbances.steal(CpuTime(0, 0, 0), "since boot").state == "good"


def test_other_load_is_named(tmp_path: Path) -> None:
    def process(name: str, ticks: int) -> str:
        return f"77 ({name}) R 1 77 77 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 5\n"

    root = machine_of(tmp_path, {"proc/77/stat": process("a) R (b\x1b[31m", 100), "proc/78/stat": "gone"})
    before = disturbances.process_ticks(root)
    after = disturbances.process_ticks(machine_of(root, {"proc/77/stat": process("a) R (b\x1b[31m", 190)}))
    assert disturbances.busiest(before, after, 200) == "a) R (b�[31m (process 77)"
    assert disturbances.busiest(before, after, 9000) == disturbances.busiest(after, after, 200)
    assert disturbances.busiest(after, after, 200) == ""
    advice = disturbances.other_load({"before": 0.5}, "").advice
    assert "cannot be seen" in advice
    assert "wait until it ends" not in advice


@pytest.mark.parametrize(
    ("shares", "state"), [({"before": 0.02}, "good"), ({"before": 0.0, "meanwhile": 0.021}, "note")]
)
def test_other_load_disturbs_before_and_meanwhile(shares: dict[str, float], state: str) -> None:
    found = disturbances.other_load(shares, "a (process 7)")
    assert found.state == state
    assert all(when in found.seen for when in shares)
    assert ("process 7" in found.advice) is (state == "note")


def test_everything_can_be_asked_of_this_machine() -> None:
    found = examination.examine(None).findings
    assert len({one.subject for one in found}) == len(found)
    assert {one.state for one in found} <= set(STATES)
    assert all(bool(one.advice) is (one.state != "good") for one in found)


# -- launching, with a launcher and a program that measure nothing -----------------------------------------------------

DRIVER = """
import os, sys
from pathlib import Path
from mpi_campaign import __main__
from mpi_campaign.doctor import disturbances, examination, selfcheck, wire_rate
from mpi_campaign.processes import guarded
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import resolving
folder = Path(sys.argv[1])
selfcheck.RECORDS, guarded.STATE = folder / "records", folder
selfcheck.build = lambda toolchain: folder / "program"
wire_rate.RATES, examination.LOAD_SECONDS = (), 0.1
selfcheck.LIMIT_SECONDS, selfcheck.POLL_SECONDS = float(os.environ.get("CLINIC_LIMIT", "60")), 0.1
machine.cores = lambda: machine.Cores((0, 1), 2)
disturbances.tick_hz = lambda root: 250
resolving.resolve = lambda spec, say: resolving.Toolchain(
    spec.toolchain, spec.family, spec.version, "wheels", str(folder), str(folder / "mpicc"), str(folder / "mpiexec"))
sys.argv[1:] = ["doctor", *sys.argv[2:]]
sys.exit(__main__.main())
"""

# What a launch does is in the file `behaviour`: a word for each, in turn; after the last one all goes well.
PROGRAM = """
import argparse, json, sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.postprocess import synthetic_selfcheck as synthetic
parser = argparse.ArgumentParser()
for name in ("--record", "--only", "--sizes", "--save-sizes", "--toolchain", "--provider", "--network", "--threads",
             "--repetitions", "--record-environment"):
    parser.add_argument(name)
parser.add_argument("--quiet", action="store_true", required=True)
asked = parser.parse_args()
assert "UCX_*" in asked.record_environment
number = len(list(Path(asked.record).parent.glob("*.jsonl")))
behaviour = Path({folder!r}, "behaviour").read_text().split()[number:][:1]
if behaviour == ["refuses"]:
    sys.exit("timing_selfcheck: no such clock")
if behaviour == ["fills"]:
    Path(asked.record).with_suffix(".log").symlink_to("/dev/full")
    print("so much to say")
if behaviour == ["dies"]:
    sys.exit("-" * 60 + "\\nAll is well.\\n\\n  process rank 1 exited on\\nsignal 9 (Killed).\\n" + "-" * 60)
if behaviour == ["garbles"]:
    Path(asked.record).write_text("garbled\\n")
    sys.exit(0)
if asked.save_sizes:
    assert asked.only is None and asked.sizes is None
    Path(asked.save_sizes).write_text("sizes")
    lines = synthetic.quiet_machine(number)
else:
    assert asked.only == "work" and Path(asked.sizes).read_text() == "sizes"
    whole = synthetic.quiet_machine(number)
    lines = [one for one in whole if one.get("parameters", {{}}).get("section", "work") == "work"]
if behaviour == ["stops"]:
    synthetic.write(Path(asked.record), lines[:4])
    sys.exit("timing_selfcheck: enough")
if behaviour == ["hangs"]:
    synthetic.write(Path(asked.record), lines[:4])
    time.sleep(300)
synthetic.write(Path(asked.record), lines)
"""


class Clinic:
    """A doctor whose launches measure nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "driver.py").write_text(DRIVER)
        self._script("program", f"#!{sys.executable}\n{PROGRAM.format(root=str(ROOT), folder=str(folder))}")
        self._script("mpiexec", f'#!/bin/sh\nwhile [ "$1" != "{folder}/program" ]; do shift; done\nexec "$@"\n')
        self._script("mpicc", "#!/bin/sh\n")

    def _script(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def start(self, *words: str, behaviour: str = "", env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        (self.folder / "behaviour").write_text(behaviour)
        return subprocess.Popen(
            [sys.executable, str(self.folder / "driver.py"), str(self.folder), *words], cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(env or {})}, start_new_session=True,
        )  # fmt: skip

    def examine(self, *words: str, behaviour: str = "", env: dict[str, str] | None = None) -> dict[str, Any]:
        """The JSON of a doctor that ends well."""
        process = self.start("--json", *words, behaviour=behaviour, env=env)
        stdout, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr
        assert "Traceback" not in stderr
        found: dict[str, Any] = json.loads(stdout)
        return found

    def wait_for(self, name: str) -> None:
        deadline = time.monotonic() + 60
        while not list(self.folder.glob(f"records/*/{name}")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert list(self.folder.glob(f"records/*/{name}"))


@pytest.fixture
def clinic(tmp_path: Path) -> Clinic:
    return Clinic(tmp_path)


def finding_of(document: dict[str, Any], subject: str) -> dict[str, str]:
    found: dict[str, str] = next(one for one in document["findings"] if one["subject"] == subject)
    return found


def test_all_launches_are_made_and_summed_up(clinic: Clinic) -> None:
    found = clinic.examine("--launches", "4")
    timing = found["timing"]
    assert timing["launches"] == 4
    assert len(list(Path(found["records"]).glob("*.jsonl"))) == 5
    assert timing["toolchain"] == "openmpi@5.0.11"
    assert timing["trouble"] == ""
    assert [one["verdict"] for one in timing["verdicts"]] == ["yes"] * 4
    # medians of 1.001 to 1.004 times the target; that of the first launch, 1.000, is not among them
    expected = statistics.stdev([1, 2, 3, 4]) / 1002.5
    assert [one["cv_median"] for one in timing["work"]] == pytest.approx([expected] * 8, rel=1e-3)
    assert finding_of(found, "timer")["seen"].endswith("a reading takes 21.5 ns")
    assert "p95" in finding_of(found, "start")["seen"]
    assert "tick of 250 Hz" in finding_of(found, "noise")["seen"]
    assert {one["state"] for one in found["findings"] if one["subject"] == "timing"} == set()


def test_the_text_says_it_in_words(clinic: Clinic) -> None:
    process = clinic.start("--launches", "2")
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    for target in ("500 µs", "4 ms", "16 ms", "64 ms"):
        assert any(line.startswith(target) and "yes" in line for line in stdout.splitlines()), stdout
    assert "records: " in stdout
    assert "1 of 3" in stderr
    assert "3 of 3" in stderr


def test_a_launch_that_fails_leaves_what_the_others_measured(clinic: Clinic) -> None:
    found = clinic.examine("--launches", "3", "--toolchain", "mpich@5.0.2", behaviour="works works refuses")
    assert (found["timing"]["launches"], found["timing"]["toolchain"]) == (1, "mpich@5.0.2")
    assert "launch 3 of 4 failed: timing_selfcheck: no such clock" in found["timing"]["trouble"]
    assert finding_of(found, "timing")["state"] == "note"


@pytest.mark.parametrize(
    ("behaviour", "reason"), [("refuses", "no such clock"), ("garbles", "launch-01.jsonl:1: not JSON")]
)
def test_a_first_launch_that_fails_is_lacking(clinic: Clinic, behaviour: str, reason: str) -> None:
    found = clinic.examine("--launches", "1", behaviour=behaviour)
    assert found["timing"] is None
    assert finding_of(found, "timing")["state"] == "lacking"
    assert reason in finding_of(found, "timing")["seen"]


@pytest.mark.parametrize(("behaviour", "launches"), [("fills", 0), ("works works fills", 2)])
def test_a_full_disk_loses_nothing_that_was_found(clinic: Clinic, behaviour: str, launches: int) -> None:
    found = clinic.examine("--launches", "3", behaviour=behaviour)
    timing = finding_of(found, "timing")
    number = behaviour.count(" ") + 1
    assert timing["state"] == "lacking"
    assert f"launch {number} of 4 failed: {clinic.folder}/records/" in timing["seen"]
    assert timing["seen"].endswith(f"launch-{number:02}.log: No space left on device")
    assert found["timing"]["launches"] == max(1, launches)
    assert finding_of(found, "compiler")
    assert finding_of(found, "throttling")


def test_a_rank_that_was_killed_is_named_and_its_log(clinic: Clinic) -> None:
    found = clinic.examine("--launches", "1", behaviour="dies")
    timing = finding_of(found, "timing")
    assert "launch 1 of 2 failed: a rank was killed (SIGKILL)" in timing["seen"]
    assert timing["state"] == "lacking"
    assert "launch-01.log" in timing["advice"]


def test_a_launch_that_fails_without_a_verdict_is_lacking(clinic: Clinic) -> None:
    found = clinic.examine("--launches", "1", behaviour="stops")
    assert {one["verdict"] for one in found["timing"]["verdicts"]} == {"not measured"}
    assert finding_of(found, "timing")["state"] == "lacking"


@pytest.mark.parametrize(
    ("method", "error_ns", "state", "said"),
    [
        ("shared", 30, "good", "told to within 30 ns"),
        ("shared", 32.1e6, "note", "nothing to correct"),
        ("interpolated", 30, "good", "off by 30 ns"),
        ("interpolated", 32.1e6, "note", "off by 32.1 ms"),
    ],
)
def test_a_shared_clock_cannot_be_off(method: str, error_ns: float, state: str, said: str) -> None:
    clock = Clock(method, "", "", 1, 9, 2, 0.1, 30, 0, 1, (Residual(10, error_ns, error_ns),))
    found = examination._clock(clock)
    assert (found.subject, found.state) == ("common clock", state)
    assert said in found.seen
    assert ("times over ranks are right" in found.advice) is ((method, state) == ("shared", "note"))


def test_a_launch_that_hangs_is_ended(clinic: Clinic) -> None:
    found = clinic.examine("--launches", "3", behaviour="works hangs", env={"CLINIC_LIMIT": "4"})
    assert "launch 2 of 4 failed: it hung" in found["timing"]["trouble"]
    assert gone(f"{clinic.folder}/program")


@pytest.mark.parametrize(("behaviour", "record"), [("hangs", "launch-01.jsonl"), ("works hangs", "launch-02.jsonl")])
def test_an_interrupted_doctor_says_what_it_has_and_leaves_no_process(
    clinic: Clinic, behaviour: str, record: str
) -> None:
    process = clinic.start("--json", "--launches", "3", behaviour=behaviour)
    clinic.wait_for(record)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    found = json.loads(stdout)
    assert "interrupted in launch" in finding_of(found, "timing")["seen"]
    assert found["timing"]["timer"]["overhead_ns"] == 21.5
    words = {one["verdict"] for one in found["timing"]["verdicts"]}
    assert words == ({"not measured"} if behaviour == "hangs" else {"with care"})
    assert gone(f"{clinic.folder}/program")


def test_a_doctor_goes_on_when_the_run_has_ended(clinic: Clinic) -> None:
    with (clinic.folder / "measuring.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = clinic.start("--json", "--launches", "1")
        assert process.stderr is not None
        assert any("another campaign of this clone is measuring" in line for line in iter(process.stderr.readline, ""))
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(stdout)["timing"]["launches"] == 1


def module(*words: str, env: dict[str, str]) -> dict[str, Any]:
    """The doctor in the running environment, with nothing but `env`."""
    done = subprocess.run(
        [sys.executable, "-m", "mpi_campaign", "doctor", "--json", *words], capture_output=True, text=True, cwd=ROOT,
        env=env, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_no_compiler_is_lacking(tmp_path: Path) -> None:
    found = module(env={"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert finding_of(found, "compiler")["state"] == "lacking"
    assert "no C compiler" in finding_of(found, "timing")["seen"]
    assert found["timing"] is None


@pytest.mark.rare
def test_no_registry_is_lacking() -> None:
    found = module("--toolchain", "mpich@4.1.3", env={**os.environ, **NOWHERE})
    assert "no package registry" in finding_of(found, "timing")["seen"]


@pytest.mark.rare
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one CPU anyway")
def test_one_core_is_lacking() -> None:
    cpu = min(os.sched_getaffinity(0))
    code = (
        f"import os, sys; os.sched_setaffinity(0, {{{cpu}}}); sys.argv[1:] = ['doctor', '--json'];"
        "from mpi_campaign.__main__ import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert "two ranks need two cores" in finding_of(json.loads(done.stdout), "timing")["seen"]


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (["--launches", "0"], "--launches"), (["--launches", "many"], "many"),
        (["--toolchain", "openmpi"], "NAME@VERSION"), (["now"], "now"),
        (["--toolchain", "nonsense@1"], "nonsense"), (["--no-timing", "--toolchain", "nonsense@1"], "nonsense"),
        (["--toolchain", "openmpi@5.0.11=/nowhere"], "/nowhere"),
        (["--no-timing", "--toolchain", "openmpi@5.0.11=/nowhere"], "/nowhere"),
        (["--no-timing", "--launches", "3"], "leave out one"),
    ],
)  # fmt: skip
def test_wrong_options(inside: Command, words: list[str], fragment: str) -> None:
    refused(inside("doctor", *words), fragment)


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("openmpi (5.0.11)\nAvailable versions: 5.0.11, 5.0.10", "5.0.11, 5.0.10"),
        ("WARNING: Retrying ... ERROR: (from versions: none)", ""),
    ],
)
def test_a_version_that_no_registry_has_is_refused(monkeypatch: pytest.MonkeyPatch, said: str, refused: str) -> None:
    monkeypatch.setattr(asking, "ask", lambda _words, **_: asking.Answer(0, said))
    asked = resolving.parse("openmpi@99.9")
    if refused:
        with pytest.raises(CampaignError, match=refused):
            refuse_unknown(asked)
    else:
        refuse_unknown(asked)


# -- what others use ---------------------------------------------------------------------------------------------------


def test_the_share_of_others_is_without_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", lambda _name: 100)
    taken = CpuTime(total=400, busy=300, stolen=0)
    assert others_share(taken, own=1.0) == 0.5
    assert others_share(taken, own=9.0) == 0.0
    assert others_share(CpuTime(0, 0, 0), own=1.0) == 0.0


def _spin() -> None:
    while True:
        pass


def test_a_program_that_uses_a_core_is_named() -> None:
    spinning = multiprocessing.get_context("fork").Process(target=_spin)
    load = Load()
    assert load.notes() == []
    spinning.start()
    try:
        time.sleep(LEAST_SECONDS)
        (line,) = load.notes()
    finally:
        spinning.kill()
        spinning.join()
    assert line.startswith("other load: ")
    assert "it takes time from the ranks" in line
