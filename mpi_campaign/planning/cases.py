"""A case: what one process group of a benchmark is to measure. Its identity names its files."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from mpi_campaign.planning.benchmarks.registry import AXES, BENCHMARKS, CHOICES, USUAL_BENCHMARK
from postprocess.families.family import Value


@dataclass(frozen=True)
class Case:
    """toolchain is NAME@VERSION, environment its ReFrame name, network `shm`, `wire:<rate>` or `native`.

    parameters: of every axis of AXES the value, the usual one where the benchmark does not have the axis, and where
    none is given. Raises TypeError for what is no axis.
    """

    toolchain: str
    provider: str
    environment: str
    network: str
    configuration: str
    benchmark: str
    parameters: Mapping[str, Value] = field(default_factory=dict, hash=False)
    repeat: int = 1

    def __post_init__(self) -> None:
        unknown = sorted(self.parameters.keys() - AXES.keys())
        if unknown:
            raise TypeError(f"a case has no '{unknown[0]}'")
        every = {name: self.parameters.get(name, axis.usual) for name, axis in AXES.items()}
        object.__setattr__(self, "parameters", every)

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "Case":
        """What `as_dict` gave; a manifest that is older than an axis has its usual value. Raises TypeError for
        anything else."""
        own = {name: value for name, value in told.items() if name in cls.own_keys()}
        return cls(**own, parameters={name: value for name, value in told.items() if name not in own})

    @classmethod
    def from_manifest(cls, told: Mapping[str, Any]) -> "Case":
        """A case of a manifest, which also says what became of it. Raises TypeError where it is none."""
        return cls.from_dict({name: told[name] for name in (*cls.own_keys(), *AXES) if name in told})

    @classmethod
    def own_keys(cls) -> list[str]:
        """Those of `as_dict` that are no axes."""
        return [one.name for one in fields(cls) if one.name != "parameters"]

    def as_dict(self) -> dict[str, Any]:
        """Its fields and its axes beside each other, as manifests have them."""
        return {**{name: getattr(self, name) for name in self.own_keys()}, **self.parameters}

    def _unusual(self) -> Iterator[tuple[str, str, bool]]:
        """In what it differs from the usual case, for people and for file names, and whether cases of its benchmark
        have no usual value of that."""
        for name, axis in AXES.items():
            value = self.parameters[name]
            if not axis.is_usual(value):
                yield axis.words(value), axis.in_file_name(value), axis.usual == ""
        if self.repeat > 1:
            yield f"repeat {self.repeat}", f"r{self.repeat}", False

    @property
    def label(self) -> str:
        """For people."""
        benchmark = "" if self.benchmark == USUAL_BENCHMARK else self.benchmark
        words = [self.toolchain, self.network, self.configuration, benchmark]
        words += [said for said, _, always_told in self._unusual() if always_told]
        unusual = ", ".join(said for said, _, always_told in self._unusual() if not always_told)
        return " ".join(filter(None, [*words, f"({unusual})" if unusual else ""]))

    @property
    def stem(self) -> str:
        """Name of its files, without suffix."""
        parts = [self.environment, self.network, self.configuration, self.benchmark]
        parts += [name for _, name, _ in self._unusual()]
        return ".".join(re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in parts if part)

    @property
    def basic(self) -> "Case | None":
        """The case of `basic` that gives this one its sizes and references, identical in all else; None without one."""
        benchmark = BENCHMARKS[self.benchmark].basic_of
        if not benchmark:
            return None
        without = {name: one.usual for name, one in CHOICES.items() if not one.axis.of_basic}
        parameters = {**self.parameters, **without}
        return replace(self, configuration="basic", benchmark=benchmark, parameters=parameters)

    @property
    def launched_by(self) -> str:
        """Name of the ReFrame test that measures it."""
        benchmark = BENCHMARKS[self.benchmark]
        return benchmark.fixture if benchmark.fixture and self == self.basic else benchmark.test
