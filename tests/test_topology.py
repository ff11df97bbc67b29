"""Which switch a node is below, from files and from what Slurm prints."""

from pathlib import Path

import pytest

from mpi_campaign.errors import CampaignError
from mpi_campaign.systems import known_systems, topology

SLURMS = """SwitchName=s0 Level=0 LinkSpeed=1 Nodes=tux[0-3]
SwitchName=s1 Level=0 LinkSpeed=1 Nodes=tux[4-6],gpu1
SwitchName=s2 Level=1 LinkSpeed=1 Nodes=tux[0-6],gpu1 Switches=s[0-1]
"""


def test_what_slurm_prints_is_read() -> None:
    found = topology.parse(SLURMS, "scontrol")
    assert found == {**{f"tux{n}": "s0" for n in range(4)}, **{f"tux{n}": "s1" for n in (4, 5, 6)}, "gpu1": "s1"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Switch=s1 Nodes=n[1-2]", "t:1: 'Switch=s1 Nodes=n\\[1-2\\]' is not SwitchName=NAME Nodes=LIST"),
        ("# all\n\nSwitchName=s1", "t:3: "),
        ("SwitchName=s1 Nodes=n[1-", "t:1: Nodes"),
        ("SwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=n1", "t:2: n1 is below s1 already"),
    ],
)
def test_what_is_no_topology_is_refused_in_one_line(text: str, says: str) -> None:
    with pytest.raises(CampaignError, match=says):
        topology.parse(text, "t")


def test_a_file_beside_the_settings_must_know_the_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_systems, "SYSTEMS", tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / topology.FILE).write_text(SLURMS)
    assert topology.switches_of("mine", ["tux1.cluster", "gpu1"])["gpu1"] == "s1"
    with pytest.raises(CampaignError, match="no switch of tux9: "):
        topology.switches_of("mine", ["tux1", "tux9"])
