"""Batch systems: an entry in this folder and a line here."""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from mpi_campaign.errors import CampaignError
from mpi_campaign.schedulers import flux, grid_engine, lsf, oar, others, pbs, slurm, torque
from mpi_campaign.schedulers.hosts import Allocation, Read, Variables
from mpi_campaign.schedulers.scheduler import Scheduler

SCHEDULERS: tuple[Scheduler, ...] = (
    flux.SCHEDULER,
    slurm.SCHEDULER,
    pbs.SCHEDULER,
    torque.SCHEDULER,
    oar.SCHEDULER,
    grid_engine.SCHEDULER,
    lsf.SCHEDULER,
    others.COBALT,
    others.FUJITSU,
)
"""Where one runs inside another, the first that has signs of a job counts."""

SUBMITTED_TO: Mapping[str, Scheduler] = {name: scheduler for scheduler in SCHEDULERS for name in scheduler.reframe}
"""Those that jobs are submitted to, by ReFrame's name."""

IN_HAND: Mapping[str, Scheduler] = {scheduler.name: scheduler for scheduler in SCHEDULERS if scheduler.name}
"""Those in whose jobs a campaign finds the nodes, by the name of their allocations."""


def find(name: str) -> Scheduler:
    """The scheduler by ReFrame's name. Raises CampaignError with the legal names."""
    if name not in SUBMITTED_TO:
        raise CampaignError(
            f"jobs cannot be submitted to scheduler '{name}': one of {', '.join(SUBMITTED_TO)}, or local inside of a "
            "job"
        )
    return SUBMITTED_TO[name]


def all_of(what: Callable[[Scheduler], Iterable[str]]) -> tuple[str, ...]:
    """What all entries say of one field, each word once."""
    return tuple(dict.fromkeys(itertools.chain.from_iterable(map(what, SCHEDULERS))))


def allocation_of(variables: Variables, read: Read) -> Allocation | None:
    """The allocation that the variables describe; None where they describe none.  read: returns the text of a file.
    Raises CampaignError for a description that is malformed."""
    for name, scheduler in IN_HAND.items():
        if scheduler.allocation is not None and any(map(variables.get, scheduler.signs)):
            return replace(scheduler.allocation(variables, read), scheduler=name)
    return None
