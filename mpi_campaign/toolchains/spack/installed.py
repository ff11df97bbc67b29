"""Notes on what Spack has installed for a toolchain, or failed to install: one note for each prefix."""

import hashlib
from contextlib import suppress
from pathlib import Path

from mpi_campaign.files import read
from mpi_campaign.toolchains.spack import tool
from mpi_campaign.toolchains.spack.build import Build

# The texts of notes on other benchmarks.
INSTALLED, FAILED = "installed", "failed"
LOG = ".log"
LONGEST_QUOTE = 150
AGAIN = "it is not tried again before ./campaign setup --provider spack --fresh"


def note(digest: str, prefix: str) -> Path:
    """The file with the note on a prefix: the sources of our benchmarks, or INSTALLED or FAILED for other benchmarks.
    Environments that share a prefix share its note."""
    return tool.HOME / "built" / f"{digest}-{hashlib.sha256(prefix.encode()).hexdigest()[:8]}"


def _noted(digest: str, prefix: str) -> str:
    return read(note(digest, prefix))


def is_built(build: Build, sources: str) -> bool:
    """Whether our benchmarks are installed from these sources (`builds.fingerprint`)."""
    return _noted(build.hash, build.prefix) == sources and Path(build.prefix, "bin").is_dir()


def log(digest: str, prefix: str) -> Path:
    """The file with Spack's output from installing another benchmark into this prefix."""
    path = note(digest, prefix)
    return path.with_name(path.name + LOG)


def failed(build: Build) -> list[str]:
    """The packages of other benchmarks that Spack failed to build. They are not tried again before `forget_failed`."""
    return [name for name, digest, prefix in build.peers if _noted(digest, prefix) == FAILED]


def why_lacking(build: Build, package: str) -> str:
    """Why Spack could not build a package that `failed` returns, and what to do, in one line."""
    (path,) = (log(digest, prefix) for name, digest, prefix in build.peers if name == package)
    output = read(path)
    todo = tool.hint(tool.complaint(output))
    complaint = tool.complaint(output, LONGEST_QUOTE)
    return f"Spack could not build {package}: {complaint}{f' ({todo})' if todo else ''}; {AGAIN} (all it said: {path})"


def forget_failed() -> None:
    """Delete the notes on failed packages, so that Spack tries to build them again."""
    for path in (tool.HOME / "built").glob("*"):
        with suppress(FileNotFoundError):  # a build that begins meanwhile deletes its note
            if path.suffix != LOG and path.read_text().strip() == FAILED:
                path.unlink()


def to_install(build: Build, sources: str) -> list[str]:
    """Hashes of the packages to install, our benchmarks first; empty where all are installed."""
    peers = [
        digest
        for _name, digest, prefix in build.peers
        if (noted := _noted(digest, prefix)) != FAILED and not (noted and Path(prefix).is_dir())
    ]
    return [build.hash, *peers] if peers or not is_built(build, sources) else []
