"""The fields of a library's entry in the registry. Most entries leave most fields at their defaults."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.launchers.launcher import Launcher
from mpi_campaign.libraries.settings import Always, Impossible, Request, Rule, Settings, nothing
from mpi_campaign.libraries.versions import NEWER_THAN_ALL, numbers
from mpi_campaign.networks.registry import NETWORKS


@dataclass(frozen=True)
class StartedBy:
    """A launcher of a library, for versions whose first number is at least `since` and less than `until`."""

    launcher: Launcher
    since: int = 0
    until: int = NEWER_THAN_ALL + 1

    def starts(self, version: str) -> bool:
        return self.since <= numbers(version)[0] < self.until


@dataclass(frozen=True)
class Library:
    """One MPI library family.

    package: the name of its package in Spack.
    launchers: the launchers of its ranks. Where several fit, the first is used.
    reports: pattern of the text of MPI_Get_library_version; group 1 is the version. Empty where it is not known.

    as_root: variables without which root may not start it; they have no effect for other users.
    always: settings of every launch. They switch the library's progress thread off, which a site's file may have
    switched on; a configuration that needs the thread switches it on again.
    networks: {name: rule that selects the network}. Without a rule, networks that need none get no settings.
    configurations: {name: rule that starts and binds the library's progress thread}. Other configurations get no
    settings.
    settings: {name of an axis that sets a library: {value: rule}}. Usual values need none.
    flavours: {name: rule} of ways to run the library that are sides of their own in comparisons: openmpi@5.0.11+ucx.
    eager_limit: returns the name of the MPI_T control variable with the largest message that is sent eagerly over a
    network; empty where there is none.
    fragments: returns the names of two such variables: with the number of buffers for eager messages that a rank
    reserves over a network in advance, and with their size; empty where there are none.
    single_copy_by: which rank copies a large message by itself within a node, where the kernel can copy it once:
    sender or receiver; empty where neither is known to do it.
    without: {name of a network, configuration or value of such an axis that the library lacks: reason}.
    progresses: it has progress threads in every configuration, `basic` too.
    streams: settings by which each rank can make so many streams (MPICH's extension); none where it has no streams.

    variables: names of environment variables that steer the library, for records; `PREFIX*` means all names with that
    beginning.
    set_by_launcher: those among `variables` by which its launcher passes on addresses, job numbers and detected values.
    controls: names of MPI_T control variables that choose transports and progress; `*` means any letters.

    wheels: its packages on PyPI; () where there are none.  known_wheels: versions of them that are known to work on
    x86-64, the default first.
    folders: folders below its prefix with shared libraries, beside lib and lib64.
    spack_prefix: a function of version and prefix that returns the prefix for Spack's external; None where Spack cannot
    use the library there.
    spack_layout: where Spack looks for the library below that prefix, in words.
    binary_interface: the name of the binary interface that it shares with other libraries; empty where it shares none.
    shared_memory: patterns of the names of files in /dev/shm that stay there if its ranks are killed.
    tested: somebody has run it with these settings; otherwise they are from its documentation alone.
    """

    title: str
    package: str
    launchers: tuple[StartedBy, ...]
    reports: str = ""
    as_root: Mapping[str, str] = field(default_factory=dict)
    always: Always = nothing
    networks: Mapping[str, Rule] = field(default_factory=dict)
    configurations: Mapping[str, Rule] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Rule]] = field(default_factory=dict)
    flavours: Mapping[str, Rule] = field(default_factory=dict)
    eager_limit: Callable[[Request], str] = lambda _request: ""
    fragments: Callable[[Request], tuple[str, ...]] = lambda _request: ()
    single_copy_by: str = ""
    without: Mapping[str, str] = field(default_factory=dict)
    progresses: bool = False
    streams: Callable[[int], Settings] = lambda _count: Settings()
    variables: tuple[str, ...] = ()
    set_by_launcher: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    known_wheels: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    spack_prefix: Callable[[str, Path], Path | None] = lambda _version, prefix: prefix
    spack_layout: str = "PREFIX/bin"
    binary_interface: str = ""
    shared_memory: tuple[str, ...] = ()
    tested: bool = True

    def launcher(self, command: str, version: str) -> Launcher | None:
        """The launcher with that name in ReFrame, for a version of the library; None where the entry has none."""
        starting = (entry.launcher for entry in self.launchers if entry.starts(version))
        return next((launcher for launcher in starting if launcher.is_called(command)), None)

    def network(self, name: str) -> Rule | Impossible:
        """The rule that selects a network, or the reason why the library lacks it."""
        entry = self.networks.get(name)
        return entry or (nothing if NETWORKS[name].without_settings else self._lacks(name))

    def configuration(self, name: str) -> Rule | Impossible:
        """The rule that selects a configuration, or the reason why the library lacks it."""
        entry = self.configurations.get(name)
        return entry or (self._lacks(name) if CONFIGURATIONS[name].progress == "library" else nothing)

    def setting(self, axis: str, value: str) -> Rule | Impossible:
        """The rule for an unusual value of an axis that sets a library, or the reason why the library lacks it."""
        entry = self.settings.get(axis, {}).get(value)
        return entry or self._lacks(value, f"variables for {axis.replace('_', ' ')} {value}")

    def _lacks(self, name: str, words: str = "") -> Impossible:
        return Impossible(self.without.get(name, f"{self.title} has no {words or name}"))
