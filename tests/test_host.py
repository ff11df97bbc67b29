"""What a process may use of its host: read from made-up machines and from this one, told by `doctor`, `run` and all
that reads manifests."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign import ROOT
from mpi_campaign.running import manifest
from mpi_campaign.this_machine import host, machine
from mpi_campaign.this_machine.host import SYS_CPU, HostLimits
from postprocess.records import host_limits
from postprocess.verdicts.history import manifest_changes
from tests.archives import archived, name_of
from tests.support import Command, refused
from tests.test_doctor import VERSION_1, finding_of, machine_of
from tests.test_references import systems

__all__ = ["systems"]

MIB = 1 << 20
GIB = 1 << 30
# Of version 1: no limit.
ENDLESS = "9223372036854771712\n"


def group(path: str, **files: str) -> dict[str, str | bytes]:
    """Files of a control group below its mount, by their names with __ for each dot."""
    return {f"sys/fs/cgroup/{path}/{name.replace('__', '.')}": text for name, text in files.items()}


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/a/b\n", **group("a", cpu__max="max 100000\n")}, None),
        ({"proc/self/cgroup": "0::/a/b\n", **group("a", cpu__max="max\n")}, None),
        ({"proc/self/cgroup": "0::/a/b\n", **group("a", cpu__max="150000 100000\n")}, 1.5),
        ({"proc/self/cgroup": "0::/a\n", **group("a", cpu__max="200000 100000")}, 2.0),
        (
            {
                "proc/self/cgroup": "0::/a/b\n", **group("a/b", cpu__max="400000 100000"),
                **group("a", cpu__max="50000 100000"),
            },
            0.5,
        ),
        # a container: the path is the host's, the limit is at the top
        ({"proc/self/cgroup": "0::/docker/1\n", **group("", cpu__max="100000 100000")}, 1.0),
        # another group's, above the one that this process may see
        ({"proc/self/cgroup": "0::/../b\n", "sys/fs/cpu.max": "1000 100000"}, None),
        # hybrid: version 2 beside version 1
        ({"proc/self/cgroup": "0::/a\n", **group("unified/a", cpu__max="300000 100000")}, 3.0),
        (
            {
                "proc/self/cgroup": VERSION_1,
                **group("cpu,cpuacct/a/b", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000"),
            },
            None,
        ),
        (
            {
                "proc/self/cgroup": VERSION_1,
                **group("cpu/a", cpu__cfs_quota_us="75000", cpu__cfs_period_us="50000"),
                **group("cpu/a/b", cpu__cfs_quota_us="400000", cpu__cfs_period_us="100000"),
            },
            1.5,
        ),
        ({"proc/self/cgroup": VERSION_1, **group("cpu/a", cpu__cfs_quota_us="75000")}, None),
        ({"proc/self/cgroup": "nonsense\n\n::\n", **group("", cpu__max="0 0")}, None),
    ],
)  # fmt: skip
def test_the_tightest_limit_of_cpu_time_counts(
    tmp_path: Path, files: dict[str, str | bytes], cpus: float | None
) -> None:
    assert host.look(machine_of(tmp_path, files), (0, 1)).cgroup_cpus == cpus


@pytest.mark.parametrize(
    ("files", "allowed"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/a\n", **group("a", memory__max="max\n")}, None),
        ({"proc/self/cgroup": "0::/a/b\n", **group("a/b", memory__max="max"), **group("a", memory__max="4096")}, 4096),
        ({"proc/self/cgroup": "0::/a/b\n", **group("a/b", memory__max="8192"), **group("a", memory__max="4096")}, 4096),
        ({"proc/self/cgroup": "0::/a\n", **group("a", memory__max="8192", memory__high="4096")}, 4096),
        ({"proc/self/cgroup": "0::/gone\n", **group("", memory__max="4096")}, 4096),
        ({"proc/self/cgroup": VERSION_1, **group("memory/a", memory__limit_in_bytes=ENDLESS)}, None),
        (
            {
                "proc/self/cgroup": VERSION_1, **group("memory/a", memory__limit_in_bytes="8192\n"),
                **group("memory", memory__limit_in_bytes=ENDLESS),
            },
            8192,
        ),
    ],
)  # fmt: skip
def test_the_tightest_limit_of_memory_counts(
    tmp_path: Path, files: dict[str, str | bytes], allowed: int | None
) -> None:
    root = machine_of(tmp_path, files)
    assert host.look(root, (0, 1)).memory_limit_bytes == allowed
    whole = machine.memory_bytes()
    assert machine.allowed_memory_bytes(root) == (whole if allowed is None else min(allowed, whole))


LIMIT = st.one_of(st.none(), st.integers(1, 10**7))


@given(st.lists(LIMIT, min_size=1, max_size=5), st.integers(1000, 10**6))
def test_of_nested_groups_the_tightest_counts_in_both_versions(
    tmp_path_factory: pytest.TempPathFactory, quotas: list[int | None], period: int
) -> None:
    names = [f"g{number}" for number in range(len(quotas))]
    paths = ["/".join(names[: number + 1]) for number in range(len(names))]
    second: dict[str, str | bytes] = {"proc/self/cgroup": f"0::/{paths[-1]}\n"}
    first: dict[str, str | bytes] = {"proc/self/cgroup": f"3:cpuacct,cpu:/{paths[-1]}\n1:memory:/{paths[-1]}\n"}
    for path, quota in zip(paths, quotas, strict=True):
        second |= group(path, cpu__max=f"{quota or 'max'} {period}\n", memory__max=f"{quota or 'max'}\n")
        first |= group(f"cpu/{path}", cpu__cfs_quota_us=f"{quota or -1}\n", cpu__cfs_period_us=f"{period}\n")
        first |= group(f"memory/{path}", memory__limit_in_bytes=f"{quota}\n" if quota else ENDLESS)
    least = min(filter(None, quotas), default=None)
    for files in (first, second):
        found = host.look(machine_of(tmp_path_factory.mktemp("root"), files), (0,))
        assert found.memory_limit_bytes == least
        assert found.cgroup_cpus == (least and least / period)


@given(st.sets(st.integers(0, 9000)))
def test_a_list_of_cpus_is_read_as_it_is_written(cpus: set[int]) -> None:
    text = host.list_text(cpus)
    assert host.cpu_list(text) == cpus
    assert host.cpu_list(f"{text}\n") == cpus


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-2,8", {0, 1, 2, 8}), ("", set()), ("(null)", set()), ("5", {5}), ("0-99999999999", set()), ("²", set()),
        ("3-", set()), ("2-1", set()),
    ],
)  # fmt: skip
def test_lists_of_cpus(text: str, cpus: set[int]) -> None:
    assert host.cpu_list(text) == cpus


@given(st.text())
def test_no_text_of_a_control_group_breaks_its_reader(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    written = text.encode("utf-8", "replace")
    names = ("cpu.max", "memory.max", "cpuset.cpus.effective")
    files: dict[str, str | bytes] = {f"sys/fs/cgroup/{name}": written for name in names}
    files["proc/self/cgroup"] = b"0::/\n" + written
    found = host.look(machine_of(tmp_path_factory.mktemp("root"), files), (0,))
    assert found.cgroup_cpus is None or found.cgroup_cpus > 0
    assert found.memory_limit_bytes is None or 0 <= found.memory_limit_bytes < host.NO_LIMIT_BYTES


# -- CPUs --------------------------------------------------------------------------------------------------------------


def cpus_of(online: str, offline: str = "", **more: str) -> dict[str, str | bytes]:
    return {f"{SYS_CPU}/online": online, f"{SYS_CPU}/offline": offline, **more}


@pytest.mark.parametrize(
    ("files", "mask", "state", "seen"),
    [
        ({}, (0, 1), "good", "CPUs 0-1"),
        (cpus_of("0-1\n", "\n"), (0, 1), "good", "CPUs 0-1, all that are online"),
        (cpus_of("0-3\n"), (2, 3), "note", "CPUs 2-3 of 0-3 that are online, by a mask"),
        (cpus_of("0-3\n"), (0, 3), "note", "CPUs 0,3 of 0-3 that are online, with holes"),
        (
            {**cpus_of("0-3\n"), "proc/self/cgroup": "0::/a\n", **group("a", cpuset__cpus__effective="2-3\n")}, (2, 3),
            "note", "by a control group",
        ),
        (
            {**cpus_of("0-3"), "proc/self/cgroup": "2:cpuset:/a\n", **group("cpuset/a", cpuset__effective_cpus="2\n")},
            (2,), "note", "by a control group",
        ),
        (
            {**cpus_of("0-3\n"), "proc/self/cgroup": "0::/a\n", **group("a", cpuset__cpus__effective="2-3\n")}, (2,),
            "note", "by a mask",
        ),
        (cpus_of("0-3\n", "4-7\n"), (0, 1, 2, 3), "note", "CPUs 4-7 are switched off"),
        ({**cpus_of("0-3\n", "4-7\n"), f"{SYS_CPU}/smt/control": "off\n"}, (0, 1, 2, 3), "good", "all that are online"),
        (cpus_of("0,2\n", "1,3\n"), (0, 2), "note", "CPUs 0,2, all that are online; CPUs 1,3 are switched off"),
    ],
)  # fmt: skip
def test_the_mask_is_held_against_the_cpus_there_are(
    tmp_path: Path, files: dict[str, str | bytes], mask: tuple[int, ...], state: str, seen: str
) -> None:
    found = host.mask(host.look(machine_of(tmp_path, files), mask))
    assert found.state == state
    assert seen in found.seen
    assert bool(found.advice) is (state != "good")


def each(file: str, *values: str) -> dict[str, str | bytes]:
    return {f"{SYS_CPU}/cpu{cpu}/{file}": value for cpu, value in enumerate(values)}


FREQUENCY, CPPC = "cpufreq/cpuinfo_max_freq", "acpi_cppc/highest_perf"
BIG_LITTLE = each("cpu_capacity", "446\n", "446\n", "1024\n", "1024\n")
HYBRID: dict[str, str | bytes] = {"sys/devices/cpu_core/cpus": "0-1\n", "sys/devices/cpu_atom/cpus": "2-5\n"}


@pytest.mark.parametrize(
    ("files", "mask", "told"),
    [
        ({}, (0, 1), None),
        (each("cpu_capacity", "1024\n", "1024\n"), (0, 1), None),
        (BIG_LITTLE, range(4), "capacity: 446 of CPUs 0-1, 1024 of CPUs 2-3"),
        (BIG_LITTLE, (2, 3), None),
        (each(FREQUENCY, "5000000", "3800000"), (0, 1), "kHz at most: 3800000 of CPUs 1, 5000000 of CPUs 0"),
        (each(FREQUENCY, "5000000", "4990000"), (0, 1), None),  # less than a median may be off
        (each(CPPC, "231", "166", "231"), range(3), "highest performance: 166 of CPUs 1, 231 of CPUs 0,2"),
        (each(CPPC, "0", "166", "x"), range(3), None),
        (HYBRID, range(6), "P cores 0-1, E cores 2-5"),
        (HYBRID, (1, 4), "P cores 1, E cores 4"),
        (HYBRID, (2, 3), None),
        ({**HYBRID, **each("cpu_capacity", "1024", "1024", "446")}, (0, 1, 2), "P cores 0-1, E cores 2"),
        ({**each("cpu_capacity", "1024", "1024"), **each(FREQUENCY, "2", "1")}, (0, 1), "kHz at most: 1 of"),
    ],
)  # fmt: skip
def test_cores_of_different_speed_are_told_of_those_in_the_mask(
    tmp_path: Path, files: dict[str, str | bytes], mask: tuple[int, ...], told: str | None
) -> None:
    limits = host.look(machine_of(tmp_path, files), mask)
    if told is None:
        assert limits.core_speeds is None
    else:
        assert str(limits.core_speeds).startswith(told)
    assert host.speeds(limits).state == ("good" if told is None else "note")


# -- what it means -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "subject", "state", "said"),
    [
        (HostLimits(), "CPU limit", "good", "none"),
        (HostLimits(cgroup_cpus=2.0), "CPU limit", "good", "2 cores' worth"),
        (HostLimits(cgroup_cpus=1.0), "CPU limit", "note", "1 core's worth of time for ranks on 2 cores"),
        (HostLimits(cgroup_cpus=1.5), "CPU limit", "note", "not those of the cores and make no reference"),
        (HostLimits(), "memory limit", "good", "none"),
        (HostLimits(memory_limit_bytes=2 * GIB), "memory limit", "good", "2 GiB for 2 ranks"),
        (HostLimits(memory_limit_bytes=GIB), "memory limit", "note", "raise the control group's limit to 2 GiB"),
        (HostLimits(), "/dev/shm", "good", "no limit"),
        (HostLimits(shm_bytes=64 * MIB, shm_free_bytes=64 * MIB), "/dev/shm", "good", "64 MiB free of 64 MiB"),
        (HostLimits(shm_bytes=64 * MIB, shm_free_bytes=20 * MIB), "/dev/shm", "note", "20 MiB free of 64 MiB"),
        (HostLimits(shm_bytes=8 * MIB, shm_free_bytes=8 * MIB), "/dev/shm", "lacking", "Open MPI 5 does not start"),
        (HostLimits(shm_bytes=0, shm_free_bytes=0), "/dev/shm", "lacking", "make it 32 MiB at least"),
    ],
)
def test_a_limit_says_what_it_means_and_what_to_do(limits: HostLimits, subject: str, state: str, said: str) -> None:
    found = {one.subject: one for one in host.findings(limits, cores=2, ranks=2)}[subject]
    assert found.state == state
    assert said in f"{found.seen}: {found.advice}"
    assert (f"{subject}: " in "".join(host.notes([found]))) is (state != "good")


def test_shared_memory_is_needed_by_every_rank() -> None:
    of_a_container = HostLimits(shm_bytes=64 * MIB, shm_free_bytes=64 * MIB)
    states = {ranks: host.shared_memory(of_a_container, ranks).state for ranks in (1, 4, 5)}
    assert states == {1: "good", 4: "good", 5: "note"}
    assert "80 MiB" in host.shared_memory(of_a_container, 5).advice


def test_a_tmpfs_without_a_size_has_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert host.shm_bytes(tmp_path) == (0, 0)  # nothing there
    (tmp_path / host.SHM).mkdir(parents=True)
    whole, free = host.shm_bytes(tmp_path)
    assert whole is not None
    assert free is not None
    assert 0 < free <= whole
    endless = os.statvfs_result((4096, 4096, 0, 0, 0, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _path: endless)
    assert host.shm_bytes(tmp_path) == (None, None)


# -- what manifests keep -----------------------------------------------------------------------------------------------

FACTS = HostLimits(
    shm_bytes=64 * MIB, shm_free_bytes=MIB, allowed_cpus="0-1", online_cpus="0-1", cgroup_cpus=1.0
).as_facts()


def test_the_manifest_has_all_limits_and_json_takes_them() -> None:
    facts = machine.host_facts()
    assert set(host_limits.NAMES) == set(HostLimits().as_facts()) <= set(facts)
    assert json.loads(json.dumps(facts)) == facts
    assert facts["allowed_cpus"] == host.list_text(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({"cgroup_cpus": None}, ["host cgroup_cpus: 1 -> none"]),
        ({"allowed_cpus": "1"}, ["host allowed_cpus: 0-1 -> 1"]),
        ({"shm_bytes": 8 * MIB}, ["host shm_bytes: 67108864 -> 8388608"]),
        ({"memory_limit_bytes": GIB}, ["host memory_limit_bytes: none -> 1073741824"]),
        ({"core_speeds": "P cores 0, E cores 1"}, ["host core_speeds: none -> P cores 0, E cores 1"]),
        ({"shm_free_bytes": 5}, []),
    ],
)
def test_a_difference_of_the_limits_explains_a_change(after: Mapping[str, Any], said: list[str]) -> None:
    assert manifest_changes({"host": FACTS}, {"host": {**FACTS, **after}}) == said
    assert host_limits.differences([FACTS], [{**FACTS, **after}]) == said
    assert manifest.is_another("host", FACTS, {**FACTS, **after}) is bool(said)


def test_a_node_that_differs_from_run_to_run_explains_a_change() -> None:
    def manifest(*nodes: dict[str, Any], of_jobs: bool = False) -> dict[str, Any]:
        usual = {"memory_bytes": GIB, "governor": "performance"}
        facts = [{"host": {**usual, **node}, "governor": {**usual, **node}["governor"]} for node in nodes]
        return {"jobs": [{"nodes": facts}]} if of_jobs else {"nodes": facts}

    before = manifest({"name": "n1", "kernel": "6.1"}, {"name": "n2", "kernel": "6.1"})
    for of_jobs in (False, True):
        mended = {"name": "n2", "kernel": "6.2", "governor": "powersave", "memory_bytes": GIB // 2}
        after = manifest({"name": "n1", "kernel": "6.1"}, mended, {"name": "n3", "kernel": "5.0"}, of_jobs=of_jobs)
        assert manifest_changes(before, after) == [
            "node n2 governor: performance -> powersave",
            "node n2 kernel: 6.1 -> 6.2",
            "node n2 memory: 1 GiB -> 512 MiB",
        ]
    assert manifest_changes(before, manifest({"name": "n1", "kernel": "6.1"})) == []
    assert manifest_changes({}, before) == []


def with_limits(**limits: Any) -> dict[str, Any]:
    return {"host": {"name": "n", "cpu": "c", "cores": 2, **HostLimits(allowed_cpus="0-1").as_facts(), **limits}}


def test_show_and_the_report_describe_the_limits(tmp_path: Path, inside: Command) -> None:
    folder = archived(
        tmp_path, name_of(1), manifest=with_limits(cgroup_cpus=1.0, shm_bytes=64 * MIB, online_cpus="0-3")
    )
    told = "CPU limit 1 core, memory limit none, /dev/shm 64 MiB, CPUs 0-1 of 0-3"
    assert f"limits      {told}" in inside("show", str(folder.path), "--provenance").stdout
    page = tmp_path / "report.html"
    assert inside("report", str(folder.path), "-o", str(page)).returncode == 0
    assert told in page.read_text()


def test_compare_names_other_limits_of_the_sides(tmp_path: Path, inside: Command) -> None:
    runs = [
        archived(tmp_path, name_of(day), manifest=with_limits(cgroup_cpus=cpus, shm_free_bytes=day))
        for day, cpus in ((1, None), (2, 2.0), (3, 2.0))
    ]
    words = ("--output", str(tmp_path))
    said = inside("compare", runs[0].run, runs[1].run, *words).stdout
    assert "note: not on the same terms: host cgroup_cpus: none -> 2" in said
    assert "same terms" not in inside("compare", runs[1].run, runs[2].run, *words).stdout


def test_what_a_cpu_limit_stopped_is_no_reference_and_is_not_accepted(
    systems: Path, tmp_path: Path, inside: Command
) -> None:
    """Nor where one session of a run was stopped, which was resumed without the limit."""
    root = tmp_path / "results"
    words = ("--output", str(root))
    names = [
        archived(root, name_of(1), manifest=with_limits(cgroup_cpus=1.0)).run,
        archived(root, name_of(2), manifest=with_limits(cgroup_cpus=1.5)).run,
        archived(root, name_of(3), manifest=with_limits() | {"sessions": [with_limits(cgroup_cpus=0.5)]}).run,
    ]
    refused(inside("baseline", *names, *words), "no reference can be made", "stopped its ranks on 2 cores")
    said = inside("compare", names[0], names[1], *words).stdout
    assert f"run {names[0]}: a CPU limit of 1 stopped its ranks on 2 cores" in said
    criteria = tmp_path / "criteria.yaml"
    criteria.write_text(CRITERIA)
    done = inside("accept", names[0], "--criteria", str(criteria), *words)
    assert done.returncode == 1
    assert "NOT TESTED" in done.stdout
    assert "a CPU limit of 1 stopped its ranks" in done.stdout
    wide = [archived(root, name_of(day), manifest=with_limits(cgroup_cpus=2.0)).run for day in (5, 6, 7)]
    assert inside("baseline", *wide, *words).returncode == 0


CRITERIA = """
title: of a test
criteria:
  - name: it serialises
    metric: r_overhead
    at_most: 9
"""


# -- this machine ------------------------------------------------------------------------------------------------------


def _cpu_group() -> tuple[Path, dict[str, str]] | None:
    """A folder in which control groups with a limit of CPU time can be made, and the files that set one core."""
    for top, files in (
        (Path("/sys/fs/cgroup/cpu"), {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "100000"}),
        (Path("/sys/fs/cgroup"), {"cpu.max": "100000 100000"}),
    ):
        trial = top / f"campaign-test-{os.getpid()}"
        try:
            trial.mkdir()
        except OSError:
            continue
        try:
            if all((trial / name).exists() for name in files) and os.access(trial / "cgroup.procs", os.W_OK):
                return top, files
        finally:
            trial.rmdir()
    return None


@pytest.fixture
def one_core() -> Iterator[Path]:
    """A control group of this machine that gives its processes one core's worth of time."""
    found = _cpu_group()
    if found is None:
        pytest.skip("control groups: none with a limit of CPU time can be made here")
    top, files = found
    folder = top / f"campaign-test-{os.getpid()}-one"
    folder.mkdir()
    try:
        for name, text in files.items():
            (folder / name).write_text(text)
        yield folder
    finally:
        folder.rmdir()


@pytest.fixture
def small_shm() -> str:
    """The beginning of a shell's words that give what follows a /dev/shm of 8 MiB, in a mount namespace of its own."""
    if not shutil.which("unshare"):
        pytest.skip("mounts: no unshare on PATH")
    words = "mount --make-rprivate / && mount -t tmpfs -o size=8m tmpfs /dev/shm && "
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"{words} true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mounts: none can be made here ({done.stderr.strip()})")
    return words


def told(words: str, *command: str) -> str:
    """What `python -m mpi_campaign` prints after a shell's words, in a mount namespace of its own."""
    line = shlex.join([sys.executable, "-m", "mpi_campaign", *command])
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{words} exec {line}"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(machine.cores().physical < 2, reason="there is one core anyway")
def test_real_limits_are_told_by_the_doctor_and_by_a_run(one_core: Path, small_shm: str) -> None:
    words = f"echo $$ > {one_core / 'cgroup.procs'} && {small_shm}"
    found = json.loads(told(words, "doctor", "--no-timing", "--json"))
    assert finding_of(found, "CPU limit")["state"] == "note"
    assert finding_of(found, "CPU limit")["seen"].startswith("1 core's worth of time")
    assert finding_of(found, "/dev/shm")["state"] == "lacking"
    assert finding_of(found, "/dev/shm")["seen"] == "8 MiB free of 8 MiB for 2 ranks"
    said = told(words, "run", "--dry-run", "--network", "shm", "--configuration", "basic")
    first_step = said.partition("[2/")[0]
    assert "CPU limit: 1 core's worth of time for ranks on 2 cores: it stops ranks in mid-measurement" in first_step
    assert "/dev/shm: 8 MiB free of 8 MiB for 2 ranks: Open MPI 5 does not start" in first_step


@pytest.mark.slow
@pytest.mark.rare
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2 or not shutil.which("taskset"), reason="no CPU can be left out")
def test_a_real_mask_is_told_by_the_doctor_and_by_a_run() -> None:
    cpu = max(os.sched_getaffinity(0))

    def masked(*words: str) -> str:
        line = ["taskset", "-c", str(cpu), sys.executable, "-m", "mpi_campaign", *words]
        done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    found = finding_of(json.loads(masked("doctor", "--no-timing", "--json")), "CPU mask")
    assert found["state"] == "note"
    assert found["seen"].startswith(f"CPUs {cpu} of ")
    said = masked("run", "--dry-run", "--network", "shm", "--configuration", "basic", "--ranks", "1",
                  "--benchmark", "mpi_impact")  # fmt: skip
    assert f"CPU mask: CPUs {cpu} of " in said.partition("[2/")[0]
