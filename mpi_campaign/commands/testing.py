"""The command `test`: the whole suite through pytest, which is its one runner and closing line."""

import shlex
import subprocess
import sys

import click

from mpi_campaign import ROOT
from mpi_campaign.children import environ
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, EXIT_INTERRUPTED, CampaignError

# Parts of the suite that a machine may lack. A test names its part with @pytest.mark.needs("part").
PARTS = (
    "another-user", "browser", "clang", "git", "grid-engine", "mount", "mpi", "nodes", "pmix", "simgrid", "slurm",
    "slurm-accounting", "slurm-torque", "spack", "system-mpi", "user-namespaces", "wire",
)  # fmt: skip

# Tests that launch no ranks share the cores; tests/conftest.py orders them and keeps the others alone.
SIDE_BY_SIDE = ("--numprocesses=auto", "--maxprocesses=4", "--no-loadscope-reorder")

RARE_TOO = "--rare"
"""Option of pytest, made by tests/conftest.py: also the tests that are marked `rare`."""

PYTEST_INTERRUPTED = 2
PYTEST_FAILED = 1


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--quick", is_flag=True, help="Leave out what launches MPI or a browser.")
@click.option("--all", "rare", is_flag=True, help="Also what is slow and rarely fails: for a nightly run.")
@click.option(
    "--require",
    default="",
    metavar="LIST",
    help=f"Parts that must be here, by comma ({', '.join(PARTS)}): lacking one fails.",
)
@click.argument("pytest_options", nargs=-1, type=click.UNPROCESSED)
def test(require: str, pytest_options: tuple[str, ...], *, quick: bool, rare: bool) -> int:
    """The test suite. What this machine lacks is skipped by name."""
    if quick and rare:
        raise CampaignError("--quick leaves out what is slow, --all adds what is slower: give one of them")
    required = [part.strip() for part in require.split(",") if part.strip()]
    for part in required:
        if part not in PARTS:
            raise CampaignError(f"--require: there is no part '{part}'; there are: {', '.join(PARTS)}")
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *SIDE_BY_SIDE]
    if quick:
        words += ["-m", "not slow"]
    if rare:
        words.append(RARE_TOO)
    environment = environ.built(environ.TESTS, {"CAMPAIGN_TEST_REQUIRE": ",".join(required)})
    # An output that is full is told before pytest meets it.
    print(shlex.join([*words[2:], *pytest_options]), flush=True)
    try:
        done = subprocess.run([*words, *pytest_options], cwd=ROOT, env=environment, check=False)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    codes = {0: EXIT_GOOD, PYTEST_FAILED: EXIT_FAILED, PYTEST_INTERRUPTED: EXIT_INTERRUPTED}
    if done.returncode not in codes:
        raise CampaignError(f"pytest ended with {done.returncode}: its own message is above")
    return codes[done.returncode]
