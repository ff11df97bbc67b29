"""`whole_machine` on nodes in a box: every node meets others, wrong data are found, and nobody waits for others."""

from pathlib import Path

import pytest

from mpi_campaign.launching.nodes import Layout
from mpi_campaign.toolchains import resolving
from postprocess.families.whole_machine.entry import WHOLE_MACHINE
from postprocess.records.reading import load_record
from tests.postprocess.synthetic_whole_machine import partner
from tests.support import recorded

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi"), pytest.mark.needs("nodes")]

_, MPICH = resolving.DEFAULT_TOOLCHAINS
BRIEF = ("--message-bytes", "1024", "--max-repetitions", "6", "--budget-seconds", "60", "--quiet")


@pytest.mark.parametrize(("nodes", "ranks"), [(2, 4), (3, 3)])
def test_each_node_meets_each_other_once(built: Path, tmp_path: Path, nodes: int, ranks: int) -> None:
    path = tmp_path / "record.jsonl"
    layout = Layout(nodes, clock_offset_seconds=0)
    recorded(built / "whole_machine", path, *BRIEF, toolchain=MPICH, ranks=ranks, layout=layout)
    found = WHOLE_MACHINE.view(load_record(path))
    met = [
        {frozenset((node, other)) for node, other in enumerate(point.partners) if node != other}
        for point in found.points if point.part == "pair"
    ]  # fmt: skip
    assert sum(map(len, met)) == nodes * (nodes - 1) / 2 == len(set().union(*met))
    for point in found.points:
        assert point.repetitions >= 6 and point.data_errors == 0 and len(point.own_ns) == ranks
        alone = point.part == "alone"
        assert point.partners == tuple(node if alone else partner(nodes, node, point.round) for node in range(nodes))
