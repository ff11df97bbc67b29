"""The lists of a library's variables that our programs are given: they know none themselves."""

import itertools
from collections.abc import Iterable

from mpi_campaign.libraries.library import Library
from mpi_campaign.libraries.registry import LIBRARIES

# Of transports that several libraries use.
_TRANSPORTS = ("FI_*", "UCX_*", "PSM2_*")


def _entries(family: str) -> tuple[Library, ...]:
    """The library's own; all there are where it is not known which one it is."""
    return (LIBRARIES[family],) if family in LIBRARIES else tuple(LIBRARIES.values())


def _option(name: str, *lists: Iterable[str]) -> tuple[str, ...]:
    """With its value; () where the list is empty."""
    value = ",".join(dict.fromkeys(itertools.chain(*lists)))
    return (name, value) if value else ()


def environment(family: str, let_in: Iterable[str] = ()) -> tuple[str, ...]:
    """The option by which a program of ours records the variables that steer a library.

    let_in: names of the variables that a person or a system lets into launches. They are recorded too.
    """
    entries = _entries(family)
    kept = (entry.variables for entry in entries)
    left_out = (f"^{name}" for entry in entries for name in entry.told_itself)
    return _option("--record-environment", *kept, _TRANSPORTS, left_out, let_in)


def controls(family: str) -> tuple[str, ...]:
    """The option by which a program of ours that has configurations records a library's control variables."""
    return _option("--record-controls", *(entry.controls for entry in _entries(family)))


def ranks(family: str, version: str) -> tuple[str, ...]:
    """The option by which `compute_alone`, which has no MPI, finds its rank."""
    starting = (start for entry in _entries(family) for start in entry.launchers if start.starts(version))
    return _option("--rank-variables", *(start.launcher.rank_variables for start in starting))
