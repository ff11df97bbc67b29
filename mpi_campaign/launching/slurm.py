"""Slurm on the nodes of a cluster in a box: munged and slurmctld on the head node, a slurmd on each other node.

With accounting, slurmdbd and its database are on the head node too (`accounting`).

All its files are in COMMON_FOLDER, which is in memory and exists on the nodes only: keys, logs and state end with them.
Slurm's own words for its settings: slurm.conf(5). docs/cluster.md says what each of them is for.
"""

import os
import pwd
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence

from mpi_campaign.errors import CampaignError
from mpi_campaign.launching import accounting, daemons
from mpi_campaign.launching.daemons import LOGS, POLL_SECONDS, SPOOL, On
from mpi_campaign.launching.node_agent import COMMON_FOLDER, Node
from mpi_campaign.launching.nodes import Layout, NodesError

CLUSTER = "box"
SETTINGS = COMMON_FOLDER / "slurm.conf"
MUNGE = COMMON_FOLDER / "munge"  # for the user alone
MUNGE_KEY = MUNGE / "key"
MUNGE_SOCKET = COMMON_FOLDER / "socket" / "munge"
MUNGE_KEY_BYTES = 128

PROGRAMS = ("munged", "slurmctld", "slurmd", "sinfo", "sbatch")
PACKAGES = "slurmctld slurmd slurm-client munge slurm-wlm-basic-plugins"
SYSTEM_FOLDERS = ("/usr/sbin", "/sbin", "/usr/local/sbin")  # of daemons; a user's PATH may lack them

START_SECONDS = 20.0


def lacking(programs: Sequence[str] = PROGRAMS) -> list[str]:
    """Those of the programs that are not installed, by default of the programs of Slurm and MUNGE."""
    return [name for name in programs if _path_of(name) is None]


def _path_of(name: str) -> str | None:
    folders = [os.environ.get("PATH") or os.defpath, *SYSTEM_FOLDERS]
    return shutil.which(name, path=os.pathsep.join(folders))


def find(*, with_accounting: bool = False) -> Mapping[str, str]:
    """The path of each program. Raises CampaignError that says what is lacking, and what to install."""
    asked: list[tuple[str, Sequence[str], str]] = [("--slurm", PROGRAMS, PACKAGES)]
    asked += [("--accounting", accounting.PROGRAMS, accounting.PACKAGES)] if with_accounting else []
    for option, programs, packages in asked:
        if missing := lacking(programs):
            raise CampaignError(f"{option} needs {', '.join(missing)}: install them (Debian, Ubuntu: {packages})")
    return {name: str(_path_of(name)) for _, programs, _ in asked for name in programs}


def settings(
    hosts: Sequence[str], cpus: int, memory_mebibytes: int, user: str, *, with_accounting: bool = False
) -> str:
    """The text of slurm.conf.  hosts: the head node, then the others.  cpus, memory_mebibytes: of each of the others.
    user: who runs the daemons."""
    head, *others = hosts
    if with_accounting:
        storage = {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": head,
            "AccountingStoragePass": MUNGE_SOCKET,  # with MUNGE it is a path
            "AccountingStorageEnforce": "associations",  # an account that is not known is refused
        }
    else:
        storage = {"AccountingStorageType": "accounting_storage/none"}
    values = {
        "ClusterName": CLUSTER,
        "SlurmctldHost": head,
        "SlurmUser": user,
        "SlurmdUser": user,
        # Who is who.
        "AuthType": "auth/munge",
        "CryptoType": "crypto/munge",
        "AuthInfo": f"socket={MUNGE_SOCKET}",
        # Folders: slurmctld's on the head node; slurmd's and PMIx's in each node's own /run and /tmp.
        "StateSaveLocation": COMMON_FOLDER / "state",
        "SlurmdSpoolDir": SPOOL,
        "TmpFS": "/tmp",
        "SlurmctldPidFile": "/run/slurmctld.pid",
        "SlurmdPidFile": "/run/slurmd.pid",
        # Namespaces are no machines: no control groups, no binding, the processor numbers of the file.
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SlurmdParameters": "config_overrides",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "SwitchType": "switch/none",
        "MpiDefault": "none",
        "JobAcctGatherType": "jobacct_gather/none",
        **storage,
        # A node that was down comes back by itself. A job whose node is lost has failed, and does not run again.
        "ReturnToService": 2,
        "JobRequeue": 0,
        "SlurmctldTimeout": 10,
        "SlurmdTimeout": 10,
        "InactiveLimit": 0,
        "KillWait": 5,
        "MinJobAge": 3600,
    }
    lines = [f"{name}={value}" for name, value in values.items()]
    lines.append(f"NodeName={','.join(others)} CPUs={cpus} RealMemory={memory_mebibytes} State=UNKNOWN")
    lines.append("PartitionName=cpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
    return "\n".join(lines) + "\n"


def start(programs: Mapping[str, str], layout: Layout, nodes: Sequence[Node], *, with_accounting: bool = False) -> None:
    """Write the settings, start all daemons, and wait until all nodes are idle.

    programs: what `find` has returned.  nodes: the head node, then the others.  Raises NodesError with the last words
    of a daemon where the nodes are not idle within START_SECONDS.
    """
    variables = {"SLURM_CONF": str(SETTINGS), **accounting.VARIABLES}
    head, *others = (On(node, variables) for node in nodes)
    user = _write_files(layout, with_accounting=with_accounting)
    munged = head.start(
        "munged",
        [
            programs["munged"], "--foreground", f"--key-file={MUNGE_KEY}", f"--socket={MUNGE_SOCKET}",
            f"--pid-file={MUNGE / 'pid'}", f"--seed-file={MUNGE / 'seed'}",
        ],
    )  # fmt: skip
    daemons.wait_until(MUNGE_SOCKET, head, munged, START_SECONDS)
    storing = accounting.start(programs, head, user, str(MUNGE_SOCKET), CLUSTER) if with_accounting else []
    deadline = time.monotonic() + START_SECONDS
    controller = head.start("slurmctld", [programs["slurmctld"], "-D", "-i"])
    of_nodes = {
        on.node.name: on.start(f"slurmd on {on.node.name}", [programs["slurmd"], "-D", "-N", on.node.name])
        for on in others
    }
    started = [munged, *storing, controller, *of_nodes.values()]
    while True:
        state_by_node = _states(programs["sinfo"], head)
        busy = [name for name in of_nodes if state_by_node.get(name) != "idle"]
        if not busy:
            return
        for daemon in started:
            daemon.check()
        if time.monotonic() > deadline:
            guilty = of_nodes[busy[0]] if state_by_node else controller
            state = f"is {state_by_node[busy[0]]}" if busy[0] in state_by_node else "is unknown to slurmctld"
            raise NodesError(
                f"{busy[0]} {state} {START_SECONDS:g} s after its start: {guilty.name}: {guilty.last_words()}"
            )
        time.sleep(POLL_SECONDS)


def _states(sinfo: str, head: On) -> dict[str, str]:
    """The state of each node that slurmctld knows, such as `idle`; empty where it does not answer."""
    done = head.ask(sinfo, "--noheader", "--Node", "--format=%N %T")
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if len(line.split()) == 2)


def _write_files(layout: Layout, *, with_accounting: bool) -> str:
    """Make the folders, the key and slurm.conf. Returns the name of the user who runs the daemons."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError as error:
        raise NodesError(f"Slurm needs a user with a name: number {os.getuid()} has none on this machine") from error
    for folder in (LOGS, MUNGE_SOCKET.parent, COMMON_FOLDER / "state"):
        folder.mkdir(mode=0o755)
    MUNGE.mkdir(mode=0o700)
    with os.fdopen(os.open(MUNGE_KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as key:
        key.write(secrets.token_bytes(MUNGE_KEY_BYTES))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 // layout.count
    cpus = len(layout.processors()[-1])
    SETTINGS.write_text(settings(layout.hosts, cpus, memory, user, with_accounting=with_accounting))
    SETTINGS.chmod(0o644)
    return user
