"""What other programs take from the cores that ranks may use, while something is prepared or measured."""

import time
from collections.abc import Sequence
from pathlib import Path

from mpi_campaign.doctor import disturbances
from mpi_campaign.doctor.disturbances import CpuTime
from mpi_campaign.processes.progress import duration
from mpi_campaign.this_machine import host, machine

MACHINE = Path("/")
LEAST_SECONDS = 1.0
"""The kernel counts CPU time in hundredths of a second: a shorter look says little."""


class Load:
    """Watches cores from the moment when it is made, by default those of this process.  share_before, names_before: of
    the cores' time that others took before that, as `look_before` saw it, and who took most of it."""

    def __init__(self, cpus: Sequence[int] | None = None) -> None:
        self.cpus = machine.cores().cpus if cpus is None else cpus
        self.share_before, self.names_before = 0.0, ""
        self._begin()

    def _begin(self) -> None:
        self.began = time.monotonic()
        self.time = disturbances.cpu_time(MACHINE, self.cpus)
        self.own_seconds = disturbances.own_seconds()
        self.processes = disturbances.process_ticks(MACHINE)

    def look_before(self, seconds: float) -> None:
        """Look for so long, while this process sleeps, then begin anew."""
        before, processes = self.time, self.processes
        time.sleep(seconds)
        self._begin()
        taken = self.time - before
        self.share_before = taken.busy_share
        self.names_before = disturbances.busiest(processes, self.processes, taken.total)

    @property
    def passed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    @property
    def taken(self) -> CpuTime:
        """What all programs have taken since it began."""
        return disturbances.cpu_time(MACHINE, self.cpus) - self.time

    @property
    def others(self) -> float:
        """The share of the cores' time that others have taken since it began. The time of a child counts as this
        process's only after the child's end."""
        return disturbances.others_share(self.taken, disturbances.own_seconds() - self.own_seconds)

    @property
    def names(self) -> str:
        """Who has taken most since it began."""
        return disturbances.busiest(self.processes, disturbances.process_ticks(MACHINE), self.taken.total)

    def notes(self) -> list[str]:
        """A line that says which part of the cores' time other programs took; none where it is too little to disturb,
        or where less than LEAST_SECONDS went by."""
        if self.passed < LEAST_SECONDS:
            return []
        return host.notes([disturbances.other_load({f"in {duration(self.passed)}": self.others}, self.names)])
