"""What a collective costs the CPU, and the parameters of the LogGP model."""

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from postprocess.statistics.metrics import MIN_REPETITIONS

CPU_OVERHEAD = Benchmark(
    "what a collective costs the CPU, and how much of it is free for work (Hoefler et al. 2006, section 3)",
    test="cpu_overhead",
    choices=choices.of_family("cpu_overhead"),
    configurations=("basic", "async", "dedicated"),
    most_seconds={"smoke": 2, "nightly": 8, "full": 60},
)

LOGGP = Benchmark(
    "the parameters of the LogGP model, for what it predicts of collectives (Hoefler et al. 2006, section 2)",
    test="loggp",
    tests_file="cpu_overhead",
    configurations=("basic", "async", "dedicated"),
    most_seconds={"smoke": 15, "nightly": 4, "full": 20},
    # The fewest launches whose median has an interval.
    least_launches=MIN_REPETITIONS,
)
