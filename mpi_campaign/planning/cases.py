"""A case: what one process group of a benchmark measures. Its identity names its files."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from mpi_campaign.planning.benchmarks.registry import AXES, BENCHMARKS, CHOICES, USUAL_BENCHMARK
from postprocess.families.family import Value


@dataclass(frozen=True)
class Case:
    """toolchain is NAME@VERSION, environment its ReFrame name, network `shm`, `wire:<rate>` or `native`.

    parameters: the value of every axis of AXES. An axis that the benchmark lacks, or that is not given, has its usual
    value. Raises TypeError for a name that is no axis.
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
    def from_dict(cls, values: Mapping[str, Any]) -> "Case":
        """The case from what `as_dict` returned. An axis that is missing, because the manifest is older, has its usual
        value. Raises TypeError for anything else."""
        identity = {name: value for name, value in values.items() if name in cls.own_keys()}
        return cls(**identity, parameters={name: value for name, value in values.items() if name not in identity})

    @classmethod
    def from_manifest(cls, entry: Mapping[str, Any]) -> "Case":
        """A case from its entry in a manifest, which also holds the result. Raises TypeError for anything else."""
        return cls.from_dict({name: entry[name] for name in (*cls.own_keys(), *AXES) if name in entry})

    @classmethod
    def own_keys(cls) -> list[str]:
        """The keys of `as_dict` that are not axes."""
        return [field.name for field in fields(cls) if field.name != "parameters"]

    def as_dict(self) -> dict[str, Any]:
        """Fields and axes in one mapping, as manifests store a case."""
        return {**{name: getattr(self, name) for name in self.own_keys()}, **self.parameters}

    def _differences_from_usual(self) -> Iterator[tuple[str, str, bool]]:
        """How the case differs from the usual one: for each difference the words for people, the words for file names,
        and whether the axis has no usual value, so that its value is always shown."""
        for name, axis in AXES.items():
            value = self.parameters[name]
            if not axis.is_usual(value):
                yield axis.words(value), axis.in_file_name(value), axis.usual == ""
        if self.repeat > 1:
            yield f"repeat {self.repeat}", f"r{self.repeat}", False

    def _usual_in_every_label(self) -> Iterator[str]:
        """The usual values that the label has although they are usual."""
        for choice in BENCHMARKS[self.benchmark].choices:
            value = self.parameters[choice.name]
            if choice.axis.in_every_label and choice.axis.is_usual(value):
                yield choice.axis.words(value)

    @property
    def label(self) -> str:
        """The name of the case for people."""
        benchmark = "" if self.benchmark == USUAL_BENCHMARK else self.benchmark
        words = [self.toolchain, self.network, self.configuration, benchmark, *self._usual_in_every_label()]
        words += [word for word, _, is_always_shown in self._differences_from_usual() if is_always_shown]
        unusual = ", ".join(word for word, _, is_always_shown in self._differences_from_usual() if not is_always_shown)
        return " ".join(filter(None, [*words, f"({unusual})" if unusual else ""]))

    @property
    def stem(self) -> str:
        """The name of the case's files, without suffix."""
        parts = [self.environment, self.network, self.configuration, self.benchmark]
        parts += [name for _, name, _ in self._differences_from_usual()]
        return ".".join(re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in parts if part)

    @property
    def basic(self) -> "Case | None":
        """The case of `basic` that gives this case its sizes and references; None where the benchmark needs none. Both
        cases are identical in everything else."""
        benchmark = BENCHMARKS[self.benchmark].basic_of
        if not benchmark:
            return None
        usual_values = {name: choice.usual for name, choice in CHOICES.items() if not choice.axis.of_basic}
        parameters = {**self.parameters, **usual_values}
        return replace(self, configuration="basic", benchmark=benchmark, parameters=parameters)

    @property
    def launched_by(self) -> str:
        """The name of the ReFrame test that measures the case."""
        benchmark = BENCHMARKS[self.benchmark]
        return benchmark.fixture if benchmark.fixture and self == self.basic else benchmark.test
