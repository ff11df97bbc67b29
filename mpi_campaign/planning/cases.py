"""A case: what one process group of a benchmark is to measure. Its identity names its files."""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from mpi_campaign.planning.benchmarks import BENCHMARKS
from postprocess.drawing.text import cores, duration


@dataclass(frozen=True)
class Case:
    """toolchain is NAME@VERSION, environment its ReFrame name, network `shm`, `wire:<rate>` or `native`.

    collective is empty where the benchmark has none. test_interval_ns: MPI_Test is called about this often while
    computing, 0: never. cores_per_rank: the share of each rank where a run has several such numbers, 0 where it has
    one. A manifest that is older than a field has its default.
    """

    toolchain: str
    provider: str
    environment: str
    network: str
    configuration: str
    benchmark: str
    collective: str
    repeat: int = 1
    computation: str = "dgemm"
    test_interval_ns: int = 0
    cache: str = "warm"
    cores_per_rank: int = 0

    def _beside_the_usual(self) -> Iterator[tuple[str, str]]:
        """In what it differs from the usual case, for people and for file names."""
        if self.computation != "dgemm":
            yield self.computation, self.computation
        if self.test_interval_ns:
            yield f"MPI_Test every {duration(self.test_interval_ns)}", f"test{self.test_interval_ns}ns"
        if self.cache != "warm":
            yield f"{self.cache} caches", self.cache
        if self.cores_per_rank:
            yield cores(self.cores_per_rank), f"{self.cores_per_rank}cores"
        if self.repeat > 1:
            yield f"repeat {self.repeat}", f"r{self.repeat}"

    @property
    def label(self) -> str:
        """For people."""
        benchmark = "" if self.benchmark == "nbc_overlap" else self.benchmark
        words = [self.toolchain, self.network, self.configuration, benchmark, self.collective]
        unusual = ", ".join(said for said, _ in self._beside_the_usual())
        return " ".join(filter(None, [*words, f"({unusual})" if unusual else ""]))

    @property
    def stem(self) -> str:
        """Name of its files, without suffix."""
        parts = [self.environment, self.network, self.configuration, self.benchmark, self.collective]
        parts += [name for _, name in self._beside_the_usual()]
        return ".".join(re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in parts if part)

    @property
    def basic(self) -> "Case | None":
        """The case of `basic` that gives this one its sizes and references, identical in all else; None without one."""
        benchmark = BENCHMARKS[self.benchmark].basic_of
        if not benchmark:
            return None
        return replace(self, configuration="basic", benchmark=benchmark, test_interval_ns=0)

    @property
    def launched_by(self) -> str:
        """Name of the ReFrame test that measures it."""
        benchmark = BENCHMARKS[self.benchmark]
        return benchmark.fixture if benchmark.fixture and self == self.basic else benchmark.test

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
