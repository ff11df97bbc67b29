"""Which switch each node of a system is below: from topology.conf beside the system's settings, else from Slurm.

Both have lines such as `SwitchName=s1 Level=0 Nodes=n[1-16]` (topology.conf(5) of Slurm). Switches of switches have
`Switches=` instead of `Nodes=`, and are not needed.
"""

import re
import shutil
from collections.abc import Collection

from mpi_campaign.children import asking, environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.schedulers.hosts import expand
from mpi_campaign.systems import known_systems
from postprocess.drawing.text import clean, first_of

FILE = "topology.conf"
COMMAND = ("scontrol", "show", "topology")
ASKING_SECONDS = 30.0
SHOWN = 5
_FIELD = re.compile(r"(\w+)=(\S+)")


def switches_of(system: str, hosts: Collection[str] = ()) -> dict[str, str]:
    """The name of the switch of each node; empty where nobody tells.

    hosts: the nodes that are measured, of which alone it is told; empty: they are not known yet. Raises CampaignError
    where the file cannot be read, or lacks one of them.
    """
    path = known_systems.SYSTEMS / system / FILE
    known = [name for host in hosts for name in (host, host.partition(".")[0])]
    if not path.exists():
        return _only(known, _slurms())
    where = f"systems/{system}/{FILE}"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise CampaignError(f"{where} cannot be read: {error}") from None
    found = parse(text, where)
    lacking = [host for host in hosts if not {host, host.partition(".")[0]} & set(found)]
    if lacking:
        raise CampaignError(
            f"{where}: no switch of {clean(first_of(lacking, SHOWN))}: add them to a line SwitchName=... Nodes=..., or "
            "move the file away"
        )
    return _only(known, found)


def _only(hosts: Collection[str], switches: dict[str, str]) -> dict[str, str]:
    """The switches of these nodes; of all where there are none."""
    return {host: switch for host, switch in switches.items() if not hosts or host in hosts}


def parse(text: str, where: str) -> dict[str, str]:
    """The name of the switch of each node. Raises CampaignError for a line that is none of topology.conf, and for a
    node below two switches."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        fields = {name.lower(): value for name, value in _FIELD.findall(" ".join(words))}
        if not words:
            continue
        if "switchname" not in fields or not {"nodes", "switches"} & set(fields):
            raise CampaignError(f"{where}:{number}: '{clean(line.strip())}' is not SwitchName=NAME Nodes=LIST")
        if "switches" in fields:  # Slurm prints the nodes of all of them, too
            continue
        for host in expand(fields["nodes"], f"{where}:{number}: Nodes"):
            if found.setdefault(host, fields["switchname"]) != fields["switchname"]:
                raise CampaignError(f"{where}:{number}: {host} is below {found[host]} already")
    return found


def _slurms() -> dict[str, str]:
    """What Slurm tells; nothing where there is no Slurm, or it knows no switches."""
    if shutil.which(COMMAND[0]) is None:
        return {}
    answer = asking.ask([*COMMAND], env=environ.built(environ.SESSION), seconds=ASKING_SECONDS)
    try:
        return parse(answer.stdout, " ".join(COMMAND)) if answer.good else {}
    except CampaignError:
        return {}
