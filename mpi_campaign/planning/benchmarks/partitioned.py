"""Pipelined communication of a buffer that several threads fill."""

from collections.abc import Mapping

from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark, Question
from mpi_campaign.planning.benchmarks.point_values import MESSAGE_BYTES, MOST_BYTES, PointValues
from postprocess.drawing.text import plural
from postprocess.families.axes import APPROACH, FIGURE
from postprocess.families.family import Value

WORD_BYTES = 8
MOST_PARTITIONS = 16384
THREADS_OF_FIGURE: Mapping[Value, int] = {"4": 1, "5": 32, "7": 4, "8": 4}
PARTITIONS_PER_THREAD: Mapping[str, tuple[int, ...]] = {"smoke": (4,), "nightly": (1, 4, 32), "full": (1, 4, 32)}
"""Those of the program's grids. A figure has its own sizes with its own partitions."""
_REGROUPS = ("part", "part_parrived", "layer")

POINT_VALUES = (
    MESSAGE_BYTES,
    PointValues(
        "partitions_per_thread", "--partitions-per-thread", "Partitions that each thread fills (theta).",
        most=MOST_PARTITIONS,
    ),
    PointValues(
        "receive_partitions", "--receive-partitions",
        "Partitions of the receiver, where an approach can have others than the sender's.",
        most=MOST_PARTITIONS, several=False,
        has=lambda parameters: parameters[APPROACH.name] in _REGROUPS,
        of=f"approach {', '.join(_REGROUPS[:-1])} or {_REGROUPS[-1]}",
    ),
    PointValues(
        "aggregation_bytes", "--aggregation-bytes",
        "Of approach layer: partitions are sent together up to so many bytes; 0: each alone.",
        least=0, most=MOST_BYTES, has=lambda parameters: parameters[APPROACH.name] == "layer", of="approach layer",
    ),
    PointValues(
        "delay_ratio", "--delay-ratios",
        "Delays of the last partition as gamma beta, in units of the time that one partition takes, such as 2.5.",
        whole=False, least=0, most=1000,
    ),
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
    sent = [int(one) * threads for one in each]
    received = [int(one) for one in asked.get("receive_partitions", ())]
    _check_division(sent, received, [int(size) for size in asked.get("message_bytes", ())])
    return None


def _usual_partitions(question: Question) -> tuple[int, ...]:
    of_figure = {"7": (32,)}.get(str(question.parameters[FIGURE.name]), (1,))
    return PARTITIONS_PER_THREAD[question.grid] if question.parameters[FIGURE.name] == FIGURE.usual else of_figure


def _check_division(sent: list[int], received: list[int], sizes: list[int]) -> None:
    for one in sent:
        more, fewer = (max(one, *received), min(one, *received)) if received else (one, one)
        if more > MOST_PARTITIONS:
            raise CampaignError(f"{more} partitions are too many: at most {MOST_PARTITIONS}")
        if more % fewer:
            raise CampaignError(
                f"--receive-partitions: {one} partitions cannot be received as {received[0]}: one number must be a "
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
    most_seconds={"smoke": 4, "nightly": 8, "full": 60},
    point_values=POINT_VALUES,
    impossible=impossible,
)
