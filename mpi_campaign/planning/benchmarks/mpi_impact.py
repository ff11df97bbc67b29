"""What an idle MPI library costs a computation."""

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.benchmarks.nbc_overlap import COMP_TIMES
from postprocess.families.mpi_impact.record import PROGRAMS
from postprocess.statistics.limits import MIN_REPETITIONS

MPI_IMPACT = Benchmark(
    "what an idle MPI library costs a computation (Denis et al. 2022, section 3.2.1)",
    test="mpi_impact",
    programs=PROGRAMS,
    choices=choices.of_family("mpi_impact"),
    point_choices=(COMP_TIMES,),
    basic_of="mpi_impact",
    fixture="mpi_impact_basic",
    fewest_ranks=1,
    most_seconds={"nightly": 60, "full": 360},
    # The fewest launches whose median has an interval: its two programs differ from launch to launch.
    own_launches=MIN_REPETITIONS,
)
