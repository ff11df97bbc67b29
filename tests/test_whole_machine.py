"""`whole_machine` on nodes in a box: who meets whom, and that wrong data are found."""

from pathlib import Path

import pytest

from mpi_campaign.launching.nodes import Layout
from mpi_campaign.toolchains import resolving
from postprocess.families.whole_machine.entry import WHOLE_MACHINE
from postprocess.records.reading import load_record
from tests.postprocess.synthetic_whole_machine import partner, rounds_of
from tests.support import corruption, launch, only_line, recorded

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi"), pytest.mark.needs("nodes")]

_, MPICH = resolving.DEFAULT_TOOLCHAINS
BRIEF = ("--message-bytes", "1024", "--max-repetitions", "6", "--budget-seconds", "120", "--quiet")


@pytest.mark.parametrize(("nodes", "ranks"), [(2, 4), (7, 7)])
def test_each_round_is_of_other_pairs(built: Path, tmp_path: Path, nodes: int, ranks: int) -> None:
    path = tmp_path / "record.jsonl"
    layout = Layout(nodes, clock_offset_seconds=0)
    recorded(built / "whole_machine", path, *BRIEF, toolchain=MPICH, ranks=ranks, layout=layout)
    found = WHOLE_MACHINE.view(load_record(path))
    measured = {part: [point for point in found.points if point.part == part] for part in ("alone", "pair")}
    for part, points in measured.items():
        assert [point.round for point in points] == rounds_of(nodes)
        for point in points:
            assert point.repetitions >= 6 and point.data_errors == 0 and len(point.own_ns) == ranks
            meets = [node if part == "alone" else partner(nodes, node, point.round) for node in range(nodes)]
            assert list(point.partners) == meets
    met = [frozenset(pair) for point in measured["pair"] for pair in enumerate(point.partners) if pair[0] < pair[1]]
    assert len(met) == len(set(met)) == len(rounds_of(nodes)) * (nodes // 2)


def test_wrong_data_end_the_run_and_are_told(built: Path, tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    layout = Layout(2, clock_offset_seconds=0)
    env = corruption(built, wait=0, recv=1024, byte=800)
    done = launch(
        built / "whole_machine",
        *BRIEF,
        "--part",
        "pair",
        "--record",
        str(path),
        env=env,
        layout=layout,
        toolchain=MPICH,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "received wrong data from rank 0, the first in word 100" in only_line("whole_machine", done.stderr)
    assert WHOLE_MACHINE.view(load_record(path)).points[-1].data_errors > 0
