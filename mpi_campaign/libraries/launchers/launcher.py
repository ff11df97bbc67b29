"""The fields of a launcher's entry."""

from collections.abc import Callable
from dataclasses import dataclass, field

from mpi_campaign.libraries.placement import Placement, Shares
from mpi_campaign.libraries.settings import Answer, Hosts, Impossible, Request, Rule, Settings, nothing

Across = Callable[[Request, Hosts], Answer]


def never_across(reason: str) -> Across:
    """The field `across` of a launcher that cannot start ranks on other nodes, with the reason."""
    return lambda *_: Impossible(reason)


def bound_by_program(placement: Placement, local_rank: str) -> Settings:
    """Settings by which BIND_RANK binds each rank to the CPUs of its share; none where CPUs are not known.  local_rank:
    the variable in which the launcher tells a rank its number among those of its node."""
    if placement.shares:
        return Settings(binder=(local_rank, _lists(placement.shares)), binds=True)
    if placement.shares_by_host:
        lists = "/".join(f"{host}={_lists(shares)}" for host, shares in placement.shares_by_host)
        return Settings(binder=(local_rank, lists), binds=True)
    return Settings()


def _lists(shares: Shares) -> str:
    return ":".join(",".join(map(str, share)) for share in shares)


@dataclass(frozen=True)
class Launcher:
    """A launcher, in one of its forms.

    here: settings by which it starts ranks on this machine, and looks for no ssh, batch system or list of hosts.
    place: settings that bind each rank to the CPUs of its share, from the placement of the request.
    across: settings for ranks on the hosts of the request, instead of `here` and `place`. Each host gets the same
    number of ranks.
    hand_over: a function of name and value that returns the options which set that variable for the ranks.
    version_pattern: of the output of `--version`; group 1 is the version. Empty where it is not known.
    rank_variables: variables that hold the rank of a process, where it does not set those of PMI and PMIx.
    commands: its names in ReFrame, without a dash and what follows; () for any name.
    """

    title: str
    here: Rule = nothing
    place: Rule = nothing
    across: Across = field(kw_only=True)
    hand_over: Callable[[str, str], tuple[str, ...]] = field(kw_only=True)
    version_pattern: str = ""
    rank_variables: tuple[str, ...] = ()
    commands: tuple[str, ...] = ("mpiexec", "mpirun")

    def is_called(self, command: str) -> bool:
        """Whether ReFrame's name of a launcher (mpiexec, mpirun-openmpi, srun) means this launcher."""
        return not self.commands or command.partition("-")[0] in self.commands
