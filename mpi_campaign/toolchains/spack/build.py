"""A toolchain as Spack concretized it, in the form that is stored and archived."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpi_campaign import files


@dataclass(frozen=True)
class Build:
    """A toolchain as Spack concretized it, for provenance and for the build.

    environment: folder with spack.yaml and spack.lock.  hash, spec, prefix: of our benchmarks.  mpi_*: of the library.
    external: the library was installed before, Spack does not build it.  peers: prefixes of other benchmarks.
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
        """A build from the JSON of its `dataclasses.asdict`. Raises KeyError, TypeError or ValueError."""
        build: Build = files.made_of(cls, entry)
        return build

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefixes by hash: of our benchmarks, then of others'."""
        return {self.hash: self.prefix, **{digest: prefix for _name, digest, prefix in self.peers}}

    @property
    def folder(self) -> Path:
        return Path(self.environment)
