"""What a collective costs the CPU, and the parameters of the LogGP model."""

from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark, Question
from mpi_campaign.planning.benchmarks.choice import point_choice
from postprocess.families import axes
from postprocess.families.cpu_overhead.axes import WAY
from postprocess.statistics.limits import MIN_REPETITIONS

WAYS = point_choice("cpu_overhead", "ways")


def impossible(question: Question) -> Impossible | None:
    """Why a case cannot have the points that were asked for. The program says it in the same words."""
    other = next((way for way in question.points.get(WAYS.name, ()) if way != WAY.usual), None)
    if other is not None and question.parameters[axes.METHOD.name] == "paper":
        return Impossible(f"--ways: with --method paper only blocking calls are measured, no `{other}`")
    return None


CPU_OVERHEAD = Benchmark(
    "what a collective costs the CPU, and how much of it is free for work (Hoefler et al. 2006, section 3)",
    test="cpu_overhead",
    choices=choices.of_family("cpu_overhead"),
    configurations=("basic", "async", "dedicated"),
    most_seconds={"smoke": 2, "nightly": 16, "full": 60},
    point_choices=(point_choice("cpu_overhead", "message-bytes"), WAYS, point_choice("cpu_overhead", "lateness-ms")),
    impossible=impossible,
)

LOGGP = Benchmark(
    "the parameters of the LogGP model, for what it predicts of collectives (Hoefler et al. 2006, section 2)",
    test="loggp",
    tests_file="cpu_overhead",
    configurations=("basic", "async", "dedicated"),
    most_seconds={"smoke": 15, "nightly": 24, "full": 120},
    # The fewest launches whose median has an interval.
    own_launches=MIN_REPETITIONS,
)
