"""What Spack installed of a toolchain, ours and other benchmarks, or could not: noted once for every prefix."""

import hashlib
from contextlib import suppress
from pathlib import Path

from mpi_campaign.toolchains.spack import tool
from mpi_campaign.toolchains.spack.build import Build

# What is noted of other benchmarks.
INSTALLED, FAILED = "installed", "failed"
LOG = ".log"
LONGEST_QUOTE = 150
AGAIN = "it is not tried again before ./campaign setup --provider spack --fresh"


def note(digest: str, prefix: str) -> Path:
    """The file that says what was installed there: from which sources, or that it could not be. One for each prefix,
    whichever environments share it."""
    return tool.HOME / "built" / f"{digest}-{hashlib.sha256(prefix.encode()).hexdigest()[:8]}"


def _noted(digest: str, prefix: str) -> str:
    try:
        return note(digest, prefix).read_text().strip()
    except OSError:
        return ""


def is_built(build: Build, sources: str) -> bool:
    """Whether our benchmarks are installed from these sources (`builds.fingerprint`)."""
    return _noted(build.hash, build.prefix) == sources and Path(build.prefix, "bin").is_dir()


def log(digest: str, prefix: str) -> Path:
    """The file with what Spack said when it installed another benchmark there."""
    path = note(digest, prefix)
    return path.with_name(path.name + LOG)


def failed(build: Build) -> list[str]:
    """Packages of other benchmarks that could not be built; they are not tried again until `forget_failed`."""
    return [name for name, digest, prefix in build.peers if _noted(digest, prefix) == FAILED]


def why_lacking(build: Build, package: str) -> str:
    """Of one that `failed` names, in one line: what Spack said, and what to do."""
    (path,) = (log(digest, prefix) for name, digest, prefix in build.peers if name == package)
    try:
        output = path.read_text(errors="replace")
    except OSError:
        output = ""
    todo = tool.hint(tool.complaint(output))
    complaint = tool.complaint(output, LONGEST_QUOTE)
    return f"Spack could not build {package}: {complaint}{f' ({todo})' if todo else ''}; {AGAIN} (all it said: {path})"


def forget_failed() -> None:
    """What could not be built is tried again."""
    for path in (tool.HOME / "built").glob("*"):
        with suppress(FileNotFoundError):  # a build that has just begun takes its own away
            if path.suffix != LOG and path.read_text().strip() == FAILED:
                path.unlink()


def to_install(build: Build, sources: str) -> list[str]:
    """Hashes that are still to be installed, ours first; nothing where there is nothing to do."""
    peers = [
        digest
        for _name, digest, prefix in build.peers
        if (noted := _noted(digest, prefix)) != FAILED and not (noted and Path(prefix).is_dir())
    ]
    return [build.hash, *peers] if peers or not is_built(build, sources) else []
