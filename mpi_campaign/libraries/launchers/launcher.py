"""What is known of a launcher."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mpi_campaign.libraries.settings import Answer, Impossible, Request, Settings, nothing

Across = Callable[[Request, str, Sequence[str]], Answer]


def never_across(reason: str) -> Across:
    """Of a launcher that cannot be told other nodes, and why."""
    return lambda *_: Impossible(reason)


@dataclass(frozen=True)
class Launcher:
    """One launcher, in one of its forms.

    commands: ReFrame's names of it, without what stands behind a dash; () for any.
    here: it starts ranks on this machine, and looks for no ssh, no batch system and no list of hosts.
    place: each rank on the CPUs of its share, by the placement of the request.
    across: given an agent that is used as ssh is, and hosts: as many ranks on each, bound to nothing.
    hand_over: its options that give ranks a variable of that name and value.
    says: pattern of what `--version` prints; its group 1 is a version. Empty where that is not known.
    rank_variables: in which it tells a process its rank, where PMI and PMIx do not.
    """

    title: str
    here: Callable[[Request], Settings] = nothing
    place: Callable[[Request], Settings] = nothing
    across: Across = field(kw_only=True)
    hand_over: Callable[[str, str], tuple[str, ...]] = field(kw_only=True)
    says: str = ""
    rank_variables: tuple[str, ...] = ()
    commands: tuple[str, ...] = ("mpiexec", "mpirun")

    def is_called(self, command: str) -> bool:
        """Whether it is what ReFrame calls so: mpiexec, mpirun-openmpi, srun."""
        return not self.commands or command.partition("-")[0] in self.commands
