"""Which nodes, links and switches of a machine are slow."""

from mpi_campaign.planning.benchmarks.benchmark import AT_ONCE, Benchmark
from mpi_campaign.planning.benchmarks.choice import point_choice

WHOLE_MACHINE = Benchmark(
    "which nodes, links and switches are slow: all nodes at once, alone and in pairs",
    test="whole_machine",
    configurations=("basic",),
    most_seconds={"smoke": 30, "nightly": 60, "full": 120},
    by_node=AT_ONCE,
    fewest_nodes=2,
    point_choices=(point_choice("whole_machine", "message-bytes"),),
)
