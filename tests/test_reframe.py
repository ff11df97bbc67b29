"""The checks are ordinary ReFrame tests: listed, described and dry-run by hand on every system."""

import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks.choice import VALUES
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, CHOICES, loading
from mpi_campaign.running.reframe_session import command, pattern
from mpi_campaign.systems import known_systems, site
from mpi_campaign.toolchains import resolving
from postprocess.families.axes import COMPUTATION

SYSTEMS = sorted(
    path.parent.name for path in (ROOT / "systems").glob("*/settings.py") if not path.parent.name.startswith("tmp-")
)


def test_the_end_of_a_launch_is_seen_within_a_second_where_no_scheduler_is_asked() -> None:
    for scheduler, looks in (("local", 1), ("slurm", None)):
        one = site.partition("cpu", "shm", scheduler=scheduler, launcher="mpiexec")
        (general,) = site.site("here", [one])["general"]
        assert general.get("poll_rate_min") == looks


# The pattern of one test, and words of its job script.
ONE = pattern("nbc_overlap", {"configuration": ["async"], "collective": ["ibcast"], "computation": ["dgemm"]})


OF_ONE = ("async", "ibcast", "dgemm")


def reframe(
    system: str,
    stage: Path,
    *words: str,
    checks: str = "reframe/nbc_overlap.py",
    collectives: str = "",
    values: str = "",
) -> subprocess.CompletedProcess[str]:
    """ReFrame, started by hand. checks: the file of the tests that it loads, or the folder with all of them."""
    return subprocess.run(
        [
            str(ROOT / ".venv" / "bin" / "reframe"),
            "-C",
            f"systems/{system}/settings.py",
            "-c",
            checks,
            "--nocolor",
            f"--system={system}",
            f"--prefix={stage}",
            f"--report-file={stage / 'report.json'}",
            *words,
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "CAMPAIGN_COLLECTIVES": collectives, VALUES: values},
        check=False,
    )


@pytest.fixture(scope="module", autouse=True)
def toolchain() -> None:
    """At least one environment for the tests to run in."""
    resolving.resolve(resolving.parse(resolving.DEFAULT_TOOLCHAINS[0]), print)


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=() if name == "local" else pytest.mark.rare) for name in SYSTEMS]
)
def listed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What ReFrame lists on a system."""
    done = reframe(request.param, tmp_path_factory.mktemp("list"), "-l", checks="reframe")
    assert done.returncode == 0, done.stdout
    return done.stdout


# Systems whose nodes are those of a job need one to place ranks.
WITHOUT_JOB = [name for name in SYSTEMS if not any(one.nodes for one in known_systems.load(name).partitions.values())]


@pytest.fixture(scope="module", params=WITHOUT_JOB)
def scripts_of_smoke(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The job scripts of a dry run of every test of a suite on a system."""
    stage = tmp_path_factory.mktemp("smoke")
    done = reframe(request.param, stage, "--mode=smoke", "--tag=smoke", "--dry-run", checks="reframe")
    assert done.returncode == 0, done.stdout
    return list(stage.glob("stage/**/rfm_job.sh"))


def test_every_case_is_listed(listed: str) -> None:
    own = [f"%configuration={one} %test_interval_ns=0" for one in CONFIGURATIONS]
    basics = [f"%basic.collective={one}" for one in suites.FIVE]
    for parameters in itertools.product(own, basics, [f"%basic.computation={one}" for one in COMPUTATION.values]):
        assert f"nbc_overlap {' '.join(parameters)} " in listed


@pytest.mark.rare
def test_a_dry_run_of_every_test_of_a_suite_leaves_sound_job_scripts_with_its_grid(
    scripts_of_smoke: list[Path],
) -> None:
    assert scripts_of_smoke
    for script in scripts_of_smoke:
        checked = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr
    of_one = [text for text in map(Path.read_text, scripts_of_smoke) if set(OF_ONE) <= set(text.split())]
    assert any(f"--grid {suites.SUITES['smoke'].grid}" in script for script in of_one)


@pytest.mark.parametrize(
    "suite",
    [
        # The next test stands for them.
        pytest.param(name, marks=pytest.mark.rare)
        for name in suites.SUITES
    ],
)
def test_a_suite_is_a_mode_that_sets_its_grid(suite: str, tmp_path: Path) -> None:
    first = suites.SUITES[suite].benchmarks[0]
    name, checks = (ONE if first == "nbc_overlap" else f"^{first}(?=%|$)", first)
    words = (f"--mode={suite}", f"--tag={suite}", "-n", name, "--dry-run")
    done = reframe("local", tmp_path, *words, checks=f"reframe/{checks}.py")
    assert done.returncode == 0, done.stdout
    scripts = [path.read_text() for path in tmp_path.glob("stage/**/rfm_job.sh")]
    assert any(f"--grid {suites.SUITES[suite].grid}" in script for script in scripts)


def test_how_often_to_test_is_a_parameter_that_the_command_line_gives(tmp_path: Path) -> None:
    wanted = ("-n", ONE, "-P", "nbc_overlap.test_interval_ns=0,100000")
    done = reframe("local", tmp_path, *wanted, "--mode=smoke", "--dry-run")
    assert done.returncode == 0, done.stdout
    scripts = [path.read_text() for path in tmp_path.glob("stage/**/rfm_job.sh")]
    assert any("--test-interval 100000ns" in script for script in scripts)
    assert any("--test-interval" not in script and "--configuration async" in script for script in scripts)
    assert any(f"--grid {suites.SUITES['smoke'].grid}" in script for script in scripts)


def test_a_collective_of_no_suite_has_tests_where_it_is_named(tmp_path: Path) -> None:
    words = ("-l", "-n", pattern("nbc_overlap", {"configuration": ["basic"], "collective": ["bcast_init", "iscan"]}))
    assert "Found 0 check(s)" in reframe("local", tmp_path, *words).stdout
    named = reframe("local", tmp_path, *words, collectives="iscan,bcast_init").stdout
    assert named.count("nbc_overlap %") == 2 * len(COMPUTATION.values)
    assert CHOICES["collective"].loaded("all") == suites.COLLECTIVES
    with pytest.raises(CampaignError, match=r"unknown 'bcast'.*bcast_init"):
        CHOICES["collective"].loaded("bcast")


def test_a_session_makes_the_tests_of_its_values_alone_and_of_the_usual_ones(tmp_path: Path) -> None:
    values = "configuration:async;collective:ireduce;computation:triad"
    found = reframe("local", tmp_path, "-l", values=values).stdout
    tests = set(re.findall(r"- nbc_overlap %(.*?) /", found))
    assert len(tests) == 2
    assert all("configuration=async" in one and "collective=ireduce" in one for one in tests)
    every = reframe("local", tmp_path, "-l").stdout
    assert tests < set(re.findall(r"- nbc_overlap %(.*?) /", every))


def test_a_run_names_the_collectives_of_no_suite_in_its_command_line() -> None:
    def words(*collectives: str) -> list[str]:
        return command(
            settings=Path("settings.py"), folder=Path("folder"), partition="local:shm", files=["nbc_overlap"],
            tests="^nbc_overlap", environments=["e"], mode="smoke", policy="serial",
            loading=loading({"collective": collectives}),
        )  # fmt: skip

    assert words("ibcast", "iscan") == ["env", "CAMPAIGN_COLLECTIVES=iscan", *words("ibcast")]


LACKING = """
import sys
sys.path.insert(0, {folder!r})
import reframe as rfm
from case_axes import own_parameters
from measured import MeasuredTest

class Lacking(MeasuredTest):
    valid_systems, valid_prog_environs = ["+mpi"], ["+mpi"]

@rfm.simple_test
class no_name(Lacking):
    benchmark = "nothing"

@rfm.simple_test
class no_parameters(Lacking):
    benchmark = "nbc_overlap"

@rfm.simple_test
class no_basic(Lacking, own_parameters("nbc_overlap")):
    benchmark = "nbc_overlap"
"""


def test_what_a_measuring_test_has_not_defined_is_said_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "lacking.py"
    file.write_text(LACKING.format(folder=str(ROOT / "reframe")))
    done = reframe("local", tmp_path, "-n", "^no_", "-l", checks=str(file))
    for said in (
        f"no_name: benchmark 'nothing' is none of {', '.join(BENCHMARKS)}",
        "no_parameters: no configuration, test_interval_ns: derive it from case_axes.own_parameters('nbc_overlap')",
        "no_basic: no basic: define that fixture, or `gives_sizes = True` if it is one",
    ):
        assert said in done.stdout
    assert "Found 0 check(s)" in done.stdout
