"""What a person asked of a run, and what that means for suites, grids, benchmarks and axes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks.benchmark import AT_ONCE, IN_TURN, Benchmark
from mpi_campaign.planning.benchmarks.choice import Asked
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, CHOICES, POINT_CHOICES, values_of
from postprocess.families.family import Value

PROVIDERS: Mapping[str, str] = {
    "wheels": "MPI libraries from PyPI, and installed ones (NAME@VERSION=PREFIX)",
    "spack": "MPI libraries that Spack builds, or has as externals",
}

OWN, ANEW = "own", "anew"
CALIBRATE: Mapping[str, str] = {
    OWN: "each library finds sizes of its own, as in the paper",
    ANEW: "sizes are found again, in place of those that the system has",
}

MANIFEST_VERSION = 1

# The benchmarks refuse more: spinning ranks share a core by time slices of milliseconds.
MOST_RANKS_PER_CORE = 16
MOST_NODES = 100_000
_EVERY_CHOICE = (*CHOICES.values(), *POINT_CHOICES.values())


@dataclass(frozen=True)
class Options:
    """What a person asked for. The manifest keeps it, so that --resume asks for the same.

    asked: values of axes. An axis is left out where nothing was asked for, and where a run has a single value that is
    the usual one.
    ranks: on all nodes together; 0 where that was not asked for.
    each_node: nodes are compared with each other, all at once.  one_after_the_other: each alone, then pairs of them,
    instead of all together.
    calibrate: OWN, ANEW, or empty: only where nobody has found sizes for the system yet.
    partition: of the system, by its name in the settings; empty: the first one with the network.
    account, job_time_limit, most_wait, max_jobs, scheduler_options: of jobs of a batch system; empty or 0: as usual.
    """

    system: str = "local"
    suite: str = "smoke"
    toolchains: tuple[str, ...] = ()
    configurations: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    asked: Asked = field(default_factory=dict, hash=False)
    network: str = ""
    launches: int = 0
    ranks: int = 0
    nodes: tuple[int, ...] = ()
    each_node: bool = False
    one_after_the_other: bool = False
    ranks_per_node: tuple[int, ...] = ()
    threads_per_rank: tuple[int, ...] = ()
    budget_seconds: float = -1.0
    case_limit_seconds: float = 0.0
    oversubscribe: bool = False
    peer_prefixes: tuple[str, ...] = ()
    provider: str = "wheels"
    calibrate: str = ""
    sizes_of: str = ""
    environment: tuple[str, ...] = ()
    partition: str = ""
    account: str = ""
    job_time_limit: str = ""
    most_wait: str = ""
    max_jobs: int = 0
    scheduler_options: tuple[str, ...] = ()

    @classmethod
    def of(cls, **asked: Any) -> "Options":
        """Options from keywords in which axes stand beside the other fields, under their `Choice.key`."""
        values = {}
        for choice in _EVERY_CHOICE:
            given = asked.pop(choice.key, ())
            texts = (given,) if isinstance(given, str) else given
            if texts and (choice.listed or texts != (str(choice.usual),)):
                values[choice.name] = texts
        return cls(**asked, asked=values)

    def as_dict(self) -> dict[str, Any]:
        """The keywords of `of`, which manifests store."""
        values: dict[str, Any] = {}
        for option in fields(self):
            if option.name == "asked":
                for choice in _EVERY_CHOICE:
                    texts = self.asked.get(choice.name, ())
                    values[choice.key] = texts if choice.listed else next(iter(texts), str(choice.usual))
            else:
                values[option.name] = getattr(self, option.name)
        return values

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any]) -> "Options":
        """The options of an archived run. Raises KeyError, TypeError or ValueError where the manifest has none."""
        version = manifest["schema_version"]
        if type(version) is not int or not 1 <= version <= MANIFEST_VERSION:
            raise ValueError(f"schema version {version}; this campaign reads up to {MANIFEST_VERSION}")
        asked: dict[str, Any] = {}
        for name, given in manifest["options"].items():
            asked[name] = tuple(given) if isinstance(given, list) else given
        asked.pop("interleave", None)  # of an old run: libraries always take turns now
        if (least := int(asked.pop("repeat", 0))) > 1:  # an old run has 1 where nobody asked for a number
            asked["launches"] = least
        asked.setdefault("one_after_the_other", asked.get("each_node", False))  # an old run had no other way
        if type(threads := asked.get("threads_per_rank")) is int:  # an old run, which has a single number
            asked["threads_per_rank"] = (threads,) if threads else ()
        for name, usual in cls().as_dict().items():
            value = asked.setdefault(name, usual)  # the run is older than the option
            legal_type = (int, float) if isinstance(usual, float) else type(usual)
            element = int if name in ("nodes", "ranks_per_node", "threads_per_rank") else str
            if not isinstance(value, legal_type) or (
                isinstance(value, tuple) and not all(isinstance(v, element) for v in value)
            ):
                raise TypeError(f"{name} is {value!r}")
        return cls.of(**asked)


def grid_of(options: Options) -> tuple[str, Asked]:
    """The name of the grid, and what replaces its values: what was asked for of axes of points, else the suite's."""
    suite = suites.SUITES[options.suite]
    asked = {name: texts for name, texts in options.asked.items() if name in POINT_CHOICES}
    return suite.grid, {**{key: of for key, of in suite.points.items() if key.rpartition(".")[2] not in asked}, **asked}


def benchmarks_of(options: Options) -> dict[str, Benchmark]:
    """The benchmarks that were asked for, else the suite's, by name."""
    of_suite = suites.SUITES[options.suite].benchmarks
    if options.each_node:
        way = IN_TURN if options.one_after_the_other else AT_ONCE
        of_suite = tuple(name for name, benchmark in BENCHMARKS.items() if benchmark.by_node == way)
    return {name: BENCHMARKS[name] for name in options.benchmarks or of_suite}


def axes_of(options: Options, benchmark: Benchmark) -> dict[str, tuple[Value, ...]]:
    """The values that cases of a benchmark have, by axis: those that were asked for, else the suite's. Axes that the
    benchmark lacks are left out, unless all cases of a run share a single value of them."""
    return {
        name: values_of(options.suite, choice, options.asked)
        for name, choice in CHOICES.items()
        if benchmark.has(name) or not choice.several
    }


def configurations_of(options: Options, benchmark: Benchmark) -> tuple[str, ...]:
    """The configurations that were asked for, else those of the suite in which the benchmark can run."""
    usual = suites.SUITES[options.suite].configurations
    return options.configurations or tuple(name for name in usual if name in benchmark.configurations)
