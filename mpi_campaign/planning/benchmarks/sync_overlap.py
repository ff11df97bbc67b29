"""A message to a receiver that is late, while the sender computes."""

from collections.abc import Mapping
from dataclasses import replace

from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark, Question
from mpi_campaign.planning.benchmarks.point_values import MESSAGE_BYTES, check_whole_words
from postprocess.families.axes import SEND, SENT_NEVER
from postprocess.families.family import Value


def _sends(parameters: Mapping[str, Value]) -> bool:
    return parameters[SEND.name] != SENT_NEVER


def impossible(question: Question) -> Impossible | None:
    """Why a case cannot have the sizes that were asked for."""
    return check_whole_words(question.points.get(MESSAGE_BYTES.name, ()))


SYNC_OVERLAP = Benchmark(
    "sending to a receiver that is late, while computing (White & Bova 1999)",
    test="sync_overlap",
    choices=choices.of_family("sync_overlap"),
    configurations=("basic", "async", "dedicated", "apphelper"),
    most_seconds={"smoke": 3, "nightly": 15, "full": 120},
    point_values=(replace(MESSAGE_BYTES, has=_sends, of="messages that are sent, early or late"),),
    impossible=impossible,
)
