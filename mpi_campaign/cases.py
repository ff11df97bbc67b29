"""A case: what one process group of a benchmark is to measure. Its identity names its files."""

import re
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Case:
    """toolchain is NAME@VERSION, environment its ReFrame name, network `shm`, `wire:<rate>` or `native`."""

    toolchain: str
    provider: str
    environment: str
    network: str
    configuration: str
    benchmark: str
    collective: str
    repeat: int = 1

    @property
    def label(self) -> str:
        """For people."""
        again = f" (repeat {self.repeat})" if self.repeat > 1 else ""
        return f"{self.toolchain} {self.network} {self.configuration} {self.collective}{again}"

    @property
    def stem(self) -> str:
        """Name of its files, without suffix."""
        parts = [self.environment, self.network, self.configuration, self.benchmark, self.collective]
        if self.repeat > 1:
            parts.append(f"r{self.repeat}")
        return ".".join(re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in parts)

    @property
    def basic(self) -> "Case":
        """The case of `basic` that this one is held against: identical in all else."""
        return replace(self, configuration="basic")

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
