"""Accounting for the Slurm of a cluster in a box: slurmdbd, and a MariaDB that only it uses, on the head node.

With it, `sacct` tells of jobs that have ended, and Slurm refuses accounts that it does not know.
"""

from collections.abc import Mapping

from mpi_campaign.launching import daemons
from mpi_campaign.launching.daemons import Daemon, On
from mpi_campaign.launching.node_agent import COMMON_FOLDER
from mpi_campaign.launching.nodes import NodesError

SETTINGS = COMMON_FOLDER / "slurmdbd.conf"
DATABASE = COMMON_FOLDER / "database"
DATABASE_SOCKET = COMMON_FOLDER / "socket" / "database"

PROGRAMS = ("slurmdbd", "sacctmgr", "mariadbd", "mariadb-install-db")
PACKAGES = "slurmdbd mariadb-server"

VARIABLES = {"MYSQL_UNIX_PORT": str(DATABASE_SOCKET)}
"""Where the client library of slurmdbd finds the database."""

START_SECONDS = 60.0


def settings(head: str, user: str, munge_socket: str) -> str:
    """The text of slurmdbd.conf: the database knows the user who runs all daemons by the socket, without a password."""
    values = {
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={munge_socket}",
        "DbdHost": head,
        "SlurmUser": user,
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "localhost",
        "StorageUser": user,
        "PidFile": "/run/slurmdbd.pid",
    }
    return "".join(f"{name}={value}\n" for name, value in values.items())


def start(programs: Mapping[str, str], head: On, user: str, munge_socket: str, cluster: str) -> list[Daemon]:
    """Start the database and slurmdbd, and make the cluster known there. Returns the daemons. Raises NodesError.
    programs: the path of each of PROGRAMS."""
    place = f"--datadir={DATABASE}"
    made = head.ask(
        programs["mariadb-install-db"],
        "--no-defaults",
        place,
        "--skip-test-db",
        "--auth-root-authentication-method=socket",
        f"--auth-root-socket-user={user}",
        f"--user={user}",
        seconds=START_SECONDS,
    )
    if made.returncode != 0:
        said = (made.stderr.strip() or made.stdout.strip() or "it said nothing").splitlines()
        raise NodesError(f"mariadb-install-db ended with {made.returncode}: {said[-1]}")
    database = head.start(
        "mariadbd",
        [
            programs["mariadbd"], "--no-defaults", place, f"--socket={DATABASE_SOCKET}", "--skip-networking",
            f"--pid-file={DATABASE / 'pid'}", f"--user={user}", "--innodb-log-file-size=16M",
            "--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0",
        ],
    )  # fmt: skip
    daemons.wait_until(DATABASE_SOCKET, head, database, START_SECONDS)
    SETTINGS.touch(mode=0o600)
    SETTINGS.write_text(settings(head.node.name, user, munge_socket))
    slurmdbd = head.start("slurmdbd", [programs["slurmdbd"], "-D"])
    add_cluster = [programs["sacctmgr"], "--immediate", "--quiet", "add", "cluster", cluster]
    daemons.wait_until(add_cluster, head, slurmdbd, START_SECONDS)
    return [database, slurmdbd]
