"""Pipelined communication of a buffer that several threads fill."""

from collections.abc import Mapping

from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark, Question
from mpi_campaign.planning.benchmarks.choice import point_choice
from postprocess.drawing.text import plural
from postprocess.families.axes import APPROACH, FIGURE
from postprocess.families.family import Value

WORD_BYTES = 8
THREADS_OF_FIGURE: Mapping[Value, int] = {"4": 1, "5": 32, "7": 4, "8": 4}
_REGROUPS = ("part", "part_parrived", "layer")

PARTITIONS = point_choice("partitioned", "partitions-per-thread")
MOST_PARTITIONS = int(PARTITIONS.program.maximum or 0)
POINT_CHOICES = (
    point_choice("partitioned", "message-bytes"),
    PARTITIONS,
    point_choice(
        "partitioned", "receive-partitions", only_for=f"approach {', '.join(_REGROUPS[:-1])} or {_REGROUPS[-1]}",
        has=lambda parameters: parameters[APPROACH.name] in _REGROUPS,
    ),
    point_choice(
        "partitioned", "aggregation-bytes", only_for="approach layer",
        has=lambda parameters: parameters[APPROACH.name] == "layer",
    ),
    point_choice("partitioned", "delay-ratios", "delay_ratio"),
)  # fmt: skip


def impossible(question: Question) -> Impossible | None:
    """Why a case cannot have its figure. Raises CampaignError for counts that were asked for and do not divide."""
    figure, threads = question.parameters[FIGURE.name], question.threads
    needed = THREADS_OF_FIGURE.get(figure, threads)
    if threads != needed:
        return Impossible(
            f"figure {figure} has {plural(needed, 'thread')} per rank that compute, and here are {threads}: "
            f"--threads-per-rank {needed} asks for them"
        )
    asked = question.points
    if not asked:
        return None
    each = asked.get("partitions_per_thread") or _usual_partitions(question)
    sent = [int(count) * threads for count in each]
    received = [int(count) for count in asked.get("receive_partitions", ())]
    _check_division(sent, received, [int(size) for size in asked.get("message_bytes", ())])
    return None


def _usual_partitions(question: Question) -> tuple[int, ...]:
    of_figure = {"7": (32,)}.get(str(question.parameters[FIGURE.name]), (1,))
    return PARTITIONS.program.grids[question.grid] if question.parameters[FIGURE.name] == FIGURE.usual else of_figure


def _check_division(sent: list[int], received: list[int], sizes: list[int]) -> None:
    for count in sent:
        more, fewer = max([count, *received]), min([count, *received])
        if more > MOST_PARTITIONS:
            raise CampaignError(f"{more} partitions are too many: at most {MOST_PARTITIONS}")
        if more % fewer:
            raise CampaignError(
                f"--receive-partitions: {count} partitions cannot be received as {received[0]}: one number must be a "
                "multiple of the other"
            )
        wrong = next((size for size in sizes if size % (WORD_BYTES * more)), None)
        if wrong is not None:
            raise CampaignError(
                f"--message-bytes: {wrong} bytes do not divide into {plural(more, 'partition')} of whole words of "
                f"{WORD_BYTES} bytes: a multiple of {WORD_BYTES * more} does"
            )


PARTITIONED = Benchmark(
    "sending parts of a buffer as threads finish them (Gillis et al. 2023)",
    test="partitioned",
    choices=choices.of_family("partitioned"),
    configurations=("basic", "async", "dedicated", "apphelper"),
    basic_of="partitioned",
    fixture="partitioned_basic",
    pairs=True,
    most_seconds={"smoke": 4, "nightly": 16, "full": 60},
    point_choices=POINT_CHOICES,
    impossible=impossible,
)
