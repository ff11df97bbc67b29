"""What a node looks like to a process there: a line of JSON on standard output.

    python -m mpi_campaign.launching.node_look FILE

host: its name.  cpus: the CPUs of each core that the process may use, in the order in which ranks get cores.
content: of FILE; null where the node does not see that file.
"""

import json
import platform
import sys
from pathlib import Path

from mpi_campaign.files import read
from mpi_campaign.this_machine import machine


def main(arguments: list[str]) -> int:
    content = read(Path(arguments[0])) or None
    print(json.dumps({"host": platform.node(), "cpus": machine.core_cpus(), "content": content}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
