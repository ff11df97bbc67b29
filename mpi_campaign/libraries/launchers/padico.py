"""padico-launch, of MadMPI."""

from mpi_campaign.libraries.launchers.launcher import Launcher, never_across

PADICO = Launcher(
    title="padico-launch",
    across=never_across("MadMPI's launcher takes no agent that starts ranks on other nodes"),
    hand_over=lambda name, value: (f"-D{name}={value}",),
)
