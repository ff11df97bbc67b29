"""Whose launcher a program is: of which MPI library, at which version."""

from dataclasses import dataclass
from pathlib import Path

from mpi_campaign.children import asking
from mpi_campaign.libraries import registry

ANSWER_SECONDS = 20.0


@dataclass(frozen=True)
class WrongLauncher:
    """A launcher that is not the one that was asked for. family, version: what it says that it is; empty where it does
    not answer, for the reason in `trouble`."""

    mpiexec: Path
    family: str = ""
    version: str = ""
    trouble: str = ""

    @property
    def what(self) -> str:
        """What is wrong with it."""
        if self.trouble:
            return f"{self.mpiexec} --version {self.trouble}"
        return f"{self.mpiexec} is the launcher of {registry.library(self.family).title} {self.version}"

    def sentence(self, prefix: Path) -> str:
        """The same, and what to ask for instead."""
        if self.trouble:
            return f"{self.what}: give the prefix of an MPI library that works"
        return f"{self.what}; ask for {self.family}@{self.version}={prefix}"


def wrong_launcher(family: str, version: str, mpiexec: Path) -> WrongLauncher | None:
    """What a launcher is, where it should be that of another library or version; None where it is right, or does not
    say what it is."""
    answer = asking.ask([mpiexec, "--version"], seconds=ANSWER_SECONDS)
    if answer.exit_code is None:
        return WrongLauncher(mpiexec, trouble=answer.trouble)
    says = registry.launcher_version(family, answer.text)
    if says is not None:
        return None if registry.same_version(version, says) else WrongLauncher(mpiexec, family, says)
    for other in registry.LIBRARIES if registry.library(family).launcher_reports else ():
        says = registry.launcher_version(other, answer.text)
        if says is not None:
            return WrongLauncher(mpiexec, other, says)
    return None
