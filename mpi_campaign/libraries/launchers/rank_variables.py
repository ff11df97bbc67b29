"""The variables by which launchers tell ranks who they are."""

import re

from mpi_campaign.libraries.launchers import hydra, open_mpi, pals, srun

LOCAL_RANKS = (hydra.LOCAL_RANK, open_mpi.LOCAL_RANK, pals.LOCAL_RANK, srun.LOCAL_RANK)
"""The variables that have a rank's number on its node."""
TOLD_TO_RANKS = re.compile("COMM_WORLD|UNIVERSE_SIZE|PIN_MAPPING|HYDRA|LOCAL_RANK|LOCALRANK|NETWORK_IFACE")
"""A pattern in the names of variables by which launchers tell ranks who and where they are. Libraries' settings lack
it: mpiexec refuses to start with an interface that it did not set itself."""
