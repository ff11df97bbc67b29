"""What Spack makes of a toolchain, as it is remembered and archived."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Build:
    """What Spack makes of a toolchain, for provenance and for building it.

    environment: folder with spack.yaml and spack.lock.  hash, spec, prefix: of our benchmarks.  mpi_*: of the library.
    external: the library was there before, Spack did not build it.  peers: prefixes of other benchmarks.
    """

    environment: str
    hash: str
    spec: str
    prefix: str
    mpi_hash: str
    mpi_spec: str
    external: bool
    compiler: str
    architecture: str
    spack_version: str
    spack_commit: str
    spack_executable: str
    repositories: tuple[tuple[str, str], ...]
    lock_sha256: str
    peers: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> "Build":
        """What `dataclasses.asdict` and JSON made of it. Raises KeyError, TypeError or ValueError."""
        repositories = tuple((str(name), str(commit)) for name, commit in entry["repositories"])
        peers = tuple((str(name), str(digest), str(prefix)) for name, digest, prefix in entry["peers"])
        return cls(**{**entry, "repositories": repositories, "peers": peers})

    @property
    def prefixes(self) -> dict[str, str]:
        """Where what is installed of it lies, by hash: our benchmarks, then others'."""
        return {self.hash: self.prefix, **{digest: prefix for _name, digest, prefix in self.peers}}

    @property
    def folder(self) -> Path:
        return Path(self.environment)
