"""What a library and a launcher say that they are: of which MPI library, at which version."""

import re
from dataclasses import dataclass
from pathlib import Path

from mpi_campaign.children import asking
from mpi_campaign.libraries import registry
from mpi_campaign.libraries.versions import same_version

ANSWER_SECONDS = 20.0


def reported_version(family: str, library_version: str) -> str | None:
    """The version in the text of MPI_Get_library_version; None where it is not this family's text.

    For a library that is not known the text cannot be judged: the answer is the empty string.
    """
    pattern = registry.library(family).reports
    if not pattern:
        return ""
    match = re.search(pattern, library_version)
    return match.group(1) if match else None


def launcher_version(family: str, text: str) -> str | None:
    """The version in what a family's `mpiexec --version` prints; None where it says none, or the family is unknown."""
    matches = (re.search(pattern, text) for pattern in _launchers_say(family))
    return next((match.group(1) for match in matches if match), None)


def _launchers_say(family: str) -> list[str]:
    """The patterns of what a family's launchers print of themselves."""
    return [entry.launcher.says for entry in registry.library(family).launchers if entry.launcher.says]


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
    says = launcher_version(family, answer.text)
    if says is not None:
        return None if same_version(version, says) else WrongLauncher(mpiexec, family, says)
    for other in registry.LIBRARIES if _launchers_say(family) else ():
        says = launcher_version(other, answer.text)
        if says is not None:
            return WrongLauncher(mpiexec, other, says)
    return None
