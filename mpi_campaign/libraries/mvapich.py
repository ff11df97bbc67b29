"""MVAPICH from 3.0 on: MPICH's device ch4 and its variables, which also exist with the prefix MVP_."""

from mpi_campaign.libraries import ch4
from mpi_campaign.libraries.launchers.hydra import MVAPICH_HYDRA
from mpi_campaign.libraries.library import Library, StartedBy

LIBRARY = Library(
    title="MVAPICH",
    package="mvapich",
    launchers=(StartedBy(MVAPICH_HYDRA),),
    reports=r"MVAPICH(?:-\w+)? Version\s*:\s*(\d[\w.]*)",
    always=ch4.always(MVP_ENABLE_AFFINITY="0"),
    networks=ch4.NETWORKS,
    configurations=ch4.CONFIGURATIONS,
    settings={"protocol": ch4.PROTOCOLS},
    eager_limit=ch4.eager_limit,
    variables=("MVP_*", "MV2_*", *ch4.VARIABLES),
    controls=ch4.CONTROLS,
    binary_interface=ch4.BINARY_INTERFACE,
    shared_memory=ch4.SHARED_MEMORY,
    tested=False,
)
