"""The benchmarks that a campaign can run, in one place: which ReFrame test launches each, and what a case of it is."""

from collections.abc import Mapping
from dataclasses import dataclass

from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.toolchains import peers

# Everything in which cases of one benchmark on one toolchain and network can differ: fields of Case.
AXES = ("configuration", "collective", "computation", "test_interval_ns")

COMPUTATIONS: Mapping[str, str] = {
    "dgemm": "a matrix multiplication per thread (Denis et al. 2022)",
    "triad": "a[i] = b[i] + s c[i] per thread, over vectors larger than the caches",
}


@dataclass(frozen=True)
class Benchmark:
    """One benchmark.

    test: name of the ReFrame test of reframe/ that launches it.
    axes: those of AXES that are parameters of that test, its own or its fixtures'; in the others, its cases have the
    defaults of Case.
    configurations: those that it can be run in.
    basic_of: the benchmark whose `basic` is measured before any of its cases, because they take their sizes and
    references from it; itself, another one, or "" where there is none.
    fixture: name of the test that measures its `basic`, where that is a fixture of `test`, which then only judges it.
    share: of what a case of nbc_overlap has of the run's budget, what one of its own has.
    fewest_ranks: that it makes sense with.
    """

    title: str
    test: str
    axes: tuple[str, ...] = AXES
    configurations: tuple[str, ...] = tuple(CONFIGURATIONS)
    basic_of: str = ""
    fixture: str = ""
    share: float = 1.0
    fewest_ranks: int = 2  # collectives need somebody to communicate with


def _peer(name: str) -> Benchmark:
    """Another benchmark beside ours: it takes the sizes that our `basic` found."""
    axes, configurations = ("configuration", "collective"), ("basic", "async")
    return Benchmark(peers.PEERS[name].title, name, axes, configurations, basic_of="nbc_overlap", share=0.25)


BENCHMARKS: Mapping[str, Benchmark] = {
    "nbc_overlap": Benchmark(
        "overlap of nonblocking collectives (Denis et al. 2022)",
        test="nbc_overlap",
        basic_of="nbc_overlap",
        fixture="nbc_overlap_basic",
    ),
    "mpi_impact": Benchmark(
        "what an idle MPI library costs a computation (Denis et al. 2022, section 3.2.1)",
        test="mpi_impact",
        axes=("configuration", "computation"),
        basic_of="mpi_impact",
        fixture="mpi_impact_basic",
        fewest_ranks=1,
    ),
    "imb_nbc": _peer("imb_nbc"),
    "osu": _peer("osu"),
}
