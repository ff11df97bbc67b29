"""What other programs take from the cores while a run is prepared."""

import time
from pathlib import Path

from mpi_campaign.doctor import disturbances
from mpi_campaign.processes.progress import duration
from mpi_campaign.this_machine import host, machine

MACHINE = Path("/")
LEAST_SECONDS = 1.0
"""The kernel counts CPU time in hundredths of a second: a shorter look says little."""


class OtherLoad:
    """Watches this machine's cores from the moment when it is made."""

    def __init__(self) -> None:
        self.cpus = machine.cores().cpus
        self.began = time.monotonic()
        self.time = disturbances.cpu_time(MACHINE, self.cpus)
        self.own_seconds = disturbances.own_seconds()
        self.processes = disturbances.process_ticks(MACHINE)

    def notes(self) -> list[str]:
        """A line that says which part of the cores' time other programs took; none where it is too little to disturb,
        or where less than LEAST_SECONDS went by."""
        passed = time.monotonic() - self.began
        if passed < LEAST_SECONDS:
            return []
        taken = disturbances.cpu_time(MACHINE, self.cpus) - self.time
        others = disturbances.others_share(taken, disturbances.own_seconds() - self.own_seconds)
        names = disturbances.busiest(self.processes, disturbances.process_ticks(MACHINE), taken.total)
        return host.notes([disturbances.other_load({f"in {duration(passed)}": others}, names)])
