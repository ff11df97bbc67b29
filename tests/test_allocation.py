"""Which hosts an allocation has, from what batch systems set."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign.errors import CampaignError
from mpi_campaign.schedulers.hosts import MOST_HOSTS, Allocation, Host, expand
from mpi_campaign.schedulers.registry import allocation_of
from mpi_campaign.systems import allocation
from mpi_campaign.this_machine.findings import GOOD, NOTE
from tests.support import Command, refused

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,5}(-[a-z]{1,3})?\.", fullmatch=True)  # ends in no digit: ranges follow
HOSTS = st.from_regex(r"[a-z][a-z0-9.-]{0,12}", fullmatch=True)


def never_read(path: str) -> str:
    raise AssertionError(f"{path} was read")


def of(variables: Mapping[str, str], text: str = "") -> Allocation:
    found = allocation_of(variables, (lambda _path: text) if text else never_read)
    assert found is not None
    return found


@st.composite
def ranges(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A list between brackets, and the numbers in it."""
    words, numbers = [], []
    first = 0
    width = draw(st.integers(1, 5))
    for gap, length in draw(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 12)), min_size=1, max_size=4)):
        first += gap
        last = first + length - 1
        numbers += [f"{number:0{width}}" for number in range(first, last + 1)]
        words.append(f"{first:0{width}}" if length == 1 else f"{first:0{width}}-{last:0{width}}")
        first = last
    return f"[{','.join(words)}]", numbers


ELEMENTS = st.tuples(NAMES, st.none() | ranges(), st.sampled_from(["", "-ib"]))


@given(st.lists(ELEMENTS, min_size=1, max_size=5, unique_by=lambda element: element[0]))
def test_a_compressed_list_has_the_hosts_that_it_was_made_of(
    elements: list[tuple[str, tuple[str, list[str]] | None, str]],
) -> None:
    text = ",".join(name + (numbers[0] if numbers else "") + suffix for name, numbers, suffix in elements)
    hosts = [
        name + number + suffix for name, numbers, suffix in elements for number in (numbers[1] if numbers else [""])
    ]
    assert expand(text) == hosts


@given(ranges(), ranges())
def test_several_brackets_are_all_combinations(racks: tuple[str, list[str]], nodes: tuple[str, list[str]]) -> None:
    hosts = expand(f"r{racks[0]}n{nodes[0]}")
    assert hosts == [f"r{rack}n{node}" for rack in racks[1] for node in nodes[1]]


@given(st.text(alphabet="n12-,[] .\n", max_size=20) | st.text(max_size=20))
def test_any_text_is_a_list_of_hosts_or_an_error_in_one_line(text: str) -> None:
    try:
        hosts = expand(text)
    except CampaignError as error:
        assert "\n" not in str(error)
    else:
        assert hosts
        assert len(set(hosts)) == len(hosts)
        assert all(host.isascii() and host.isprintable() and " " not in host for host in hosts)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n[1-3,7],m2", ["n1", "n2", "n3", "n7", "m2"]),
        ("n[08-10]", ["n08", "n09", "n10"]),
        ("n[98-101]", ["n98", "n99", "n100", "n101"]),
        ("localhost", ["localhost"]),
    ],
)
def test_lists_that_slurm_writes(text: str, hosts: list[str]) -> None:
    assert expand(text) == hosts


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "empty"),
        ("n1,", "empty"),
        (",n1", "empty"),
        ("n[1-3", "brackets"),
        ("n1-3]", "brackets"),
        ("n[[1]]", "brackets"),
        ("n[]", "brackets"),
        ("n[3-1]", "'3-1'"),
        ("n[1,]", "''"),
        ("n[a-b]", "'a-b'"),
        ("n[\u0663]", "'\u0663'"),
        ("n1 n2", "'n1 n2'"),
        ("n1,n[1-2]", "'n1' twice"),
        ("n[1-999999999]", str(MOST_HOSTS)),
        ("n[0-99999][0-99999][0-99999]", str(MOST_HOSTS)),
    ],
)
def test_lists_that_nobody_writes(text: str, fragment: str) -> None:
    with pytest.raises(CampaignError, match=r"n\[1-3,7\],m2") as raised:
        expand(text)
    assert fragment in str(raised.value)


def test_slurm() -> None:
    job = {
        "SLURM_JOB_ID": "12", "SLURM_JOB_NODELIST": "n[1-3]", "SLURM_TASKS_PER_NODE": "2(x2),1",
        "SLURM_JOB_CPUS_PER_NODE": "8(x3)",
    }  # fmt: skip
    found = of(job)
    assert found.hosts == (Host("n1", 2, 8), Host("n2", 2, 8), Host("n3", 1, 8))
    assert str(found) == "slurm job 12, 3 nodes: n1, n2, n3"
    step = of(job | {"SLURM_STEP_ID": "0", "SLURM_TASKS_PER_NODE": "1"})  # of a step on one node
    assert [host.tasks for host in step.hosts] == [None, None, None]
    old = of({"SLURM_JOBID": "7", "SLURM_NODELIST": "m2"})
    assert (str(old), old.hosts) == ("slurm job 7, 1 node: m2", (Host("m2"),))
    several = of(job | {"SLURM_HET_SIZE": "2"})
    assert not several.hosts
    assert "heterogeneous" in str(several)


@pytest.mark.parametrize("text", ["2", "2(x4)", "2(x2),", "2(x0),1(x3)", "two(x3)", "2(x9999999)", "2(x3"])
def test_slurms_numbers_fit_its_hosts(text: str) -> None:
    job = {"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n[1-3]"}
    for name in ("SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"):
        with pytest.raises(CampaignError, match=name):
            of(job | {name: text})


@given(st.dictionaries(HOSTS, st.integers(1, 20), min_size=1, max_size=12))
def test_files_of_hosts(counts: dict[str, int]) -> None:
    lines = "".join(f"{host}\n" * count for host, count in counts.items())
    pbs = of({"PBS_JOBID": "3.server", "PBS_NODEFILE": "/f"}, lines)
    assert pbs.hosts == tuple(Host(host, tasks=count) for host, count in counts.items())
    oar = of({"OAR_JOB_ID": "4", "OAR_NODEFILE": "/f"}, lines)
    assert oar.hosts == tuple(Host(host, cores=count) for host, count in counts.items())
    slots = "".join(f"{host} {count} all.q@{host} UNDEFINED\n" for host, count in counts.items())
    engine = of({"JOB_ID": "5", "PE_HOSTFILE": "/f"}, slots)
    assert engine.hosts == pbs.hosts
    assert [found.host_count for found in (pbs, oar, engine)] == [len(counts)] * 3


@pytest.mark.parametrize("name", ["PBS_NODEFILE", "OAR_NODEFILE", "PE_HOSTFILE"])
@pytest.mark.parametrize("text", ["\n", "n1 n2 n3\n", "n1 0 q\n", "n1 x\n", "\x1b[1m 1\n", "n1\n../n2\n"])
def test_files_that_have_no_hosts(name: str, text: str) -> None:
    with pytest.raises(CampaignError) as raised:
        of({name: "/f"}, text)
    assert "\x1b" not in str(raised.value)


def test_flux_says_how_many_hosts_and_not_which() -> None:
    found = of({"FLUX_JOB_ID": "ƒ2oLWSPK", "FLUX_JOB_NNODES": "2", "SLURM_JOB_NODELIST": "n[1-9]"})
    assert (found.hosts, found.host_count) == ((), 2)
    assert str(found).startswith("flux job ƒ2oLWSPK, 2 nodes: their names are known")
    assert of({"FLUX_URI": "local:///run/flux"}).host_count == 0
    with pytest.raises(CampaignError, match="FLUX_JOB_NNODES='two'"):
        of({"FLUX_URI": "local:///run/flux", "FLUX_JOB_NNODES": "two"})


def test_lsf() -> None:
    found = of({"LSB_JOBID": "77", "LSB_MCPU_HOSTS": "n1 4 n2 2 n1 1", "LSB_HOSTS": "n1 n2"})
    assert found.hosts == (Host("n1", tasks=5), Host("n2", tasks=2))
    assert str(found) == "lsf job 77, 2 nodes: n1, n2"
    for wrong in ("n1", "n1 4 n2", "n1 0", "4 n1", "n1 4 ../n2 4", " "):
        with pytest.raises(CampaignError, match=r"LSB_MCPU_HOSTS='.*' is no list of hosts and slots"):
            of({"LSB_JOBID": "77", "LSB_MCPU_HOSTS": wrong})


def test_what_is_told(tmp_path: Path) -> None:
    assert allocation.finding({"PATH": "/usr/bin", "SLURM_CONF": "/etc/slurm.conf", "SGE_ROOT": "/opt"}) is None
    job = {"SLURM_JOB_ID": "12", "SLURM_JOB_NODELIST": "n[1-2]"}
    good = allocation.finding(job)
    assert good is not None
    assert (good.state, good.seen) == (GOOD, "slurm job 12, 2 nodes: n1, n2")
    many = allocation.finding(job | {"SLURM_JOB_NODELIST": "n[1-64]"})
    assert many is not None
    assert many.seen.endswith("64 nodes: n1, n2, n3, n4, n5, n6, n7, n8 and 56 more")
    for wrong in (job | {"SLURM_JOB_ID": "1 2"}, job | {"SLURM_JOB_NODELIST": "n["}, {"PBS_NODEFILE": str(tmp_path)}):
        bad = allocation.finding(wrong)
        assert bad is not None
        assert (bad.state, "\n" in bad.seen) == (NOTE, False)
    (tmp_path / "nodes").write_text("n1\nn1\nn2\n")
    real = allocation.finding({"PBS_JOBID": "3.server", "PBS_NODEFILE": str(tmp_path / "nodes")})
    assert real is not None
    assert real.seen == "pbs job 3.server, 2 nodes: n1, n2"


JOB = {"SLURM_JOB_ID": "12", "SLURM_JOB_NODELIST": "n[1-2]"}
TOLD = "slurm job 12, 2 nodes: n1, n2"


def test_a_run_tells_at_its_start(inside: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in JOB.items():
        monkeypatch.setenv(name, value)
    done = inside("run", "--toolchain", "openmpi@4.1=/nonexistent")  # it ends where the toolchain is looked for
    assert f"allocation: {TOLD}" in done.stdout
    refused(done, "/nonexistent")
