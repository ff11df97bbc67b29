"""Launchers that cannot start ranks on other nodes: padico-launch, and any that is not known."""

from mpi_campaign.libraries.launchers.launcher import Launcher, never_across

PADICO = Launcher(
    title="padico-launch",
    across=never_across("MadMPI's launcher takes no agent that starts ranks on other nodes"),
    hand_over=lambda name, value: (f"-D{name}={value}",),
)

UNKNOWN_LAUNCHER = Launcher(
    title="a launcher that the campaign does not know",
    across=never_across(
        "how this library's launcher starts ranks on other nodes is not known: add it to "
        "mpi_campaign/libraries/launchers/ (docs/adding.md)"
    ),
    hand_over=lambda _name, _value: (),
    commands=(),
)
"""It gets no options, and its ranks have the environment that it has."""
