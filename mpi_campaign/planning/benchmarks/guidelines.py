"""What must hold of any MPI library."""

from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.benchmarks.choice import point_choice

GUIDELINES = Benchmark(
    "whether a call is slower than others that do the same (Träff et al. 2010): it needs no baseline",
    test="guidelines",
    configurations=("basic", "async", "dedicated"),
    most_seconds={"smoke": 40, "nightly": 180, "full": 600},
    point_choices=(point_choice("guidelines", "guideline"), point_choice("guidelines", "message-bytes")),
)
