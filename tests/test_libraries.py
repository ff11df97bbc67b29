"""The registry: what each library is given, and what is known to be impossible."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign.commands import list as listing
from mpi_campaign.libraries import launches, recording, registry
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.identity import reported_version
from mpi_campaign.libraries.placement import NodeShape, Placement
from mpi_campaign.libraries.registry import LIBRARIES
from mpi_campaign.libraries.settings import Answer, Hosts, Impossible, Request, Settings
from mpi_campaign.libraries.versions import same_version
from mpi_campaign.networks.network import Proof
from mpi_campaign.networks.registry import NETWORKS
from mpi_campaign.this_machine import machine
from postprocess.families import axes
from postprocess.records.header import KEEPING_APART
from tests.support import each

TWO_CORES = Placement(nodes=1, ranks_per_node=2, threads_per_rank=1, cpus=each(0, 1))
ON_TWO_NODES = Placement(nodes=2, ranks_per_node=1, threads_per_rank=1, cpus=each(0))
# Two sockets whose CPUs the kernel numbers in turn.
EIGHT_CORES = Placement(nodes=1, ranks_per_node=2, threads_per_rank=4, cpus=each(0, 2, 4, 6, 1, 3, 5, 7))
WIRE = "wire:2gbit"
MPICH_LIKE = ("mpich", "mvapich")
WITHOUT_WIRE = {"madmpi", "craympich"}
NEWEST = "9999.1"  # of any library; Intel MPI counts years


def asked(
    family: str,
    configuration: str,
    network: str = WIRE,
    placement: Placement = EIGHT_CORES,
    version: str = NEWEST,
    **told: str,
) -> Answer:
    request = Request(Path("/opt/mpi"), version, configuration, network, placement, axes=told)
    return launches.launch(family, request)


def launched(family: str, configuration: str, *how: Any, **named: Any) -> Settings:
    answer = asked(family, configuration, *how, **named)
    assert isinstance(answer, Settings), answer
    return answer


def refused(family: str, configuration: str, *how: Any, **named: Any) -> str:
    answer = asked(family, configuration, *how, **named)
    assert isinstance(answer, Impossible)
    return answer.reason


def beside_basic(family: str, configuration: str, **how: str) -> Settings:
    """What a configuration has that `basic` has not."""
    basic, other = launched(family, "basic", **how), launched(family, configuration, **how)
    assert other.options[: len(basic.options)] == basic.options
    env = dict(other.env.items() - basic.env.items())
    assert {**basic.env, **env} == other.env
    return Settings(env, other.options[len(basic.options) :], other.program)


# -- placement ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("configuration", [name for name, one in CONFIGURATIONS.items() if one.gives_up_core])
def test_ranks_that_share_cores_have_none_to_give_up(configuration: str) -> None:
    crowded = Placement.on(NodeShape(2, each(0, 1)), 4, 1, crowding=True)
    assert crowded.oversubscribed
    reason = refused("mpich", configuration, placement=crowded)
    assert reason.startswith(f"{configuration} keeps a core of each rank free of computation")
    assert reason.endswith("4 ranks of 1 thread have none of their own here")


def test_cpus_that_are_not_those_of_the_cores_are_not_used() -> None:
    assert Placement.on(NodeShape(16, each(0, 1)), 2, 0).dedicated_cpus == ()


def test_a_core_that_is_given_up_does_not_compute() -> None:
    threads = {name: one.computing_threads(4) for name, one in CONFIGURATIONS.items()}
    assert threads == {
        "basic": 4, "async": 4, "dedicated": 3, "apphelper": 3, "dedicated_unbound": 3, "basic_reduced": 3,
    }  # fmt: skip
    assert CONFIGURATIONS["dedicated"].computing_threads(1) == 1


def test_cores_are_handed_out_as_the_machine_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for cpu in range(4):  # even CPUs on one socket, odd ones on the other
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "package_cpus_list").write_text("0,2\n" if cpu % 2 == 0 else "1,3\n")
        (folder / "thread_siblings_list").write_text(f"{cpu}\n")
    monkeypatch.setattr(machine, "SYS_CPU", tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 1, 2, 3})
    assert machine.core_cpus() == each(0, 2, 1, 3)


# -- what every library has in common ----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", LIBRARIES)
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("network", ["shm", WIRE, "native"])
def test_every_configuration_is_given_or_refused_with_a_reason(family: str, configuration: str, network: str) -> None:
    answer = asked(family, configuration, network)
    if isinstance(answer, Impossible):
        assert registry.library(family).title in answer.reason
        return
    given_up = CONFIGURATIONS[configuration].gives_up_core
    assert (answer.program[-2:] == ("--dedicated-cpus", "6,7")) is given_up
    assert all(answer.env.values())


@pytest.mark.parametrize("family", [*LIBRARIES, "mympi"])
def test_the_applications_own_thread_and_the_control_without_one_need_nothing_of_the_library(family: str) -> None:
    for configuration in ("apphelper", "basic_reduced"):
        assert beside_basic(family, configuration, network="native") == Settings(program=("--dedicated-cpus", "6,7"))


@pytest.mark.parametrize("family", LIBRARIES)
@pytest.mark.parametrize("configuration", ["dedicated", "apphelper"])
def test_a_rank_with_one_core_has_none_to_give_up(family: str, configuration: str) -> None:
    network = "native" if family in WITHOUT_WIRE else WIRE
    reason = refused(family, configuration, network, TWO_CORES)
    assert reason.startswith(f"{configuration} needs 2 cores per rank, there is 1")
    assert "--oversubscribe" in reason
    allowed = Placement(1, 2, 1, cpus=each(0, 1), crowding=True)
    assert launched(family, configuration, network, allowed).program[-2:] == ("--dedicated-cpus", "0,1")


@pytest.mark.parametrize("configuration", ["dedicated_unbound", "basic_reduced"])
def test_a_control_with_no_core_left_says_nothing_and_is_never_run(configuration: str) -> None:
    for crowding in (False, True):
        placement = Placement(1, 2, 1, cpus=each(0, 1), crowding=crowding)
        assert (
            refused("mpich", configuration, placement=placement)
            == f"{configuration} needs 2 cores per rank, there is 1"
        )


@pytest.mark.parametrize("family", sorted(set(LIBRARIES) - WITHOUT_WIRE))
def test_every_library_binds_ranks_to_their_share_unless_oversubscribed(family: str) -> None:
    for configuration in ("basic", "apphelper", "basic_reduced"):
        bound = launched(family, configuration, "shm", Placement(1, 2, 4))
        assert any("4" in word for word in [*bound.options, *bound.env.values()])
    assert launched(family, "basic", "shm", Placement(1, 2, 4, oversubscribed=True)) != launched(family, "basic", "shm")


WITH_SIBLINGS = Placement(nodes=1, ranks_per_node=2, threads_per_rank=2, cpus=((1, 65), (2, 66), (4,), (7, 71)))


@pytest.mark.parametrize(
    ("family", "version", "told"),
    [
        *((family, NEWEST, "1,65,2,66:4,7,71") for family in ("openmpi", "mpich", "mvapich", "mvapich2")),
        ("intel", "2021.18.1", f"[{hex(2**1 + 2**65 + 2**2 + 2**66)},{hex(2**4 + 2**7 + 2**71)}]"),
    ],
)
def test_ranks_are_bound_to_cpus_by_the_kernels_numbers(family: str, version: str, told: str) -> None:
    """Holes in the mask, an offline sibling and two hardware threads of a core included."""
    bound = launched(family, "basic", "shm", WITH_SIBLINGS, version)
    assert told in [*bound.launcher_options(Path("/programs")), *bound.env.values()]
    assert bound.binds


@pytest.mark.parametrize("family", sorted(set(LIBRARIES) - WITHOUT_WIRE))
def test_a_launch_here_looks_for_no_other_machine_and_one_in_a_job_may(family: str) -> None:
    for version in ("4.1.8", NEWEST):
        request = Request(Path("/opt/mpi"), version, "basic", "native", Placement(1, 2, 4))
        here, job = (launches.launch(family, replace(request, here=value)) for value in (True, False))
        assert isinstance(here, Settings)
        assert isinstance(job, Settings)
        assert {"fork", "isolated", "ssh"} & set(here.options)
        assert not {"fork", "isolated", "ssh"} & set(job.options)


@pytest.mark.parametrize("family", sorted(set(LIBRARIES) - WITHOUT_WIRE))
def test_a_thread_that_the_shell_or_the_site_asks_for_is_off_where_it_was_not_asked_for(family: str) -> None:
    asked = beside_basic(family, "async").env
    for configuration in ("basic", "apphelper", "basic_reduced"):
        env = launched(family, configuration).env
        assert {name: env.get(name) for name in asked} == dict.fromkeys(asked, "0")


# -- library by library ------------------------------------------------------------------------------------------------


def test_open_mpi_overlaps_over_tcp_only() -> None:
    assert beside_basic("openmpi", "async") == Settings({"OMPI_MCA_btl_tcp_progress_thread": "1"})
    for configuration in ("async", "dedicated", "dedicated_unbound"):
        assert "shared memory" in refused("openmpi", configuration, "shm")
        assert "TCP transport only" in refused("openmpi", configuration, "native")
        assert "since version 2.0" in refused("openmpi", configuration, version="1.10.7")
    assert refused("openmpi", "async", "native").endswith("another: --network wire has TCP")
    assert refused("openmpi", "async", "native", ON_TWO_NODES).endswith("another: --network tcp has TCP")


def test_open_mpi_cannot_bind_its_thread_and_the_benchmark_does() -> None:
    dedicated, unbound = launched("openmpi", "dedicated"), launched("openmpi", "dedicated_unbound")
    assert dedicated.program == ("--move-progress-threads", "--dedicated-cpus", "6,7")
    assert (dedicated.env, dedicated.options) == (unbound.env, unbound.options)
    assert "--move-progress-threads" not in unbound.program


@pytest.mark.parametrize(
    ("family", "env"),
    [
        ("mpich", {"MPIR_CVAR_ASYNC_PROGRESS": "1"}),
        ("mvapich", {"MPIR_CVAR_ASYNC_PROGRESS": "1"}),
        ("intel", {"I_MPI_ASYNC_PROGRESS": "1"}),
        ("mvapich2", {"MV2_ASYNC_PROGRESS": "1", "MPICH_ASYNC_PROGRESS": "1"}),
        ("parastation", {"MPIR_CVAR_ASYNC_PROGRESS": "1"}),
    ],
)
@pytest.mark.parametrize("network", ["shm", "wire:1gbit", "native"])
def test_a_progress_thread_is_one_setting_beside_basic(family: str, env: dict[str, str], network: str) -> None:
    assert beside_basic(family, "async", network=network) == Settings(env)
    if family != "intel":
        unbound = beside_basic(family, "dedicated_unbound", network=network)
        assert unbound == Settings(env, program=("--dedicated-cpus", "6,7"))


@pytest.mark.parametrize("family", MPICH_LIKE)
def test_mpich_binds_its_thread_to_one_cpu_for_each_rank_of_the_node(family: str) -> None:
    dedicated = beside_basic(family, "dedicated")
    assert dedicated.env == {"MPIR_CVAR_ASYNC_PROGRESS": "1", "MPIR_CVAR_PROGRESS_THREAD_AFFINITY": "6,7"}
    assert "--move-progress-threads" not in dedicated.program


@pytest.mark.parametrize("family", MPICH_LIKE)
def test_mpich_before_4_cannot_and_the_benchmark_does(family: str) -> None:
    dedicated = beside_basic(family, "dedicated", version="3.4.3")
    assert dedicated.env == {"MPIR_CVAR_ASYNC_PROGRESS": "1"}
    assert dedicated.program == ("--move-progress-threads", "--dedicated-cpus", "6,7")


@pytest.mark.parametrize("family", ["mpich", "intel"])
def test_where_cpus_are_not_known_the_benchmark_finds_the_core_and_binds(family: str) -> None:
    answer = launched(family, "dedicated", placement=Placement(1, 2, 4))
    assert answer.program == ("--move-progress-threads",)
    assert not any(
        "AFFINITY" in name or "PIN" in name for name in answer.env.keys() - {"I_MPI_PIN_DOMAIN", "I_MPI_PIN_CELL"}
    )


def test_intel_binds_its_thread_and_always_does_until_the_benchmark_moves_it() -> None:
    assert beside_basic("intel", "dedicated").env == {
        "I_MPI_ASYNC_PROGRESS": "1",
        "I_MPI_ASYNC_PROGRESS_THREADS": "1",
        "I_MPI_ASYNC_PROGRESS_PIN": "6,7",
    }
    for version in (NEWEST, ""):
        unbound = beside_basic("intel", "dedicated_unbound", version=version)
        assert unbound.env == {"I_MPI_ASYNC_PROGRESS": "1"}
        assert unbound.program == ("--move-progress-threads", "--dedicated-cpus", "6,7")


def test_intel_before_2019_bound_it_only_where_it_was_told_to() -> None:
    unbound = beside_basic("intel", "dedicated_unbound", version="2018.4.274")
    assert unbound == Settings({"I_MPI_ASYNC_PROGRESS": "1"}, program=("--dedicated-cpus", "6,7"))
    assert beside_basic("intel", "dedicated", version="2018.4.274").env["I_MPI_ASYNC_PROGRESS_PIN"] == "6,7"


@pytest.mark.parametrize("configuration", ["basic", "async", "dedicated", "apphelper"])
def test_of_two_builds_of_intel_every_configuration_takes_the_one_with_progress_threads(
    tmp_path: Path, configuration: str
) -> None:
    (tmp_path / "lib" / "release_mt").mkdir(parents=True)
    answer = launches.launch("intel", Request(tmp_path, "2019.7.217", configuration, WIRE, EIGHT_CORES))
    assert isinstance(answer, Settings)
    first = answer.env["LD_LIBRARY_PATH"].split(":")[0]
    assert first == f"{tmp_path}/lib/release_mt"


def test_mvapich2_leaves_binding_to_the_campaign() -> None:
    """Bound by itself, to one core each, it would provide MPI_THREAD_SINGLE and have no room for progress threads."""
    for configuration in CONFIGURATIONS:
        settings = launched("mvapich2", configuration, "shm", version="2.3.7")
        assert settings.env["MV2_ENABLE_AFFINITY"] == "0"
        assert settings.binder[-1:] == ("0,2,4,6:1,3,5,7",)
    assert launched("mvapich2", "dedicated", version="2.3.7").program[0] == "--move-progress-threads"


def test_mvapich2_is_told_to_share_memory_or_not_to() -> None:
    assert launched("mvapich2", "basic", "shm").env["MV2_USE_SHARED_MEM"] == "1"
    over_a_wire = launched("mvapich2", "basic").env
    assert over_a_wire["MV2_USE_SHARED_MEM"] == "0"
    assert over_a_wire["MPIR_CVAR_CH3_NOLOCAL"] == "1"
    assert "MPIR_CVAR_NOLOCAL" not in over_a_wire  # ch4's: with it the wire carried nothing


MPICHVERSION = "MVAPICH2 Version:     \t2.3.7\nMVAPICH2 Release date:\tx\nMVAPICH2 Device:      \t{device}\n"
MPINAME = "MVAPICH2 2.3.7 Wed March 02 22:00:00 EST 2022 {device}\n\nCompilation\nCC: gcc    -DNDEBUG\n"


@pytest.mark.parametrize(("program", "text"), [("mpichversion", MPICHVERSION), ("mpiname", MPINAME), ("", "")])
@pytest.mark.parametrize("device", ["ch3:mrail", "ch3:psm", "ch3:nemesis", "ch3:sock"])
@pytest.mark.parametrize("configuration", ["basic", "async"])
def test_mvapich2_for_infiniband_has_no_tcp_and_is_not_started_over_a_wire(
    tmp_path: Path, program: str, text: str, device: str, configuration: str
) -> None:
    """Where no program tells what it was built on it is started, and the bytes on the wire judge it."""
    if program:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / program).write_text(f"#!/bin/sh\ncat <<'END'\n{text.format(device=device)}END\n")
        (tmp_path / "bin" / program).chmod(0o755)

    def over(network: str) -> Answer:
        return launches.launch("mvapich2", Request(tmp_path, "2.3.7", configuration, network, EIGHT_CORES))

    had = not program or device in ("ch3:nemesis", "ch3:sock")
    answer = over(WIRE)
    assert isinstance(answer, Settings) is had
    if isinstance(answer, Impossible):
        assert f"built on {device}, which has no TCP" in answer.reason
    assert isinstance(over("shm"), Settings)


def test_a_flavour_of_open_mpi_has_other_transports_or_collectives() -> None:
    within = launched("openmpi", "basic", "shm", version="5.0.11+ucx")
    assert within.options[-2:] == ("pml", "ucx") and "btl" not in within.options
    assert within.env["UCX_TLS"] == "sm,self"
    assert "over a loopback" in refused("openmpi", "basic", version="5.0.11+ucx")
    assert "UCX takes its place" in refused("openmpi", "async", "shm", version="5.0.11+ucx")
    assert "UCX everywhere" in refused("openmpi", "basic", "shm", version="5.0.11+ucx", protocol="eager")
    both = launched("openmpi", "basic", "native", version="4.1.7+ucx+hcoll")
    assert both.env["OMPI_MCA_coll_hcoll_enable"] == "1" and "ucx" in both.options
    plain = launched("openmpi", "basic")
    assert launched("openmpi", "basic", version=f"{NEWEST}+dfsg") == plain  # part of a distribution's version


def test_cray_mpich_is_started_as_its_manual_says() -> None:
    """Nobody has run it with these settings."""
    basic, thread = (launched("craympich", one, "native", version="8.1.33") for one in ("basic", "async"))
    assert basic.env == {"MPICH_ASYNC_PROGRESS": "0", "MPICH_MAX_THREAD_SAFETY": "multiple"}
    assert thread.env == {**basic.env, "MPICH_ASYNC_PROGRESS": "1"}
    assert basic.options == ("--cpu-bind", "none")
    assert basic.binder == ("PALS_LOCAL_RANKID", "0,2,4,6:1,3,5,7")
    hosts = Hosts(("x1", "x2"), "")
    across = launches.launch(
        "craympich", Request(Path("/opt/mpi"), "8.1.33", "basic", "native", ON_TWO_NODES, hosts=hosts)
    )
    assert isinstance(across, Settings)
    assert across.options == ("--hosts", "x1,x2", "--ppn", "1", "--cpu-bind", "none")
    assert "on TCP" in refused("craympich", "basic", WIRE)
    assert not registry.library("craympich").tested


def test_parastation_chooses_its_path_by_variables_of_its_communication_library() -> None:
    """Nobody has run it with these settings."""
    assert launched("parastation", "basic", "shm").env["PSP_SHM"] == "2"
    over_a_wire = launched("parastation", "basic").env
    assert (over_a_wire["PSP_SHM"], over_a_wire["PSP_TCP"], over_a_wire["PSP_OPENIB"]) == ("0", "2", "0")
    assert launched("parastation", "dedicated").program[0] == "--move-progress-threads"
    assert not registry.library("parastation").tested


def test_madmpi_progresses_in_every_configuration() -> None:
    assert registry.library("madmpi").progresses
    for configuration in ("async", "dedicated_unbound"):
        assert "already progresses" in refused("madmpi", configuration, "native")
    dedicated = beside_basic("madmpi", "dedicated", network="native")
    assert dedicated.options == ("-DPIOM_DEDICATED=1",)
    assert dedicated.program[0] == "--move-progress-threads"


@pytest.mark.parametrize(
    ("family", "network", "configurations"),
    [
        ("openmpi", "shm", ()),
        ("openmpi", WIRE, ("async", "dedicated", "dedicated_unbound")),
        ("mpich", "shm", ("async", "dedicated", "dedicated_unbound")),
        ("madmpi", "shm", tuple(CONFIGURATIONS)),
        ("unknown", "shm", ()),
    ],
)
def test_what_a_library_has_to_offer_is_known(family: str, network: str, configurations: tuple[str, ...]) -> None:
    """Whatever the machine has: what is advised may be had on another one."""
    assert launches.progresses_in(family, Path("/opt/mpi"), NEWEST, network) == configurations


@pytest.mark.parametrize(
    ("version", "device", "network", "had"),
    [
        ("4.0.2", "ch4:ucx", WIRE, False),
        ("4.0.2", "ch4:ofi", WIRE, True),
        ("4.1.1", "ch4:ucx", WIRE, True),
        ("4.0.2", "", WIRE, True),
    ],
)
def test_an_mpich_that_does_not_end_is_not_started(
    tmp_path: Path, version: str, device: str, network: str, had: bool
) -> None:
    (tmp_path / "bin").mkdir()
    if device:
        (tmp_path / "bin" / "mpichversion").write_text(f"#!/bin/sh\necho 'MPICH Device:    \t{device}'\n")
        (tmp_path / "bin" / "mpichversion").chmod(0o755)
    for configuration, rule in CONFIGURATIONS.items():
        answer = launches.launch("mpich", Request(tmp_path, version, configuration, network, EIGHT_CORES))
        assert isinstance(answer, Settings) is (had or rule.progress != "library"), configuration
        if isinstance(answer, Impossible):
            assert "hangs in MPI_Finalize" in answer.reason
    assert ("async" in launches.progresses_in("mpich", tmp_path, version, network)) is had


@pytest.mark.parametrize("device", ["ch3:sock", "ch3:nemesis"])
def test_an_mpich_on_its_older_device_gets_no_variables_of_the_newer_one(tmp_path: Path, device: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpichversion").write_text(f"#!/bin/sh\necho 'MPICH Device:    \t{device}'\n")
    (tmp_path / "bin" / "mpichversion").chmod(0o755)

    def answer(network: str = WIRE, **told: str) -> Answer:
        return launches.launch("mpich", Request(tmp_path, "4.0.2", "basic", network, EIGHT_CORES, axes=told))

    def env(network: str = WIRE, **told: str) -> Mapping[str, str]:
        settings = answer(network, **told)
        assert isinstance(settings, Settings), settings
        return settings.env

    def reason(network: str = WIRE, **told: str) -> str:
        impossible = answer(network, **told)
        assert isinstance(impossible, Impossible)
        return impossible.reason

    assert env()["MPIR_CVAR_NOLOCAL"] == "1"
    assert not [name for name in env() if "CH4" in name or name.startswith(("FI_", "UCX_"))]
    assert env(protocol="eager")["MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"] == str(256 << 10)
    assert env(protocol="rendezvous")["MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"] == str(8 << 10)
    asked = Request(tmp_path, "4.0.2", "basic", WIRE, EIGHT_CORES)
    assert registry.library("mpich").eager_limit(asked) == "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"
    assert f"built on {device}, which has no single copy by the kernel" in reason(protocol="copied")
    assert "no virtual interfaces" in reason(interfaces="per_thread")
    assert "MPICH 4.0.2 has no variable that makes waits give the CPU up" in reason(library_setting="yielding")
    if device == "ch3:sock":
        assert "ch3:sock, which has no shared memory: take --network wire" in reason("shm")
    else:
        assert "no choice of collectives within a node" in reason("shm", intranode="point_to_point")
        env("shm")


def test_an_unknown_mpi_is_plain_basic_and_what_the_application_does_itself() -> None:
    assert launched("mympi", "basic", "shm") == Settings()
    for configuration in ("async", "dedicated", "dedicated_unbound"):
        assert "mpi_campaign/libraries/" in refused("mympi", configuration, "shm")
    assert "mpi_campaign/libraries/" in refused("mympi", "basic")
    assert launched("mympi", "apphelper", "shm") == Settings(program=("--dedicated-cpus", "6,7"))


def test_limits_are_by_network() -> None:
    assert list(launches.limits("openmpi", "async", EIGHT_CORES)) == ["shm", "native"]
    assert launches.limits("mpich", "dedicated", EIGHT_CORES) == {}
    assert set(launches.limits("mpich", "dedicated", TWO_CORES)) == set(NETWORKS)


def test_records_are_read_by_what_the_registry_says_of_networks() -> None:
    """Ranks of one node share no memory over a network of one node that is proved by their bytes over TCP."""
    over_tcp = (Proof.TCP, Proof.LINK)
    assert {name for name, one in NETWORKS.items() if one.of_one_node and one.proof in over_tcp} == set(KEEPING_APART)


def test_the_list_says_for_every_library_and_configuration_what_can_be_had_here() -> None:
    found = {entry["name"]: entry for entry in listing.everything()["configurations of each library"]}
    pairs = {f"{family} {configuration}" for family in LIBRARIES for configuration in CONFIGURATIONS}
    assert set(found) == pairs | set(registry.NOT_TO_BE_HAD)
    assert found["mpich basic"]["available"]
    assert "over shm" in found["mpich async"]["what"]
    assert "shared memory" in found["openmpi async"]["what"] + str(found["openmpi async"]["why_not"])
    assert all(bool(entry["why_not"]) is not entry["available"] for entry in found.values())


@pytest.mark.parametrize(
    ("family", "text", "version"),
    [
        ("openmpi", "Open MPI v5.0.11, package: Open MPI root@x Distribution, ident: 5.0.11", "5.0.11"),
        ("mpich", "MPICH Version:      5.0.2\nMPICH Release date: x", "5.0.2"),
        ("intel", "Intel(R) MPI Library 2021.18 for Linux* OS\n", "2021.18"),
        ("mvapich", "MVAPICH Version:\t4.0\nMVAPICH Release date:\tx", "4.0"),
        ("craympich", "MPI VERSION    : CRAY MPICH version 8.1.33 (ANL base 3.4a2)\nMPI BUILD INFO : x", "8.1.33"),
        ("mpich", "Open MPI v5.0.11", None),
        ("mpich", "MVAPICH Version:\t4.0", None),
        ("mympi", "whatever 1.0", ""),
    ],
)
def test_the_library_says_its_version(family: str, text: str, version: str | None) -> None:
    assert reported_version(family, text) == version


NUMBERS = st.lists(st.integers(0, 2100), min_size=2, max_size=4).map(lambda parts: ".".join(map(str, parts)))


@given(NUMBERS, NUMBERS)
def test_other_numbers_are_another_version(asked: str, reported: str) -> None:
    parts, said = asked.split("."), reported.split(".")
    assert same_version(asked, reported) == (parts[: len(said)] == said)


@pytest.mark.parametrize(
    ("asked", "reported", "same"),
    [
        ("2.3.7-1", "2.3.7", True),
        ("2021.18.1", "2021.18", True),
        ("5.0.11.post1", "5.0.11", True),
        ("main", "6.1.0a1", True),
        ("v5.0.x", "5.0.12a1", True),
        ("5.0.x", "5.1.0a1", False),
        ("4.1.8", "4.1.80", False),
        ("4.1.8", "4.1.8.1", False),
    ],
)
def test_versions_of_real_libraries(asked: str, reported: str, same: bool) -> None:
    assert same_version(asked, reported) is same


def request_of(version: str, configuration: str = "basic", network: str = "shm") -> Request:
    return Request(Path("/nowhere"), version, configuration, network, Placement(1, 2, 2, cpus=each(0, 1, 2, 3)))


@given(
    st.integers(0, 3000), st.sampled_from(["", ".0", ".1.8", "-1", "rc1", ".x"]), st.sampled_from(["", "v", "git.v"])
)
def test_the_major_version_is_the_first_number(major: int, rest: str, before: str) -> None:
    assert request_of(f"{before}{major}{rest}").major == major


@pytest.mark.parametrize("branch", ["main", "master", "develop", "git.4f2a19c"])
@pytest.mark.parametrize("family", LIBRARIES)
def test_a_branch_is_launched_as_the_newest_release_is(family: str, branch: str) -> None:
    for configuration in CONFIGURATIONS:
        for network in ("shm", "wire", "native"):
            newest = launches.launch(family, request_of("9999.0", configuration, network))
            assert launches.launch(family, request_of(branch, configuration, network)) == newest


def test_open_mpi_of_a_branch_has_the_shared_memory_of_its_release() -> None:
    named = {version: launches.launch("openmpi", request_of(version)) for version in ("main", "v5.0.x", "v4.1.x")}
    options = {version: one.options for version, one in named.items() if isinstance(one, Settings)}
    assert "sm,self" in options["main"]
    assert "sm,self" in options["v5.0.x"]
    assert "vader,self" in options["v4.1.x"]


@pytest.mark.parametrize(
    ("version", "is_40"),
    [("4.0", True), ("4.0.3", True), ("4.0rc1", True), ("4.01", False), ("4.1", False), ("40", False), ("main", False)],
)
def test_a_release_is_told_by_its_numbers(version: str, is_40: bool) -> None:
    assert request_of(version).is_of(4, 0) is is_40


# -- what records keep -------------------------------------------------------------------------------------------------


def kept(option: tuple[str, ...], names: Iterable[str]) -> set[str]:
    """Of these names, those that the programs let in: the last word that matches decides."""
    found = set()
    for name in names:
        words = [word for word in option[1].split(",") if fnmatchcase(name, word.removeprefix("^"))]
        if words and not words[-1].startswith("^"):
            found.add(name)
    return found


@pytest.mark.parametrize("family", [*LIBRARIES, "mympi"])
def test_records_keep_what_steers_a_launch(family: str) -> None:
    """All that the registry sets, but for what only lets the library start."""
    for configuration, network in itertools.product(CONFIGURATIONS, ("shm", "wire", "native")):
        answer = asked(family, configuration, network)
        steering = answer.env if isinstance(answer, Settings) else {}
        left_out = set(steering) - kept(recording.environment(family), steering)
        assert left_out <= {
            "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "HYDRA_CONFIG_FILE", "I_MPI_ROOT",
            "LD_LIBRARY_PATH",
        }  # fmt: skip


def test_records_of_a_library_that_is_not_known_keep_the_variables_of_all_of_them() -> None:
    names = ["OMPI_MCA_btl", "MPIR_CVAR_NOLOCAL", "I_MPI_FABRICS", "MV2_USE_SHARED_MEM", "PIOM_DEDICATED", "UCX_TLS"]
    assert kept(recording.environment("mympi"), names) == set(names)
    assert kept(recording.environment("openmpi"), names) == {"OMPI_MCA_btl", "UCX_TLS"}
    assert kept(recording.environment("openmpi", ["SITE_NOTE"]), {"SITE_NOTE": "1"}) == {"SITE_NOTE"}
    own = ["OMPI_MCA_orte_hnp_uri", "PMIX_MCA_mca_base_component_path", "I_MPI_HYDRA_IFACE", "HOME"]
    assert kept(recording.environment("mympi"), own) == set()


# -- a library is one entry --------------------------------------------------------------------------------------------


def test_settings_are_of_values_of_axes_that_set_a_library() -> None:
    setting = {axis.name: set(axis.values) - {axis.usual} for axis in axes.ASKED_FOR if axis.sets_library}
    assert setting
    for entry in LIBRARIES.values():
        assert set(entry.settings) <= set(setting)
        for axis, rules in entry.settings.items():
            assert set(rules) <= setting[axis]
    usual = {axis.name: axis.usual for axis in axes.ASKED_FOR if axis.usual is not None}
    assert axes.library_settings(usual) == {}
    assert axes.library_settings({**usual, "protocol": "eager"}) == {"protocol": "eager"}


def protocol_of(family: str, protocol: str, network: str, version: str = NEWEST) -> Answer:
    return asked(family, "basic", network, EIGHT_CORES, version, **({"protocol": protocol} if protocol else {}))


@pytest.mark.parametrize(
    ("family", "version", "protocol", "network", "variables"),
    [
        ("openmpi", "5.0.11", "copied", "shm", {"OMPI_MCA_smsc": "^cma,knem,xpmem"}),
        ("openmpi", "4.1.8", "copied", "shm", {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}),
        ("openmpi", "5.0.11", "eager", "shm", {"OMPI_MCA_btl_sm_eager_limit": "262144"}),
        ("openmpi", "4.1.8", "rendezvous", "shm", {"OMPI_MCA_btl_vader_eager_limit": "256"}),
        ("openmpi", "5.0.11", "rendezvous", WIRE, {"OMPI_MCA_btl_tcp_eager_limit": "256"}),
        ("mpich", "5.0.2", "copied", "shm", {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}),
        ("mpich", "5.0.2", "rendezvous", WIRE, {"MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD": "8192"}),
        ("intel", "2021.18.1", "copied", "shm", {"I_MPI_SHM_CMA": "0"}),
        ("intel", "2021.18.1", "rendezvous", "shm", {"I_MPI_SHM_CELL_FWD_SIZE": "1024"}),
        ("intel", "2021.18.1", "rendezvous", WIRE, {"FI_TCP_MAX_SAVED_SIZE": "8192"}),
        ("openmpi", "5.0.11", "rendezvous", "shm", {"OMPI_MCA_smsc": "^cma,knem,xpmem"}),
    ],
)
def test_a_protocol_is_a_few_variables_of_the_library(
    family: str, version: str, protocol: str, network: str, variables: dict[str, str]
) -> None:
    answer = protocol_of(family, protocol, network, version)
    usual = protocol_of(family, "", network, version)
    assert isinstance(answer, Settings)
    assert isinstance(usual, Settings)
    assert variables.items() <= answer.env.items()
    assert usual.env.items() <= answer.env.items()
    assert not set(variables) & set(usual.env)


def test_a_protocol_that_cannot_be_had_says_why() -> None:
    for family in ("openmpi", "mpich", "intel"):
        answer = protocol_of(family, "copied", WIRE)
        assert isinstance(answer, Impossible)
        assert "within a node: --network shm" in answer.reason
    answer = protocol_of("intel", "eager", "shm")
    assert isinstance(answer, Impossible)
    assert answer.reason == "no variable was found that raises the eager limit of Intel MPI within a node"


def test_the_variable_of_the_eager_limit_is_recorded() -> None:
    """Where a library names one, its control variables in records have it."""
    for entry in LIBRARIES.values():
        for network in ("shm", WIRE):
            name = entry.eager_limit(Request(Path("/opt/mpi"), NEWEST, "basic", network, EIGHT_CORES))
            names = (name, *entry.fragments(Request(Path("/opt/mpi"), NEWEST, "basic", network, EIGHT_CORES)))
            assert all(any(fnmatchcase(one, pattern) for pattern in entry.controls) for one in filter(None, names))


@pytest.mark.parametrize(
    ("family", "version", "name", "value"),
    [
        ("mpich", "5.0.2", "MPIR_CVAR_ENABLE_HEAVY_YIELD", "1"),
        ("openmpi", "4.1.8", "OMPI_MCA_mpi_yield_when_idle", "1"),
        ("intel", "2021.18.1", "I_MPI_THREAD_SLEEP", "100"),
    ],
)
def test_a_library_is_set_to_give_the_cpu_up_only_where_that_is_asked_for(
    family: str, version: str, name: str, value: str
) -> None:
    how = (family, "basic", "shm", TWO_CORES, version)
    assert launched(*how, library_setting="yielding").env[name] == value
    assert name not in launched(*how).env


def test_only_mpich_gets_a_virtual_interface_for_each_thread() -> None:
    of_mpich = launched("mpich", "basic", "shm", version="5.0.2", interfaces="per_thread")
    assert of_mpich.env["MPIR_CVAR_CH4_NUM_VCIS"] == "4"
    for family, version in (("openmpi", "5.0.11"), ("intel", "2021.18.1")):
        reason = refused(family, "basic", "shm", version=version, interfaces="per_thread")
        assert "no variables for interfaces per_thread" in reason


def test_a_library_without_variables_for_a_setting_says_so() -> None:
    of_mvapich = refused("mvapich2", "basic", "shm", TWO_CORES, "2.3.7", library_setting="yielding")
    assert of_mvapich == "MVAPICH2 has no variables for library setting yielding"
    of_mpich = refused("mpich", "basic", "shm", TWO_CORES, "4.2.3", library_setting="modelled")
    assert "the names of the algorithms of MPICH 4.2.3 are not known here" in of_mpich
