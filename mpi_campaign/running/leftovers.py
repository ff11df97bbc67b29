"""Remove the shared memory that killed ranks of a session have left on the nodes in hand.

    python -m mpi_campaign.running.leftovers PATTERN... SECONDS

The words are those of `launching.shared_memory`, which this runs on each node: through an agent, and on its own node
directly. The guard of a session does that when all its processes have ended, even if the campaign was killed. The guard
gives it `guard.AFTERWARDS_SECONDS`. In this time, it can wait for 256 nodes that do not answer; it names all nodes
where files may be left.
"""

import platform
import sys
from collections.abc import Iterator, Mapping, Sequence

from mpi_campaign import ROOT
from mpi_campaign.children import asking
from mpi_campaign.libraries import registry
from mpi_campaign.systems import nodes_in_hand
from postprocess.drawing.text import plural

ON_A_NODE = "mpi_campaign.launching.shared_memory"
ASKING_SECONDS = 10.0
BEGIN_WITHIN_SECONDS = 15.0
ASKED_AT_ONCE = 128
NOT_CLEANED = "killed ranks may have left files in /dev/shm"


def command() -> list[str]:
    """The command for the guard of a session, without SECONDS. On this machine alone no node is asked."""
    patterns = {pattern for library in registry.LIBRARIES.values() for pattern in library.shared_memory}
    module = ON_A_NODE if nodes_in_hand.looked_at() is None else "mpi_campaign.running.leftovers"
    return [sys.executable, "-m", module, *sorted(patterns)]


def main(arguments: Sequence[str]) -> int:
    if in_hand := nodes_in_hand.looked_at():
        words = [sys.executable, "-m", ON_A_NODE, *arguments]
        here = [host for host, name in zip(in_hand.hosts, in_hand.names, strict=True) if name == platform.node()]
        others = [host for host in in_hand.hosts if host not in here]
        # A job that was cancelled starts nothing any more on its nodes, not even on this one.
        by_host = {host: asking.ask(words, seconds=ASKING_SECONDS, cwd=ROOT) for host in here}
        answers = nodes_in_hand.ask_each(
            others, in_hand.variables, words, ASKING_SECONDS, at_once=ASKED_AT_ONCE, begin_within=BEGIN_WITHIN_SECONDS
        )
        by_host |= dict(zip(others, answers, strict=True))
        for host, answer in by_host.items():
            for name in answer.stdout.split():
                print(f"{host}: removed /dev/shm/{name}, which a rank had left")
        for line in _not_cleaned(by_host):
            print(line)
    return 0


def _not_cleaned(by_host: Mapping[str, asking.Answer]) -> Iterator[str]:
    """A line that names the nodes which could not be cleaned, and says why for the first one; none where all were."""
    bad = {host: answer for host, answer in by_host.items() if not answer.good}
    for host, answer in list(bad.items())[:1]:
        yield f"{NOT_CLEANED} on {plural(len(bad), 'node')}: {', '.join(bad)} (the agent on {host}: {answer.why})"


def not_cleaned(output: Sequence[str]) -> list[str]:
    """The lines about nodes that could not be cleaned in the output of a session."""
    return [line for line in output if line.startswith(NOT_CLEANED)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
