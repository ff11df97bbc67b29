"""What a launch is asked to be (`Request`), and what answers: `Settings`, or that it is `Impossible`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.versions import numbers

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
class Impossible:
    """It is known that this cannot be had: skipped before launch, with the reason."""

    reason: str


@dataclass(frozen=True)
class Request:
    """What a launch is asked to be. here: on this machine, rather than on the nodes of a batch system's job.

    launcher: ReFrame's name of what starts it.
    """

    prefix: Path
    version: str
    configuration: str
    network: str
    placement: Placement
    here: bool = True
    launcher: str = "mpiexec"

    @property
    def major(self) -> int:
        """The version's first number; of a branch that names none (main, git.4f2a...), newer than any."""
        return numbers(self.version)[0]

    def is_of(self, *release: int) -> bool:
        """Whether the version begins with these numbers: 4.0.3 is of 4, 0; 4.01 and main are not."""
        return numbers(self.version)[: len(release)] == release


Answer = Settings | Impossible
Rule = Callable[[Request], Answer]


def same(**env: str) -> Callable[[Request], Settings]:
    """These variables, whatever is asked."""
    settings = Settings(env)
    return lambda _request: settings


def nothing(_request: Request) -> Settings:
    """What needs no settings."""
    return Settings()


def moved_by_the_program(asynchronous: Rule) -> Rule:
    """`dedicated` of a library that cannot bind its progress thread, or `dedicated_unbound` of one that always does:
    the benchmark moves it, after MPI_Init. asynchronous: what starts the thread."""

    def rule(request: Request) -> Answer:
        answer = asynchronous(request)
        return answer if isinstance(answer, Impossible) else answer + Settings(program=("--move-progress-threads",))

    return rule
