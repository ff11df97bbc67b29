"""A launch as it is requested (`Request`), and the answer: its `Settings`, or `Impossible` with a reason."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mpi_campaign.children import kernel
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.versions import numbers
from postprocess.records.header import keeps_apart

BIND_RANK = "bind_rank"
"""The program of this project that binds a rank and then executes the benchmark."""


RAISED_LIMIT = 256 << 10
"""The eager limit of the protocol `eager`, in bytes. A library may add a message's header to what it compares."""
LOWERED_LIMIT = 8 << 10
"""The eager limit of the protocol `rendezvous` over OFI, in bytes."""


@dataclass(frozen=True)
class Settings:
    """Environment variables, launcher options and options of the benchmark. In `a + b`, b's variables replace a's.

    binder: arguments of BIND_RANK, which binds ranks where the launcher cannot be given CPUs; () where it can.
    binds: each rank runs on the CPUs of its share only.
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
        """The words between the launcher and the benchmark. programs: the folder of this project's programs."""
        return (*self.options, *((str(programs / BIND_RANK), *self.binder) if self.binder else ()))


@dataclass(frozen=True)
class Impossible:
    """The launch cannot work: its case is skipped, with this reason."""

    reason: str


@dataclass(frozen=True)
class Job:
    """A job of a batch system. variables: what the batch system's commands need in their environment."""

    scheduler: str
    number: str
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hosts:
    """The hosts on which ranks run, in the order of ranks; each has equally many.

    agent: a program that is called as ssh is, and starts a command on a host.  variables: what the agent needs in its
    environment.  job: the job whose hosts they are; None where they are of no job.
    """

    names: tuple[str, ...]
    agent: str
    variables: Mapping[str, str] = field(default_factory=dict)
    job: Job | None = None


@dataclass(frozen=True)
class Request:
    """A launch as it is requested.

    here: on this machine, rather than on the nodes of a batch job.  launcher: ReFrame's name of the launcher.
    hosts: where the launcher starts ranks through an agent; None: on this machine, or where the batch system says.
    axes: what else the library is told: {axis: value}, unusual values of axes that set a library (`Axis.sets_library`).
    """

    prefix: Path
    version: str
    configuration: str
    network: str
    placement: Placement
    here: bool = True
    launcher: str = "mpiexec"
    hosts: Hosts | None = None
    axes: Mapping[str, str] = field(default_factory=dict)

    @property
    def flavours(self) -> tuple[str, ...]:
        """What follows the version, such as ucx of 5.0.11+ucx: those that the library's entry has are settings."""
        return tuple(self.version.split("+")[1:])

    @property
    def major(self) -> int:
        """The version's first number; NEWER_THAN_ALL for a branch or commit without numbers (main, git.4f2a...)."""
        return numbers(self.version)[0]

    def is_of(self, *release: int) -> bool:
        """Whether the version begins with these numbers. (4, 0) is the beginning of 4.0.3, not of 4.01 or main."""
        return numbers(self.version)[: len(release)] == release


Answer = Settings | Impossible
Rule = Callable[[Request], Answer]
Always = Callable[[Request], Settings]


def same(**env: str) -> Always:
    """A rule that answers every request with these variables."""
    settings = Settings(env)
    return lambda _request: settings


def same_options(*options: str, **env: str) -> Always:
    """A rule that answers every request with these launcher options and variables."""
    settings = Settings(env, options)
    return lambda _request: settings


def nothing(_request: Request) -> Settings:
    """The rule that answers every request with no settings."""
    return Settings()


def within_a_node(rule: Rule) -> Rule:
    """A rule that switches off the single copy by the kernel (CMA), which exists over shared memory only."""

    def checked(request: Request) -> Answer:
        if request.network != "shm":
            return Impossible("a single copy by the kernel is within a node: --network shm")
        return rule(request)

    return checked


def where_copies_are_refused(always: Always, **env: str) -> Always:
    """Settings of every launch, with these variables where the kernel refuses the single copy, by which the library
    would fail."""
    return lambda request: always(request) + Settings(env if kernel.COPY in kernel.refused() else {})


def unless_over_wire(rule: Rule) -> Rule:
    """A rule about what the ranks of a node share, which they do not over a wire."""

    def checked(request: Request) -> Answer:
        if keeps_apart(request.network):
            return Impossible("over a wire the ranks of a node share no memory: --network shm")
        return rule(request)

    return checked


def moved_by_the_program(asynchronous: Rule) -> Rule:
    """A rule that starts the library's progress thread, and lets the benchmark move the thread after MPI_Init.

    For `dedicated` of a library that cannot bind the thread, and for `dedicated_unbound` of a library that always
    binds it.  asynchronous: the rule that starts the thread.
    """

    def rule(request: Request) -> Answer:
        answer = asynchronous(request)
        return answer if isinstance(answer, Impossible) else answer + Settings(program=("--move-progress-threads",))

    return rule
