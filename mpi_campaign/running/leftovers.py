"""Remove the shared memory that killed ranks of a session have left on the nodes in hand.

    python -m mpi_campaign.running.leftovers PATTERN... SECONDS

The words are those of `launching.shared_memory`, which this runs on each node. The guard of a session does that when
all its processes have ended, even if the campaign was killed.
"""

import sys
from collections.abc import Sequence

from mpi_campaign.libraries import registry
from mpi_campaign.systems import nodes_in_hand

ON_A_NODE = "mpi_campaign.launching.shared_memory"
ASKING_SECONDS = 10.0


def command() -> list[str]:
    """The command for the guard of a session, without SECONDS. On this machine alone no node is asked."""
    patterns = {pattern for library in registry.LIBRARIES.values() for pattern in library.shared_memory}
    module = ON_A_NODE if nodes_in_hand.known() is None else "mpi_campaign.running.leftovers"
    return [sys.executable, "-m", module, *sorted(patterns)]


def main(arguments: Sequence[str]) -> int:
    if known := nodes_in_hand.known():
        words = [sys.executable, "-m", ON_A_NODE, *arguments]
        answers = nodes_in_hand.ask_each(known.hosts, known.variables, words, ASKING_SECONDS)
        for host, answer in zip(known.hosts, answers, strict=True):
            for name in answer.stdout.split():
                print(f"{host}: removed /dev/shm/{name}, which a rank had left")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
