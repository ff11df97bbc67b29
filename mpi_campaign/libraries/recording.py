"""Options that tell our programs which variables of an MPI library to record. The programs know no names themselves."""

import itertools
from collections.abc import Iterable

from mpi_campaign.libraries.library import Library
from mpi_campaign.libraries.registry import LIBRARIES

# Variables of transports that several libraries use.
_TRANSPORTS = ("FI_*", "UCX_*", "PSM2_*")


def _entries(family: str) -> tuple[Library, ...]:
    """The entry of a library; all entries where the library is not known."""
    return (LIBRARIES[family],) if family in LIBRARIES else tuple(LIBRARIES.values())


def _option(name: str, *lists: Iterable[str]) -> tuple[str, ...]:
    """An option and its value, the lists' names without repetition; () where the lists are empty."""
    value = ",".join(dict.fromkeys(itertools.chain(*lists)))
    return (name, value) if value else ()


def environment(family: str, requested: Iterable[str] = ()) -> tuple[str, ...]:
    """The option by which a program of ours records the environment variables that steer a library.  requested: names
    of the variables that a person or a system lets into launches. They are recorded too."""
    entries = _entries(family)
    recorded = (entry.variables for entry in entries)
    left_out = (f"^{name}" for entry in entries for name in entry.set_by_launcher)
    return _option("--record-environment", *recorded, _TRANSPORTS, left_out, requested)


def controls(family: str) -> tuple[str, ...]:
    """The option by which a program of ours that has configurations records a library's control variables."""
    return _option("--record-controls", *(entry.controls for entry in _entries(family)))


def ranks(family: str, version: str) -> tuple[str, ...]:
    """The option that names the variables in which `compute_alone`, which has no MPI, finds its rank."""
    fitting = (started_by for entry in _entries(family) for started_by in entry.launchers if started_by.starts(version))
    return _option("--rank-variables", *(started_by.launcher.rank_variables for started_by in fitting))
