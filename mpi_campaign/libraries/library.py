"""What an entry of the registry says of one MPI library; most have nothing to say about most of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.launchers.launcher import Launcher
from mpi_campaign.libraries.settings import Impossible, Request, Rule, Settings, nothing
from mpi_campaign.libraries.versions import NEWER_THAN_ALL, numbers


@dataclass(frozen=True)
class StartedBy:
    """A launcher that starts a library's ranks, of these versions: by the first number, `until` not among them."""

    launcher: Launcher
    since: int = 0
    until: int = NEWER_THAN_ALL + 1

    def starts(self, version: str) -> bool:
        return self.since <= numbers(version)[0] < self.until


@dataclass(frozen=True)
class Library:
    """One MPI library family.

    package: Spack's name of it.
    launchers: what starts its ranks; of several that can, the first.
    reports: pattern of MPI_Get_library_version; its group 1 is the version. Empty where that is not known.

    always: settings of every launch. The library's progress thread is off in them, whatever a file of the site says:
    `basic` is none, and a configuration that asks for it wins.
    networks: by name, what selects each. Ranks of one node share memory, and `native` is what the library chooses, with
    nothing said.
    configurations: by name, what starts the library's progress thread, and binds it. The others need nothing of it.
    without: by name of a network or configuration that it does not have, the reason.
    between_nodes: TCP between nodes, shared memory within each.
    progresses: it has progress threads in every configuration, `basic` too.

    variables: names of environment variables that steer it, for records; `PREFIX*` is all that begin so.
    told_itself: of these, what its launcher and it tell each other: addresses, job numbers, what is found out here.
    controls: names of control variables of MPI_T that choose transports and progress; `*` is any letters.

    wheels: the packages on PyPI that make it up; () where there are none.  known_wheels: versions of them that are
    known to work on x86-64, the usual one first.
    folders: where below its prefix it, or its wheel, keeps libraries, beside lib and lib64.
    spack_prefix: given a version and a prefix, what Spack must be told to find it there; None where it cannot.
    spack_layout: where below that Spack looks for it, for people.
    binary_interface: a name for the one that it shares with other libraries; empty where it has one of its own.
    """

    title: str
    package: str
    launchers: tuple[StartedBy, ...]
    reports: str = ""
    always: Callable[[Request], Settings] = nothing
    networks: Mapping[str, Rule] = field(default_factory=dict)
    configurations: Mapping[str, Rule] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)
    between_nodes: Callable[[Request], Settings] = nothing
    progresses: bool = False
    variables: tuple[str, ...] = ()
    told_itself: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    known_wheels: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    spack_prefix: Callable[[str, Path], Path | None] = lambda _version, prefix: prefix
    spack_layout: str = "PREFIX/bin"
    binary_interface: str = ""

    def launcher(self, command: str, version: str) -> Launcher | None:
        """The one that ReFrame calls so, for a version of the library; None where none starts it."""
        starting = (entry.launcher for entry in self.launchers if entry.starts(version))
        return next((launcher for launcher in starting if launcher.is_called(command)), None)

    def network(self, name: str) -> Rule | Impossible:
        """What selects a network."""
        entry = self.networks.get(name)
        return entry or (nothing if name in ("shm", "native") else self._lacks(name))

    def configuration(self, name: str) -> Rule | Impossible:
        """What selects a configuration."""
        entry = self.configurations.get(name)
        return entry or (self._lacks(name) if CONFIGURATIONS[name].progress == "library" else nothing)

    def _lacks(self, name: str) -> Impossible:
        return Impossible(self.without.get(name, f"{self.title} has no {name}"))
