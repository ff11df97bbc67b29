"""The entry for an unknown launcher: it gets no options, and its ranks have the environment that it has."""

from mpi_campaign.libraries.launchers.launcher import Launcher, never_across

UNKNOWN_LAUNCHER = Launcher(
    title="a launcher that the campaign does not know",
    across=never_across(
        "how this library's launcher starts ranks on other nodes is not known: add it to "
        "mpi_campaign/libraries/launchers/ (docs/adding.md)"
    ),
    hand_over=lambda _name, _value: (),
    commands=(),
)
