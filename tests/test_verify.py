"""What was promised and is absent is a fault: judged from records made for it."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import files
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.planning.cases import Case
from mpi_campaign.running import verify
from tests.postprocess import synthetic
from tests.postprocess.synthetic_impact import Lines, slowed
from tests.postprocess.synthetic_impact import synthetic as synthetic_impact

PAYLOAD_BYTES = 10**15


def judge(
    tmp_path: Path,
    lines: list[dict[str, Any]],
    link_bytes: int | None = PAYLOAD_BYTES,
    basic_lines: list[dict[str, Any]] | None = None,
    **case: Any,
) -> list[str]:
    basic = synthetic.write(tmp_path / "basic.jsonl", basic_lines or synthetic.sweep(grid=(16,)))
    record = synthetic.write(tmp_path / "record.jsonl", lines)
    wire = tmp_path / "wire.json"
    if link_bytes is not None:
        wire.write_text(json.dumps({"rate": "2gbit", "link_bytes": link_bytes}))
    first = {name: lines[0][name] for name in ("toolchain", "provider", "network", "configuration", "benchmark")}
    named: dict[str, Any] = {**first, "environment": "openmpi-5_0_11", "collective": "ibcast", **case}
    wanted = Case.from_dict(named)
    family, _, version = wanted.toolchain.partition("@")
    return verify.faults_of_file(record, wanted, family, version, basic, wire)


def async_lines(**changes: Any) -> list[dict[str, Any]]:
    return synthetic.sweep(synthetic.PERFECT, grid=(16,), configuration="async", **changes)


def test_a_good_record_has_no_fault(tmp_path: Path) -> None:
    assert judge(tmp_path, synthetic.sweep(grid=(16,))) == []
    assert judge(tmp_path, async_lines()) == []


def test_a_record_that_was_cut_off_by_a_full_disk_names_the_disk_and_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = "No space left on device (file system /home)"
    monkeypatch.setattr(files, "why_full", lambda _folder: full)
    lines = synthetic.sweep(grid=(16,))
    assert judge(tmp_path, lines) == []  # it was full, but all of the record is there
    host = lines[0]["placement"][0]["host"]
    assert judge(tmp_path, lines[:-1]) == [f"rank 0 on {host} could not write its record: {full}"]


def test_a_record_without_one_valid_point(tmp_path: Path) -> None:
    lines = synthetic.sweep(repetitions=3, grid=(16,))
    assert "none of its 1 points is valid: fewer than 6 repetitions (3)" in judge(tmp_path, lines)[0]


def test_wrong_values_received(tmp_path: Path) -> None:
    lines = synthetic.sweep(grid=(16,))
    lines[1]["data_errors"] = 3
    assert judge(tmp_path, lines) == ["3 wrong values were received"]


@pytest.mark.parametrize(
    ("says", "fault"),
    [
        ("Open MPI v4.1.8, package", "version 4.1.8, not 5.0.11"),
        ("", "not Open MPI: nothing"),
    ],
)
def test_another_library_than_was_promised(tmp_path: Path, says: str, fault: str) -> None:
    assert fault in judge(tmp_path, synthetic.sweep(grid=(16,), mpi_library_version=says))[0]


def test_a_library_may_leave_out_the_end_of_its_version(tmp_path: Path) -> None:
    says: dict[str, Any] = {"mpi_library_version": "Intel(R) MPI Library 2021.18 for Linux* OS"}
    lines = synthetic.sweep(grid=(16,), toolchain="intel@2021.18.1", **says)
    assert judge(tmp_path, lines) == []
    lines = synthetic.sweep(grid=(16,), toolchain="intel@2021.17.1", **says)
    assert judge(tmp_path, lines) == ["the library says that it is version 2021.18, not 2021.17.1"]


def test_two_threads_on_one_core(tmp_path: Path) -> None:
    lines = synthetic.sweep(grid=(16,))
    lines[0]["placement"][1]["compute_cpusets"] = ["0"]
    assert judge(tmp_path, lines) == ["2 computing threads are bound to CPU 0 of node 0"]
    lines[0]["oversubscribed"] = True
    assert judge(tmp_path, lines) == []


# -- configurations, two ranks with a share of four cores each ---------------------------------------------------------

SHARES = ("0-3", "4-7")
LAST = ("3", "7")
BUSY = 3_000_000_000


def configured(configuration: str, **changes: Any) -> list[dict[str, Any]]:
    """A record in which everything is as the configuration promises."""
    asked = CONFIGURATIONS[configuration]
    given_up = int(asked.gives_up_core)
    pinned_by = {"application": "program", "library": "library", "none": "none"}[asked.progress]
    progress = {"source": asked.progress, "pinned_by": pinned_by if asked.bound else "none", "given_up_cores": given_up}
    lines = synthetic.sweep(
        grid=(16,), configuration=configuration, threads_per_rank=4 - given_up, physical_cores=8, progress=progress,
        **changes,
    )  # fmt: skip
    header, footer = lines[0], lines[-1]
    for place, share, last in zip(header["placement"], SHARES, LAST, strict=True):
        first = int(share[0])
        thread = [{"name": "progress", "cpuset": last if asked.bound else share}]
        place |= {
            "cpuset": share,
            "physical_cores": 4,
            "compute_cpusets": [str(cpu) for cpu in range(first, first + 4 - given_up)],
            "mpi_threads": thread if asked.progress == "library" else [],
            "helper_threads": thread if asked.progress == "application" else [],
            "dedicated_cpuset": last if asked.bound else "",
        }
    busy = {"library": "mpi_thread_cpu_ns", "application": "helper_thread_cpu_ns"}
    footer |= {"mpi_thread_cpu_ns": [[], []], "helper_thread_cpu_ns": [[], []]}
    if asked.progress in busy:
        footer[busy[asked.progress]] = [[BUSY], [BUSY]]
    if asked.progress == "application":
        header["thread_level_required"] = "multiple"
    return lines


def judged(tmp_path: Path, lines: list[dict[str, Any]], **case: Any) -> list[str]:
    return judge(tmp_path, lines, basic_lines=configured("basic"), **case)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_what_is_as_promised_has_no_fault(tmp_path: Path, configuration: str) -> None:
    assert judged(tmp_path, configured(configuration)) == []


@pytest.mark.parametrize("configuration", ["async", "dedicated", "dedicated_unbound"])
def test_the_librarys_thread_must_be_there_and_work(tmp_path: Path, configuration: str) -> None:
    lines = configured(configuration)
    lines[-1]["mpi_thread_cpu_ns"] = [[BUSY], [0]]
    (fault,) = judged(tmp_path, lines)
    assert fault == (
        "rank 1's progress thread did nothing: of the time of communication alone it was 0.0% on the CPU more than in "
        "basic"
    )
    lines = configured(configuration)
    lines[0]["placement"][1]["mpi_threads"] = []
    lines[-1]["mpi_thread_cpu_ns"] = [[BUSY], []]
    assert judged(tmp_path, lines) == ["rank 1 has no progress thread: 0 threads of the library, 0 in basic"]


def test_ranks_on_other_hosts_than_those_asked_for_are_a_fault(tmp_path: Path) -> None:
    lines = configured("basic")
    host = lines[0]["placement"][0]["host"]
    lines[0]["metadata"]["hosts"] = [host]
    assert judged(tmp_path, lines) == []
    lines[0]["metadata"]["hosts"] = ["n7"]
    assert judged(tmp_path, lines) == [f"the ranks ran on {host}, not on n7"]


def test_a_rank_outside_the_mask_or_its_share_is_named_with_its_host_and_cpus(tmp_path: Path) -> None:
    lines = configured("basic")
    lines[0]["metadata"] = {"allowed_cpus": "0-7", "shares": ["0-3", "4-7"]}
    assert judged(tmp_path, lines) == []
    host = lines[0]["placement"][1]["host"]
    lines[0]["metadata"]["shares"] = ["0-3", "5-7"]
    assert judged(tmp_path, lines) == [f"rank 1 on {host} may run on CPUs 4-7; its share is CPUs 5-7"]
    lines[0]["metadata"]["allowed_cpus"] = "0-6"
    assert judged(tmp_path, lines) == [f"rank 1 on {host} may run on CPUs 4-7; the campaign may use CPUs 0-6 only"]


def test_cpus_are_judged_host_by_host_where_hosts_differ_in_them(tmp_path: Path) -> None:
    lines = configured("basic")
    for number, (rank, host) in enumerate(zip(lines[0]["placement"], ("n1", "n2"), strict=True)):
        rank["host"], rank["node"], rank["cpuset"] = host, number, "0-3"
    lines[0]["nodes"] = 2
    by_host = {"n1": {"allowed_cpus": "0-3", "shares": ["0-3"]}, "n2": {"allowed_cpus": "0-7", "shares": ["0-3"]}}
    lines[0]["metadata"] = {"allowed_cpus": "", "shares": [], "by_host": by_host}
    assert judged(tmp_path, lines, nodes=2) == []
    by_host["n2"]["shares"] = ["4-7"]
    assert judged(tmp_path, lines, nodes=2) == ["rank 1 on n2 may run on CPUs 0-3; its share is CPUs 4-7"]
    by_host["n1"]["allowed_cpus"] = "0-1"
    assert "rank 0 on n1 may run on CPUs 0-3; the campaign may use CPUs 0-1 only" in judged(tmp_path, lines, nodes=2)
    by_host["n3"] = by_host.pop("n2")
    assert "rank 1 runs on n2, which is none of the hosts: n1, n3" in judged(tmp_path, lines, nodes=2)


def test_ranks_that_did_not_find_each_other(tmp_path: Path) -> None:
    lines = configured("basic")
    lines[0]["metadata"] = {"ranks": 2}
    assert judged(tmp_path, lines) == []
    lines[0]["metadata"] = {"ranks": 4}
    assert judged(tmp_path, lines) == ["the run was of 2 ranks, not of 4"]


def placed(lines: list[dict[str, Any]], rank: int, threads: str) -> dict[str, Any]:
    """The only one of these threads of a rank."""
    (thread,) = lines[0]["placement"][rank][threads]
    found: dict[str, Any] = thread
    return found


@pytest.mark.parametrize(
    ("configuration", "spoil", "fault"),
    [
        ("apphelper", lambda lines: lines[0]["progress"].update(source="library"),
         "its progress thread is of library, not of application"),
        ("apphelper", lambda lines: lines[0].update(thread_level_provided="serialized"),
         "the library provides MPI_THREAD_SERIALIZED, not MPI_THREAD_MULTIPLE"),
        ("apphelper", lambda lines: lines[0]["placement"][0].update(helper_threads=[]),
         "rank 0 has no progress thread of the application"),
        ("apphelper", lambda lines: placed(lines, 0, "helper_threads").update(cpuset="0-3"),
         "rank 0's progress thread may run on CPU 0-3, not on its dedicated core 3 alone"),
        ("apphelper", lambda lines: lines[-1].update(helper_thread_cpu_ns=[[BUSY], [0]]),
         "rank 1's progress thread did nothing: of the time of communication alone it was 0.0% on the CPU"),
        ("dedicated", lambda lines: placed(lines, 1, "mpi_threads").update(cpuset="4-7"),
         "rank 1's progress thread may run on CPU 4-7, not on its dedicated core 7 alone"),
        ("dedicated_unbound", lambda lines: placed(lines, 1, "mpi_threads").update(cpuset="7"),
         "rank 1's progress thread is bound to CPU 7, and was not to be bound to a core"),
        ("basic_reduced",
         lambda lines: (lines[0]["placement"][0].update(mpi_threads=[{"name": "progress", "cpuset": "0-3"}]),
                        lines[-1].update(mpi_thread_cpu_ns=[[0], []])),
         "rank 0 has a progress thread, and was to have none: 1 threads of the library, 0 in basic"),
    ],
)  # fmt: skip
def test_a_progress_thread_that_is_not_as_promised_is_the_only_fault(
    tmp_path: Path, configuration: str, spoil: Callable[[Lines], object], fault: str
) -> None:
    lines = configured(configuration)
    spoil(lines)
    assert judged(tmp_path, lines) == [fault]


def test_idle_threads_of_the_library_may_stay_where_they_are(tmp_path: Path) -> None:
    basic, lines = configured("basic"), configured("dedicated")
    for record, times in ((basic, [0]), (lines, [0, BUSY])):
        for place, share in zip(record[0]["placement"], SHARES, strict=True):
            place["mpi_threads"] = [{"name": "idle", "cpuset": share}, *place["mpi_threads"]]
        record[-1]["mpi_thread_cpu_ns"] = [times, times]
    assert judge(tmp_path, lines, basic_lines=basic) == []


def test_a_core_of_two_hardware_threads_is_one_core(tmp_path: Path) -> None:
    lines = configured("dedicated")
    for place, share, last in zip(lines[0]["placement"], ("0-3,8-11", "4-7,12-15"), ("3,11", "7,15"), strict=True):
        place |= {"cpuset": share, "dedicated_cpuset": last}
    assert judged(tmp_path, lines) == []


@pytest.mark.parametrize("configuration", ["dedicated", "apphelper"])
def test_nothing_computes_on_a_dedicated_core(tmp_path: Path, configuration: str) -> None:
    lines = configured(configuration)
    lines[0]["placement"][0]["compute_cpusets"][-1] = "3"
    assert judged(tmp_path, lines) == ["rank 0 computes on CPU 3, its dedicated core"]
    lines[0]["placement"][0]["compute_cpusets"][-1] = "0-3"
    assert judged(tmp_path, lines) == ["rank 0 computes on CPU 3, its dedicated core"]
    lines[0]["placement"][0] |= {"dedicated_cpuset": "", "compute_cpusets": ["0", "1", "2"]}
    assert judged(tmp_path, lines) == ["rank 0 has no dedicated core"]


def test_a_thread_that_only_wakes_up_now_and_then_is_not_at_work(tmp_path: Path) -> None:
    """Half a per cent of the communication, in basic or beyond it."""
    lines = configured("async")
    communicated = sum(sum(line["series"]["t_comm_ref_ns"]) for line in lines if line["type"] == "point")
    lines[-1]["mpi_thread_cpu_ns"] = [[round(0.005 * communicated)], [BUSY]]
    (fault,) = judged(tmp_path, lines)
    assert fault.startswith("rank 0's progress thread did nothing: ")
    assert "0.5% on the CPU" in fault
    basic = configured("basic")
    basic[-1]["mpi_thread_cpu_ns"] = [[round(0.05 * communicated)]] * 2
    lines[-1]["mpi_thread_cpu_ns"] = [[round(0.055 * communicated)]] * 2
    found = judge(tmp_path, lines, basic_lines=basic)
    assert [fault.split("'")[0] for fault in found] == ["rank 0", "rank 1"]
    lines[-1]["mpi_thread_cpu_ns"] = [[round(0.07 * communicated)]] * 2
    assert judge(tmp_path, lines, basic_lines=basic) == []


UNASKED = [name for name, one in CONFIGURATIONS.items() if one.progress != "library"]


def with_idle_threads(configuration: str, cpu_ns: tuple[int, int], **changes: Any) -> list[dict[str, Any]]:
    """Each rank has a thread of the library that nobody asked for, and that used so much of the 12.5 s."""
    lines = configured(configuration, **changes)
    for place, share in zip(lines[0]["placement"], SHARES, strict=True):
        place["mpi_threads"] = [{"name": "idle", "cpuset": share}]
    lines[-1]["mpi_thread_cpu_ns"] = [[spent] for spent in cpu_ns]
    return lines


@pytest.mark.parametrize("configuration", UNASKED)
def test_threads_of_the_library_that_nobody_asked_for_make_no_progress(tmp_path: Path, configuration: str) -> None:
    """Of 12.5 s they may use a hundredth, and what it takes to start them: 145 ms."""
    basic = with_idle_threads("basic", (0, 0))
    lines = with_idle_threads(configuration, (145_000_000, BUSY))
    assert judge(tmp_path, lines, basic_lines=basic) == [
        "rank 1's threads of the library used 3.0 s of CPU in 12.5 s: they make progress, and were not to"
    ]
    assert judge(tmp_path, with_idle_threads(configuration, (8_000_000, 145_000_000)), basic_lines=basic) == []
    (fault,) = judge(tmp_path, with_idle_threads(configuration, (0, 146_000_000)), basic_lines=basic)
    assert fault.startswith("rank 1's threads of the library used 0.1 s of CPU in 12.5 s: ")


@pytest.mark.parametrize("configuration", UNASKED)
@pytest.mark.parametrize(
    "changes", [{"toolchain": "madmpi@2024"}, {"toolchain": "acme@1"}, {"network": "native"}], ids=str
)
def test_what_a_library_or_its_network_does_by_itself_is_no_fault(
    tmp_path: Path, configuration: str, changes: dict[str, str]
) -> None:
    """MadMPI's basic progresses; of an unknown library, or of a network that it chose, nothing was promised."""
    lines = with_idle_threads(configuration, (BUSY, BUSY), **changes)
    assert judge(tmp_path, lines, basic_lines=with_idle_threads("basic", (0, 0))) == []


def test_open_mpis_progress_thread_is_found_in_basic(tmp_path: Path) -> None:
    """Over TCP it uses 2 to 8 % of the time where it is on; the thread that is always there 8 ms at most."""
    lines = configured("basic")
    lines[-1]["mpi_thread_cpu_ns"] = [[3_346_126, 1_000_000_000], [3_591_246]]
    (fault,) = judged(tmp_path, lines)
    assert fault.startswith("rank 0's threads of the library used 1.0 s of CPU in 12.5 s")


@pytest.mark.parametrize("configuration", [name for name, one in CONFIGURATIONS.items() if one.gives_up_core])
def test_a_core_is_given_up_and_one_thread_fewer_computes(tmp_path: Path, configuration: str) -> None:
    lines = configured(configuration)
    lines[0]["threads_per_rank"] = 4
    for line in lines[1:-1]:
        line.pop("thread_medians")
    assert judged(tmp_path, lines) == ["4 threads of each rank compute: 4 in basic, 1 given up"]
    lines = configured(configuration)
    lines[0]["progress"]["given_up_cores"] = 0
    assert judged(tmp_path, lines)[0] == "each rank gave up 0 cores, not 1"


@pytest.mark.parametrize("configuration", ["dedicated", "apphelper"])
def test_on_one_core_it_is_oversubscribed_and_says_so(tmp_path: Path, configuration: str) -> None:
    basic = synthetic.sweep(grid=(16,))
    lines = configured(configuration, oversubscribed=True)
    lines[0]["progress"]["given_up_cores"] = 0
    lines[0]["threads_per_rank"] = 1
    for rank, place in enumerate(lines[0]["placement"]):
        own = [{"name": "progress", "cpuset": str(rank)}]
        place |= {
            "cpuset": str(rank), "physical_cores": 1, "compute_cpusets": [str(rank)], "dedicated_cpuset": str(rank),
        }  # fmt: skip
        place |= {name: own for name in ("mpi_threads", "helper_threads") if place[name]}
    for line in lines[1:-1]:
        line.pop("thread_medians")
    assert judge(tmp_path, lines, basic_lines=basic) == []


def test_a_library_that_progresses_in_basic_needs_no_more_threads_than_there(tmp_path: Path) -> None:
    basic, lines = configured("async"), configured("dedicated", toolchain="madmpi@2024", network="native")
    basic[0]["configuration"], basic[0]["progress"]["source"] = "basic", "none"
    assert judge(tmp_path, lines, basic_lines=basic) == []
    lines[0]["placement"][0]["mpi_threads"][0]["cpuset"] = "0-3"
    assert "not on its dedicated core" in judge(tmp_path, lines, basic_lines=basic)[0]


# -- networks ----------------------------------------------------------------------------------------------------------


def test_what_the_ranks_sent_over_tcp_is_held_against_the_payload(tmp_path: Path) -> None:
    lines = synthetic.sweep(grid=(16,))
    lines[-1]["tcp_bytes_sent"] = [1000, 2000]
    (fault,) = judge(tmp_path, lines)
    assert fault.startswith("the ranks sent 3000 bytes over TCP, less than the payload of")
    lines[-1]["tcp_bytes_sent"] = [1000, None]  # not known
    assert judge(tmp_path, lines) == []


def test_between_nodes_the_payload_goes_over_tcp_where_that_was_asked_for(tmp_path: Path) -> None:
    lines = synthetic.sweep(grid=(16,), network="tcp", nodes=2)
    for number, rank in enumerate(lines[0]["placement"]):
        rank["node"] = number
    lines[-1]["tcp_bytes_sent"] = [PAYLOAD_BYTES, 0]
    assert judge(tmp_path, lines, nodes=2) == []
    lines[-1]["tcp_bytes_sent"] = [1000, 2000]
    (fault,) = judge(tmp_path, lines, nodes=2)
    assert fault.startswith("the ranks sent 3000 bytes over TCP, less than the payload of")


def test_shared_memory_sends_no_payload_over_tcp(tmp_path: Path) -> None:
    lines = synthetic.sweep(grid=(16,), network="shm")
    lines[-1]["tcp_bytes_sent"] = [5000, 5000]  # what launchers and libraries say to each other
    assert judge(tmp_path, lines) == []
    lines[-1]["tcp_bytes_sent"] = [PAYLOAD_BYTES, 5000]
    assert "instead of sharing memory" in judge(tmp_path, lines)[0]


def test_a_wire_that_carried_too_little(tmp_path: Path) -> None:
    lines = synthetic.sweep(grid=(16,))
    assert "something else was used" in judge(tmp_path, lines, link_bytes=1000)[0]
    (tmp_path / "wire.json").unlink()
    assert "left no report" in judge(tmp_path, lines, link_bytes=None)[0]


@pytest.mark.parametrize(
    ("field", "wanted", "fault"),
    [
        ("configuration", "dedicated", "configuration is basic, not dedicated"),
        ("network", "wire:1gbit", "network is wire:2gbit, not wire:1gbit"),
        ("computation", "triad", "computation is dgemm, not triad"),
        ("test_interval_ns", 100_000, "test_interval_ns is 0, not 100000"),
        ("cache", "cold", "cache is warm, not cold"),
        ("collective", "ireduce", "collective is ibcast, not ireduce"),
    ],
)
def test_another_case_than_was_asked_for(tmp_path: Path, field: str, wanted: Any, fault: str) -> None:
    assert judge(tmp_path, synthetic.sweep(grid=(16,)), **{field: wanted}) == [fault]


def launches_of(lines: Lines) -> list[dict[str, Any]]:
    """What the points of an impact record say of each launch with MPI, in their order; the same in all its points."""
    with_mpi = [line for line in lines[1:-1] if line["parameters"]["program"] == "mpi_impact"]
    return list({line["parameters"]["launch"]: line["own"]["launch"] for line in with_mpi}.values())


def impact_faults(tmp_path: Path, spoil: Callable[[Lines], object], configuration: str = "async") -> list[str]:
    """What is wrong with an impact record of MPICH, held against a whole one of `basic` without progress threads."""
    case = Case("mpich@5.0.2", "wheels", "mpich-5_0_2", "shm", configuration, "mpi_impact")
    basic = synthetic_impact(4, slowed(1))
    basic[0].update(configuration="basic", progress={"source": "none", "pinned_by": "none", "given_up_cores": 0})
    basic[0]["placement"] = [{**rank, "mpi_threads": []} for rank in basic[0]["placement"]]
    lines = copy.deepcopy(synthetic_impact(4, slowed(1.2)))
    spoil(lines)
    paths = [synthetic.write(tmp_path / f"{name}.jsonl", one) for name, one in (("own", lines), ("basic", basic))]
    return verify.faults_of_file(paths[0], case, "mpich", "5.0.2", paths[1], tmp_path / "no.wire")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda lines: lines[0].update(mpi_library_version="Open MPI v5.0.11"), "not MPICH"),
        (lambda lines: lines[0]["plan"]["parameters"].update(computation=["triad"]), "computation is triad"),
        (lambda lines: [rank.update(mpi_threads=[]) for rank in lines[0]["placement"]], "no progress thread"),
        (
            lambda lines: launches_of(lines)[0]["places"][0].update(compute_cpusets=["7"]),
            "not compute on the same CPUs",
        ),
        (lambda lines: lines.pop(), "cut off"),
        (lambda lines: lines.__setitem__(0, {}), "own.jsonl:1"),
    ],
)
def test_an_impact_record_that_is_something_else_is_a_fault(
    tmp_path: Path, spoil: Callable[[Lines], object], says: str
) -> None:
    assert any(says in fault for fault in impact_faults(tmp_path, spoil))


@pytest.mark.parametrize("configuration", UNASKED)
def test_a_thread_that_polls_although_nobody_asked_for_it_is_no_idle_library(
    tmp_path: Path, configuration: str
) -> None:
    """Of each launch: a hundredth of its time, and what it takes to start them."""
    source = CONFIGURATIONS[configuration].progress

    def spent(cpu_ns: int) -> Callable[[Lines], None]:
        def spoil(lines: Lines) -> None:
            progress = {"source": source, "pinned_by": "none", "given_up_cores": 0}
            lines[0].update(configuration=configuration, progress=progress)
            launches_of(lines)[1].update(wall_seconds=2.0, mpi_thread_cpu_ns=[[0], [cpu_ns]])

        return spoil

    words = "rank 1's threads of the library used 1.9 s of CPU in 2.0 s: they make progress, and were not to"
    assert words in impact_faults(tmp_path, spent(1_900_000_000), configuration)
    assert not any("make progress" in fault for fault in impact_faults(tmp_path, spent(39_000_000), configuration))


def test_ranks_are_on_as_many_nodes_as_was_asked_for(tmp_path: Path) -> None:
    (fault,) = judge(tmp_path, synthetic.sweep(grid=(16,)), nodes=2)
    assert fault == "the ranks ran on 1 node (node-0), not on 2"


def test_each_rank_has_as_many_cores_as_the_case_is_named_for(tmp_path: Path) -> None:
    lines = synthetic.sweep(grid=(16,), threads_per_rank=4, physical_cores=8)
    assert judge(tmp_path, lines, cores_per_rank=4) == []
    assert judge(tmp_path, lines, cores_per_rank=2) == ["each rank has 4 cores, not 2"]


def test_a_helper_that_was_promised_must_be_there(tmp_path: Path) -> None:
    def promise(lines: Lines) -> None:
        progress = {"source": "application", "pinned_by": "program", "given_up_cores": 0}
        lines[0].update(configuration="apphelper", oversubscribed=True, progress=progress)
        for rank in lines[0]["placement"]:
            rank["dedicated_cpuset"] = rank["cpuset"]

    def help_them(lines: Lines) -> None:
        promise(lines)
        lines[0]["thread_level_provided"] = lines[0]["thread_level_required"] = "multiple"
        for rank in lines[0]["placement"]:
            rank["helper_threads"] = [{"name": "app_helper", "cpuset": rank["cpuset"]}]

    without = impact_faults(tmp_path, promise, "apphelper")
    assert "rank 0 has no progress thread of the application" in without
    assert impact_faults(tmp_path, help_them, "apphelper") == []
