"""The allocation of the batch system's job in which this process runs, from the variables that the job has."""

import os
from collections.abc import Mapping
from pathlib import Path

from mpi_campaign.errors import CampaignError
from mpi_campaign.schedulers import registry
from mpi_campaign.schedulers.hosts import Allocation, quoted
from mpi_campaign.this_machine.findings import GOOD, NOTE, Finding

MOST_FILE_BYTES = 1 << 24


def in_hand() -> Allocation | None:
    """The allocation of this process; None where it runs in none. Raises CampaignError for a malformed description."""
    return registry.allocation_of(os.environ, read_file)


def finding(variables: Mapping[str, str] = os.environ) -> Finding | None:
    """The finding on the allocation of this process; None where it runs in none."""
    try:
        allocated = registry.allocation_of(variables, read_file)
    except CampaignError as error:
        return Finding("allocation", NOTE, str(error), "the variables of the batch system are not what it sets")
    return Finding("allocation", GOOD, str(allocated)) if allocated else None


def read_file(path: str) -> str:
    """The text of a file. Raises CampaignError where it cannot be read, or is too large."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MOST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CampaignError(f"{quoted(path)} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(content) > MOST_FILE_BYTES:
        raise CampaignError(f"{quoted(path)} is too large for a list of hosts")
    return content.decode(errors="replace")
