"""ORTE, the launcher of Open MPI until version 4."""

from mpi_campaign.libraries.launchers import open_mpi
from mpi_campaign.libraries.launchers.launcher import Launcher
from mpi_campaign.libraries.settings import Request, Settings

# Batch systems that ORTE would ask for a list of hosts; `^` excludes them.
_HOSTS_OF = "^slurm,tm,lsf,gridengine,loadleveler,alps"


_ASKS_NOBODY = ("--mca", "ras", _HOSTS_OF, "--mca", "orte_default_hostfile", "none")


def _here(_request: Request) -> Settings:
    return Settings(options=("--mca", "plm", "isolated", *_ASKS_NOBODY))


ORTE = Launcher(
    title="Open MPI's launcher until version 4",
    here=_here,
    place=open_mpi.place,
    across=open_mpi.across(lambda agent: ("--mca", "plm", "rsh", "--mca", "plm_rsh_agent", agent, *_ASKS_NOBODY)),
    hand_over=open_mpi.hand_over,
    version_pattern=r"\((?:Open MPI|OpenRTE)\) (\d[\w.]*)",
    rank_variables=(open_mpi.RANK_VARIABLE,),
)
