"""What is read in the output of Slurm's commands, and the settings that `systems init` makes of it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign import ROOT
from mpi_campaign.errors import CampaignError
from mpi_campaign.systems import known_systems, new_system, queues
from mpi_campaign.systems import slurm_description as slurm
from mpi_campaign.systems.queues import Queued
from mpi_campaign.systems.slurm_description import Description, Shape

# Output of Slurm 22.05.8: `box` of a cluster in a box, `site` of a slurmctld with the nodes of a larger one.
DATA = ROOT / "tests" / "data" / "slurm"


def text(name: str) -> str:
    return (DATA / f"{name}.txt").read_text()


def described(name: str) -> Description:
    return Description(
        "somewhere",
        slurm.has_accounting(text(f"{name}.config")),
        tuple(slurm.partitions_of(text(f"{name}.partition"))),
        tuple(slurm.nodes_of(text(f"{name}.node"))),
    )


def test_a_cluster_in_a_box_is_described() -> None:
    box = described("box")
    (cpu,) = box.partitions
    assert (cpu.name, cpu.nodes, cpu.is_default, cpu.longest_seconds, cpu.most_nodes) == ("cpu", 2, True, None, None)
    assert [node.name for node in box.nodes_of("cpu")] == ["node1", "node2"]
    assert box.shape_of("cpu") == box.nodes[0].shape
    assert box.nodes[0].shape.cores == 1
    assert not box.accounting


def test_limits_shapes_and_states_of_a_larger_cluster() -> None:
    site = described("site")
    by_name = {partition.name: partition for partition in site.partitions}
    assert list(by_name) == ["cpu", "compute", "debug.short", "gpu", "empty"]
    compute, gpu = by_name["compute"], by_name["gpu"]
    assert (compute.longest_seconds, compute.most_nodes, compute.nodes) == (2 * 86400, 64, 7)
    assert by_name["debug.short"].longest_seconds == 30 * 60
    assert (gpu.accounts, gpu.state, gpu.longest_seconds) == (("physics", "chem"), "INACTIVE", 12 * 3600)
    assert site.shape_of("compute") == Shape(2, 64, 2, 256, 515000)  # five of the seven
    assert site.shape_of("compute").cores == 128  # type: ignore[union-attr]
    assert site.shape_of("empty") is None
    usable = {node.name: node.is_usable for node in site.nodes}
    assert not usable["cn005"]
    assert not usable["gpu1"]
    told = {node.name: str(node) for node in site.nodes}
    assert told["cn005"].endswith("+DRAIN (memory of slot 3)")
    assert "Reason" not in told["cn001"]
    (cn1,) = site.nodes_of("debug.short")
    assert cn1.features == ("milan", "ib")


def test_the_settings_that_are_made_of_it_are_those_of_a_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"name": "site", "host": "login1", "host_pattern": "login1", "date": "2026-11-25"}
    (tmp_path / "site").mkdir()
    path = tmp_path / "site" / "settings.py"
    path.write_text(new_system.slurm_settings(facts, described("site")))
    monkeypatch.setattr(known_systems, "SYSTEMS", tmp_path)
    known_systems.load.cache_clear()
    try:
        assert known_systems.load("site").partition().name == "cpu"  # Slurm's default one
        compute = known_systems.load("site", "compute").partition("native")
        assert (compute.scheduler, compute.node.cores, compute.cpus_per_node) == ("squeue", 128, 256)
        assert (compute.most_nodes, compute.longest_seconds) == (7, 2 * 86400)
        assert slurm.partition_named_in(known_systems.load("site", "debug-short").partition().access) == "debug.short"
        with pytest.raises(CampaignError, match="no partition 'empty'; it has: cpu, compute, debug-short, gpu"):
            known_systems.load("site", "empty")
    finally:
        known_systems.load.cache_clear()
    written = path.read_text()
    assert "# only for the accounts physics, chem: --account" in written
    assert "# other nodes than that: fat1, fat2" in written


def test_names_that_are_made_of_slurms_are_all_different() -> None:
    shape = Shape(1, 2, 1, 2)
    names = ("cpu", "cpu-tcp", "cpu.tcp", "cpu-tcp-tcp", "2nd", "Cpu", "über")
    partitions = tuple(slurm.Partition(name, "UP", name == "cpu", 1, None, None) for name in names)
    nodes = (slurm.Node("n1", shape, names, "IDLE"),)
    facts = {"name": "c", "host": "h", "host_pattern": "h", "date": "2026-11-25"}
    made: dict[str, Any] = {}
    exec(new_system.slurm_settings(facts, Description("c", False, partitions, nodes)), made)
    of_site = made["site_configuration"]["systems"][0]["partitions"]
    asked = [(one["access"][0].partition("=")[2], one["extras"]["network"]) for one in of_site]
    assert asked == [(name, network) for network in ("native", "tcp") for name in names]
    assert len({one["name"] for one in of_site}) == len(of_site)
    assert [one["name"] for one in of_site[:2]] == ["cpu", "cpu-tcp"]


def test_with_accounting_reframe_asks_sacct() -> None:
    config = text("box.config").replace("accounting_storage/none", "accounting_storage/slurmdbd")
    assert slurm.has_accounting(config)
    with_it = Description("c", True, described("box").partitions, described("box").nodes)
    facts = {"name": "c", "host": "h", "host_pattern": "h", "date": "2026-11-25"}
    settings = new_system.slurm_settings(facts, with_it)
    assert '"scheduler": "slurm"' in settings
    compile(settings, "settings.py", "exec")


WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="="), min_size=1)


@given(st.dictionaries(st.from_regex(r"[A-Z][A-Za-z0-9_]{0,9}", fullmatch=True), st.lists(WORDS).map(" ".join)))
def test_fields_are_read_back(fields: dict[str, str]) -> None:
    line = " ".join(f"{key}={value}" for key, value in fields.items())
    assert slurm.fields_of(line) == fields


@given(st.text())
def test_any_output_is_read_or_refused(output: str) -> None:
    for read, beginning in ((slurm.partitions_of, "PartitionName=p "), (slurm.nodes_of, "NodeName=n ")):
        for words in (output, beginning + output):
            try:
                read(words)
            except CampaignError as error:
                assert "\n" not in str(error)
    assert queues.parse(output) is not None


@given(st.integers(1, 10**7))
def test_limits_are_read_back(seconds: int) -> None:
    assert slurm.seconds_of(slurm.limit_text(seconds)) == seconds


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("30", 1800),
        ("5:30", 330),
        ("2:00:00", 7200),
        ("1-0", 86400),
        ("1-12:30", 131400),
        ("2-00:00:10", 172810),
        ("UNLIMITED", None),
        ("infinite", None),
    ],
)
def test_limits_are_those_of_slurm(words: str, seconds: int | None) -> None:
    assert slurm.seconds_of(words) == seconds


@pytest.mark.parametrize("words", ["", "x", "1h", "-1", "1:2:3:4", "1 2"])
def test_other_limits_are_refused(words: str) -> None:
    with pytest.raises(ValueError, match="is no time limit: MINUTES"):
        slurm.seconds_of(words)


def test_why_jobs_wait() -> None:
    lines = "12|PENDING|Resources\n13|RUNNING|None\nslurm_load_jobs error: Invalid job id specified\n14|PENDING|(a|b)\n"
    assert queues.parse(lines) == {
        "12": Queued("PENDING", "Resources"),
        "13": Queued("RUNNING", "None"),
        "14": Queued("PENDING", "(a|b)"),
    }
