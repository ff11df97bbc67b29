"""The fields of a launcher's entry."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mpi_campaign.libraries.settings import Answer, Impossible, Request, Settings, nothing

Across = Callable[[Request, str, Sequence[str]], Answer]


def never_across(reason: str) -> Across:
    """The field `across` of a launcher that cannot start ranks on other nodes, with the reason."""
    return lambda *_: Impossible(reason)


@dataclass(frozen=True)
class Launcher:
    """A launcher, in one of its forms.

    here: settings by which it starts ranks on this machine, and looks for no ssh, batch system or list of hosts.
    place: settings that bind each rank to the CPUs of its share, from the placement of the request.
    across: settings for ranks on other hosts: a function of the request, an agent that is called as ssh is, and the
    hosts. Each host gets the same number of ranks, which are not bound.
    hand_over: a function of name and value that returns the options which set that variable for the ranks.
    says: pattern of the output of `--version`; group 1 is the version. Empty where it is not known.
    rank_variables: variables that hold the rank of a process, where it does not set those of PMI and PMIx.
    commands: its names in ReFrame, without a dash and what follows; () for any name.
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
        """Whether ReFrame's name of a launcher (mpiexec, mpirun-openmpi, srun) means this launcher."""
        return not self.commands or command.partition("-")[0] in self.commands
