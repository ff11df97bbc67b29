"""A cluster in a box for as long as a command runs: a head node and a few others, all namespaces of this machine.

    python -m mpi_campaign.launching.cluster --nodes 4 [--rate 2gbit] [--slurm [--accounting]] -- COMMAND...

The command runs on the head node, node0. Each node has, beside what `nodes` gives it, a /tmp and a /run of its own; the
folder in which the command starts and this clone stay visible on all of them. `./campaign cluster` checks what is asked
for and becomes this program: only a process of one thread may enter a user namespace. docs/cluster.md is the page for
people.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from mpi_campaign import ROOT
from mpi_campaign.children import environ
from mpi_campaign.errors import EXIT_INTERRUPTED, EXIT_WRONG_USE, CampaignError
from mpi_campaign.launching import nodes, slurm
from mpi_campaign.launching.nodes import Caller, Layout, NodesError

USUAL_SHELL = "/bin/sh"
NAME = "campaign"  # begins messages


def layout(count: int, rate: str | None, shared: Sequence[Path] = ()) -> Layout:
    """The nodes of a cluster that is started in the current folder. Raises CampaignError with the legal values.
    shared: folders that all nodes see, beside the current one and this clone."""
    try:
        return Layout(count, rate, head=True, shared=(Path.cwd(), ROOT.resolve(), *shared))
    except ValueError as error:
        raise CampaignError(str(error)) from error


def become(
    count: int,
    rate: str | None,
    words: Sequence[str],
    *,
    with_slurm: bool = False,
    with_accounting: bool = False,
    shared: Sequence[Path] = (),
) -> None:
    """Replace this process by a cluster in which a command runs, by default the user's shell.

    with_accounting: of Slurm, which then runs too.  shared: as in `layout`.  Raises CampaignError where the cluster is
    none that can be made, or where Slurm is not installed.
    """
    layout(count, rate, shared)
    if with_slurm or with_accounting:
        slurm.find(with_accounting=with_accounting)
    options = ["--nodes", str(count), *(["--rate", rate] if rate else [])]
    options += [*(["--slurm"] if with_slurm else []), *(["--accounting"] if with_accounting else [])]
    options += [word for folder in shared for word in ("--share", str(folder))]
    words = words or [os.environ.get("SHELL") or USUAL_SHELL]
    line = [sys.executable, "-I", "-m", "mpi_campaign.launching.cluster", *options, "--", *words]
    os.execve(sys.executable, line, os.environ)  # all that the person has set


def run(of: Layout, words: Sequence[str], *, with_slurm: bool, with_accounting: bool) -> int:
    """Run a command on the head node. Returns its exit code. It changes the calling process, which should do nothing
    else. Raises CampaignError where this machine lacks something."""
    for name in filter(environ.is_of_batch_system, list(os.environ)):
        del os.environ[name]  # they are of other nodes than these
    caller = Caller(NAME, EXIT_WRONG_USE)
    if with_slurm or with_accounting:
        programs = slurm.find(with_accounting=with_accounting)
        os.environ["SLURM_CONF"] = str(slurm.SETTINGS)
        caller = Caller(
            NAME, EXIT_WRONG_USE, lambda made: slurm.start(programs, of, made, with_accounting=with_accounting)
        )
    try:
        return nodes.run(of, words, caller=caller)
    except NodesError as error:
        raise CampaignError(str(error)) from error


def main(arguments: Sequence[str]) -> int:
    """Run the command, from command-line arguments. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="cluster", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--rate")
    parser.add_argument("--slurm", action="store_true")
    parser.add_argument("--accounting", action="store_true")
    parser.add_argument("--share", type=Path, action="append", default=[])
    split = arguments.index("--")
    options = parser.parse_args(arguments[:split])
    try:
        made = layout(options.nodes, options.rate, options.share)
        return run(made, arguments[split + 1 :], with_slurm=options.slurm, with_accounting=options.accounting)
    except CampaignError as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{NAME}: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
