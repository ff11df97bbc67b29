"""A cluster in a box for as long as a command runs: a head node and a few others, all namespaces of this machine.

The command runs on the head node, node0. Each node has, beside what `nodes` gives it, a /tmp and a /run of its own; the
folder in which the command starts and this clone stay visible on all of them. docs/cluster.md is the page for people.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from mpi_campaign import ROOT
from mpi_campaign.errors import EXIT_WRONG_USE, CampaignError
from mpi_campaign.launching import nodes, slurm
from mpi_campaign.launching.nodes import Caller, Layout, NodesError

USUAL_SHELL = "/bin/sh"


def layout(count: int, rate: str | None) -> Layout:
    """The nodes of a cluster that is started in the current folder. Raises CampaignError with the legal values."""
    try:
        return Layout(count, rate, head=True, shared=(Path.cwd(), ROOT.resolve()))
    except ValueError as error:
        raise CampaignError(str(error)) from error


def run(of: Layout, words: Sequence[str], *, with_slurm: bool) -> int:
    """Run a command, by default the user's shell, on the head node. Returns its exit code.

    It changes the calling process, which should do nothing else. Raises CampaignError where this machine lacks
    something.
    """
    caller = Caller("campaign", EXIT_WRONG_USE)
    if with_slurm:
        daemons = slurm.find()
        for name in [name for name in os.environ if slurm.is_of_a_job(name)]:
            del os.environ[name]  # of another Slurm: its commands would ask that one
        os.environ["SLURM_CONF"] = str(slurm.SETTINGS)
        caller = Caller("campaign", EXIT_WRONG_USE, lambda made: slurm.start(daemons, of, made))
    try:
        return nodes.run(of, words or [os.environ.get("SHELL") or USUAL_SHELL], caller=caller)
    except NodesError as error:
        raise CampaignError(str(error)) from error
