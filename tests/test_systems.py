"""Systems, the nodes of their partitions, and placements on nodes of one shape."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries import launches, mpich, openmpi, registry
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.launchers.hydra import HYDRA
from mpi_campaign.libraries.launchers.launcher import Launcher, bound_by_program, never_across
from mpi_campaign.libraries.library import StartedBy
from mpi_campaign.libraries.placement import NodeShape, Placement
from mpi_campaign.libraries.settings import Answer, Hosts, Impossible, Job, Request, Settings
from mpi_campaign.planning import placing
from mpi_campaign.planning.options import Options
from mpi_campaign.schedulers import registry as schedulers
from mpi_campaign.systems import known_systems, new_system
from mpi_campaign.systems.known_systems import this_node
from mpi_campaign.systems.site import partition as partition_of
from mpi_campaign.systems.site import site as site_of
from tests.support import each

SETTINGS = """
from mpi_campaign.site import partition, site
site_configuration = site(name="cluster", partitions=[
    partition("cpu", "native", scheduler="slurm", launcher="srun",
              processor={"num_cpus": 96, "num_cpus_per_core": 2, "num_cpus_per_socket": 48, "num_sockets": 2}),
    partition("login", "shm", scheduler="local", launcher="mpiexec", processor={"num_cpus": 4000}),
    partition("bare", "wire", scheduler="slurm", launcher="mpiexec"),
])
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[known_systems.System]:
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "settings.py").write_text(SETTINGS)
    monkeypatch.setattr(known_systems, "SYSTEMS", tmp_path)
    known_systems.load.cache_clear()
    yield known_systems.load("cluster")
    known_systems.load.cache_clear()


def test_a_partition_is_as_its_settings_have_it(cluster: known_systems.System) -> None:
    assert known_systems.available() == ["cluster"]
    cpu = cluster.partition("native")
    assert (cpu.name, cpu.scheduler, cpu.launcher, cpu.here) == ("cpu", "slurm", "srun", False)
    assert cluster.partition("wire:2gbit").name == "bare"
    assert cluster.partition() is cpu  # the first one


def test_a_node_is_this_machine_where_launches_are_here_or_the_settings_do_not_say(
    cluster: known_systems.System,
) -> None:
    here = known_systems.this_node()
    assert len(here.cpus) == here.cores >= 1
    assert cluster.partition("native").node == NodeShape(48)
    assert cluster.partition("shm").node == here
    assert cluster.partition("wire").node == here


@pytest.mark.usefixtures("cluster")
def test_a_run_is_placed_on_the_nodes_of_its_partition() -> None:
    (placed,) = placing.place(Options(system="cluster", network="native", ranks=2))
    assert placed == Placement(nodes=1, ranks_per_node=2, threads_per_rank=24)
    with pytest.raises(CampaignError, match=r"need 50 cores, a node of partition 'cpu' has 48"):
        placing.place(Options(system="cluster", network="native", ranks=2, threads_per_rank=(25,)))


def test_cpus_are_those_of_ranks_on_their_node_whatever_the_number_of_nodes() -> None:
    node = NodeShape(4, each(0, 2, 1, 3))
    one, four = (Placement.on(node, 2, 0, nodes=nodes) for nodes in (1, 4))
    assert (one.ranks, four.ranks) == (2, 8)
    assert one.cores_per_node == four.cores_per_node == 4
    assert one.shares == four.shares == ((0, 2), (1, 3))
    assert one.dedicated_cpus == four.dedicated_cpus == (2, 3)


def test_hosts_with_different_cpus_have_shares_of_their_own() -> None:
    placed = Placement.on(NodeShape(4, by_host=(("n1", each(0, 1, 2, 3)), ("n2", each(4, 5, 6, 7)))), 2, 2, nodes=2)
    assert (placed.shares, placed.dedicated_cpus) == ((), ())
    assert placed.shares_by_host == (("n1", ((0, 1), (2, 3))), ("n2", ((4, 5), (6, 7))))
    bound = bound_by_program(placed, "LOCAL_RANK")
    assert (bound.binder, bound.binds) == (("LOCAL_RANK", "n1=0,1:2,3/n2=4,5:6,7"), True)
    assert Placement.on(NodeShape(1, by_host=(("n1", each(0)), ("n2", each(1)))), 2, 1, nodes=2).by_host == ()


def test_a_site_sends_numbers_to_a_store_of_its_own_too() -> None:
    """By a handler of ReFrame, beside the performance logs of the clone."""
    own = {"type": "httpjson", "url": "http://store.example/reframe", "level": "info"}
    settings = site_of("cluster", [partition_of("cpu", "tcp", scheduler="local", launcher="mpiexec")], [own])
    kinds = [handler["type"] for handler in settings["logging"][0]["handlers_perflog"]]
    assert kinds == ["filelog", "httpjson"]


# -- systems init ------------------------------------------------------------------------------------------------------


@pytest.fixture
def init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """`systems init site` in a clone of its own, without Spack."""
    monkeypatch.setattr(new_system, "ROOT", tmp_path)
    monkeypatch.setattr(known_systems, "SYSTEMS", tmp_path / "systems")
    monkeypatch.setattr(new_system, "_externals", lambda _say: (None, "no Spack"))
    known_systems.load.cache_clear()
    yield partial(new_system.write, "site", force=False, say=print)
    known_systems.load.cache_clear()


@pytest.mark.parametrize("name", [name for name, one in schedulers.SUBMITTED_TO.items() if not one.is_described])
def test_a_template_of_another_batch_system_is_one_to_complete(init: Callable[..., str], name: str) -> None:
    assert "next: complete settings.py" in init(scheduler=name)
    site = known_systems.load("site")
    assert {network: one.name for network, one in site.partitions.items()} == {"native": "cpu", "tcp": "cpu-tcp"}
    cpu = site.partition("native")
    assert (cpu.scheduler, cpu.launcher, cpu.here, cpu.node.cores) == (name, "mpiexec", False, this_node().cores)
    assert cpu.access == schedulers.find(name).access
    assert schedulers.find(name).in_words(name) in settings_of("site")


def test_what_needs_slurm_is_refused_where_there_is_none(
    init: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    for asked, words in (
        ({"scheduler": "squeue"}, "--scheduler squeue: no scontrol, sbatch, squeue, scancel on PATH"),
        ({"launcher": "srun"}, "--launcher srun starts ranks in jobs of Slurm only"),
        ({"scheduler": "pbspro", "launcher": "srun"}, "--launcher srun starts ranks in jobs of Slurm only"),
        ({"scheduler": "lsf"}, "scheduler 'lsf': one of squeue, slurm, pbs, "),
    ):
        with pytest.raises(CampaignError) as refused:
            init(**asked)
        assert words in str(refused.value)
        assert "this machine alone" not in str(refused.value)
    assert not (known_systems.SYSTEMS / "site").exists()


def settings_of(name: str) -> str:
    return (known_systems.SYSTEMS / name / "settings.py").read_text()


# -- launchers ---------------------------------------------------------------------------------------------------------

BATCH = Launcher(
    title="a launcher of a batch system",
    place=lambda request: Settings(options=(f"--ntasks-per-node={request.placement.ranks_per_node}",), binds=True),
    across=never_across("it knows the nodes of its job"),
    hand_over=lambda name, value: (f"--export={name}={value}",),
    commands=("srun",),
)


def asked(family: str, launcher: str, version: str = "5.0.2") -> Settings | Impossible:
    placement = Placement(2, 4, 2, cpus=each(*range(8)))
    request = Request(Path("/opt/mpi"), version, "async", "wire", placement, here=False, launcher=launcher)
    return launches.launch(family, request)


def test_one_more_launcher_is_one_entry_that_a_library_names(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = replace(mpich.LIBRARY, launchers=(StartedBy(HYDRA), StartedBy(BATCH, since=4)))
    monkeypatch.setattr(registry, "LIBRARIES", {**registry.LIBRARIES, "mpich": entry})
    answer, own = asked("mpich", "srun"), asked("mpich", "mpiexec")
    assert isinstance(answer, Settings)
    assert isinstance(own, Settings)
    assert answer.options == ("--ntasks-per-node=4",)
    assert own.options[:1] == ("-bind-to",)
    assert answer.env == own.env  # what the library itself needs
    assert isinstance(asked("mpich", "srun", "3.4.3"), Impossible)


@pytest.mark.parametrize("family", registry.LIBRARIES)
def test_a_library_is_not_started_by_what_it_does_not_name(family: str) -> None:
    answer = asked(family, "aprun")
    assert isinstance(answer, Impossible)
    assert answer.reason.startswith(f"how aprun starts ranks of {registry.library(family).title} is not known")
    assert "mpiexec" in answer.reason


def test_of_a_library_that_is_not_known_any_launcher_is_tried() -> None:
    placement = Placement(1, 2, 1)
    for name in ("srun", "mpiexec"):
        request = Request(Path("/opt/mpi"), "1.0", "basic", "shm", placement, launcher=name)
        assert launches.launch("mympi", request) == Settings()


@pytest.mark.parametrize(("version", "title"), [("4.1.8", "until"), ("5.0.2", "since"), ("main", "since")])
@pytest.mark.parametrize("command", ["mpiexec", "mpirun", "mpirun-openmpi"])
def test_open_mpi_changed_its_launcher(version: str, title: str, command: str) -> None:
    launcher = openmpi.LIBRARY.launcher(command, version)
    assert launcher is not None
    assert title in launcher.title


@pytest.mark.parametrize("family", registry.LIBRARIES)
@pytest.mark.parametrize("version", ["1.0", "2.3.7", "4.1.8", "5.0.11", "2021.18.1", "main"])
def test_every_version_of_a_library_is_started_by_one_launcher(family: str, version: str) -> None:
    starting = [one.launcher for one in registry.LIBRARIES[family].launchers if one.starts(version)]
    for command, fewest in (("mpiexec", 1), ("srun", 0)):
        assert fewest <= sum(launcher.is_called(command) for launcher in starting) <= 1


def test_configurations_of_an_entry_are_those_of_the_librarys_thread() -> None:
    for family, entry in registry.LIBRARIES.items():
        for name in entry.configurations:
            assert CONFIGURATIONS[name].progress == "library", family
        assert not set(entry.without) & {*entry.configurations, *entry.networks}, family


@pytest.mark.parametrize(("family", "plugin"), [("openmpi", "pmix"), ("mpich", "pmi2"), ("intel", "pmi2")])
def test_srun_starts_ranks_in_a_job_of_slurm(family: str, plugin: str) -> None:
    def answer(hosts: Hosts | None, *, here: bool = True) -> Answer:
        placement = Placement(2, 2, 1, cpus=each(4, 5))
        request = Request(Path("/opt/mpi"), "5.0.2", "basic", "tcp", placement, here=here, launcher="srun", hosts=hosts)
        return launches.launch(family, request)

    job = Job("slurm", "12", {"SLURM_CONF": "/etc/cluster"})
    settings = answer(Hosts(("n1", "n2"), "/opt/agent", {}, job))
    assert isinstance(settings, Settings)
    wanted = {"--jobid=12", f"--mpi={plugin}", "--nodelist=n1,n2", "--nodes=2", "--ntasks=4", "--ntasks-per-node=2"}
    assert wanted <= set(settings.options)
    assert all(option.startswith("--") and "--mca" not in option for option in settings.options)
    assert settings.env["SLURM_CONF"] == "/etc/cluster"
    assert settings.binder == ("SLURM_LOCALID", "4:5")
    for hosts in (None, Hosts(("n1", "n2"), "/opt/agent"), Hosts(("n1",), "/opt/agent", {}, Job("pbs", "12"))):
        refused = answer(hosts)
        assert isinstance(refused, Impossible)
        assert "--system allocation-srun" in refused.reason
    assert isinstance(answer(None, here=False), Settings)  # a plan for a job that has no hosts yet
