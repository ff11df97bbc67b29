"""A message to a receiver that is late, while the sender computes."""

from collections.abc import Mapping
from dataclasses import replace

from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark, Question
from mpi_campaign.planning.benchmarks.point_values import MESSAGE_BYTES
from postprocess.families.axes import SEND, SENT_NEVER
from postprocess.families.family import Value

WORD_BYTES = 8


def _sends(parameters: Mapping[str, Value]) -> bool:
    return parameters[SEND.name] != SENT_NEVER


def impossible(question: Question) -> Impossible | None:
    """Why a case cannot have the sizes that were asked for."""
    for size in question.points.get(MESSAGE_BYTES.name, ()):
        if size % WORD_BYTES:
            return Impossible(
                f"{MESSAGE_BYTES.option} {size}: messages are of whole words of {WORD_BYTES} bytes, so ask for "
                f"{int(size // WORD_BYTES + 1) * WORD_BYTES}"
            )
    return None


SYNC_OVERLAP = Benchmark(
    "sending to a receiver that is late, while computing (White & Bova 1999)",
    test="sync_overlap",
    choices=choices.of_family("sync_overlap"),
    configurations=("basic", "async", "dedicated", "apphelper"),
    most_seconds={"smoke": 8, "nightly": 15, "full": 120},
    point_values=(replace(MESSAGE_BYTES, has=_sends, of="messages that are sent, early or late"),),
    impossible=impossible,
)
