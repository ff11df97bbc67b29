"""A message to a receiver that is late, while the sender computes."""

from collections.abc import Mapping

from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.benchmarks.choice import point_choice
from postprocess.families.axes import SEND, SENT_NEVER
from postprocess.families.family import Value


def _sends(parameters: Mapping[str, Value]) -> bool:
    return parameters[SEND.name] != SENT_NEVER


SYNC_OVERLAP = Benchmark(
    "sending to a receiver that is late, while computing (White & Bova 1999)",
    test="sync_overlap",
    choices=choices.of_family("sync_overlap"),
    configurations=("basic", "async", "dedicated", "apphelper"),
    most_seconds={"smoke": 3, "nightly": 20, "full": 120},
    point_choices=(
        point_choice("sync_overlap", "message-bytes", has=_sends, only_for="messages that are sent, early or late"),
    ),
)
