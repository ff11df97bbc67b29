"""PRRTE, the launcher of Open MPI since version 5."""

from mpi_campaign.libraries.launchers import open_mpi
from mpi_campaign.libraries.launchers.launcher import Launcher
from mpi_campaign.libraries.settings import Request, Settings

# Batch systems that PRRTE would ask for a list of hosts; `^` excludes them.
_HOSTS_OF = "^slurm,pbs,lsf,gridengine,flux"
_ASKS_NOBODY = ("--prtemca", "ras", _HOSTS_OF, "--prtemca", "prte_default_hostfile", "none")
# It writes files in the temporary folder by which debuggers and the like find it, named by its process number. If it is
# killed they stay, and end the next launcher that gets this number: "PMIx server's listener thread failed to start".
_WITHOUT_TOOLS = ("--prtemca", "pmix_tool_support", "0")


def _here(_request: Request) -> Settings:
    # PRRTE has no option to stay on one machine. Its component `ssh` calls ssh only where there is another machine.
    return Settings(options=("--prtemca", "plm", "ssh", *_ASKS_NOBODY, *_WITHOUT_TOOLS))


PRRTE = Launcher(
    title="Open MPI's launcher since version 5",
    here=_here,
    place=open_mpi.place,
    across=open_mpi.across(
        lambda agent: ("--prtemca", "plm", "ssh", "--prtemca", "plm_ssh_agent", agent, *_ASKS_NOBODY, *_WITHOUT_TOOLS)
    ),
    hand_over=open_mpi.hand_over,
    version_pattern=r"\((?:Open MPI|OpenRTE)\) (\d[\w.]*)",
    rank_variables=(open_mpi.RANK_VARIABLE,),
)
