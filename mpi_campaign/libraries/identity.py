"""The MPI library and the version that a library or a launcher reports."""

import re
from dataclasses import dataclass
from pathlib import Path

from mpi_campaign.children import asking
from mpi_campaign.libraries import registry
from mpi_campaign.libraries.versions import same_version

ANSWER_SECONDS = 20.0


def reported_version(family: str, library_version: str) -> str | None:
    """The version in the text of MPI_Get_library_version; None where the text is that of another library. Empty for a
    family that this project does not know: its text cannot be judged."""
    pattern = registry.library(family).reports
    if not pattern:
        return ""
    match = re.search(pattern, library_version)
    return match.group(1) if match else None


def launcher_version(family: str, text: str) -> str | None:
    """The version in the output of a family's `mpiexec --version`; None without one, and for an unknown family."""
    matches = (re.search(pattern, text) for pattern in _version_patterns(family))
    return next((match.group(1) for match in matches if match), None)


def _version_patterns(family: str) -> list[str]:
    """The patterns of `--version` of a family's launchers."""
    return [
        entry.launcher.version_pattern for entry in registry.library(family).launchers if entry.launcher.version_pattern
    ]


@dataclass(frozen=True)
class WrongLauncher:
    """A launcher that belongs to another library or version than expected, or that does not answer.  family, version:
    what it reports; empty where it does not answer.  trouble: why it does not answer; empty where it does."""

    mpiexec: Path
    family: str = ""
    version: str = ""
    trouble: str = ""

    @property
    def what(self) -> str:
        """What is wrong with the launcher, as a sentence without a full stop."""
        if self.trouble:
            return f"{self.mpiexec} --version {self.trouble}"
        return f"{self.mpiexec} is the launcher of {registry.library(self.family).title} {self.version}"

    def sentence(self, prefix: Path) -> str:
        """What is wrong with the launcher, and which toolchain to ask for instead. prefix: that of the library."""
        if self.trouble:
            return f"{self.what}: give the prefix of an MPI library that works"
        return f"{self.what}; ask for {self.family}@{self.version}={prefix}"


def wrong_launcher(family: str, version: str, mpiexec: Path) -> WrongLauncher | None:
    """Ask a launcher whether it belongs to this library and version. Returns what is wrong; None where the launcher is
    right, or where its output names no known library."""
    answer = asking.ask([mpiexec, "--version"], seconds=ANSWER_SECONDS)
    if trouble := answer.not_started:
        return WrongLauncher(mpiexec, trouble=trouble)
    reported = launcher_version(family, answer.text)
    if reported is not None:
        return None if same_version(version, reported) else WrongLauncher(mpiexec, family, reported)
    for other_family in registry.LIBRARIES if _version_patterns(family) else ():
        reported = launcher_version(other_family, answer.text)
        if reported is not None:
            return WrongLauncher(mpiexec, other_family, reported)
    return None
