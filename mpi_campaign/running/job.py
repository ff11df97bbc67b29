"""A job of a batch system that carries out sessions of a run: its description, and the files that it leaves.

All of it lies in the job's folder, which the submitting campaign and the job share:

    job.json         the description, written before the job is submitted
    submitted        the job's id, written when it was
    refused          why it could not be submitted, in the batch system's own words
    script.txt       start, hosts, end and exit code, written by the job script itself
    nodes/           a file for each node (`node_probe`)
    events.jsonl     what happens: a line for each event of a session, message, and session that has ended
    N.*              ReFrame's reports on session N, from 1
    reframe.log      what ReFrame printed in these sessions
    stage/           where ReFrame stages
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpi_campaign import files
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.processes import signals
from mpi_campaign.running.sessions import Order
from mpi_campaign.schedulers.registry import SUBMITTED_TO
from postprocess.drawing.text import short

DESCRIPTION = "job.json"
SUBMITTED = "submitted"
REFUSED = "refused"
SCRIPT_LOG = "script.txt"
EVENTS = "events.jsonl"
SESSION_LOG = "reframe.log"

LONGEST_REFUSAL = 300
_SUBMIT = "|".join(sorted({scheduler.submit for scheduler in SUBMITTED_TO.values()}))
SUBMITTING = re.compile(rf"^(?:(?:{_SUBMIT}): )?(?:error: )?(?:Batch job submission failed: )?")
"""What commands that submit jobs write before a reason."""

LEASE = "lease"
"""The file in the folder of all jobs into which the campaign writes its own name, and a new number all the time."""
BEAT_SECONDS = 5.0
LEASE_SECONDS = 120.0
"""A job whose campaign has written no new number for so long ends. NFS may show an old file for half of that."""


@dataclass(frozen=True)
class Script:
    """What a job asks of its batch system.

    tasks_per_node: of the batch system, which are no ranks.  cpus_per_node: 0: not asked for.  limit_seconds,
    most_wait_seconds: 0: the batch system's own.  options: of the batch system, as its directives have them.  exports:
    variables that the job gets.  on_each_node: a command that starts a program on each of the nodes, or () where there
    is none.  job_id: the variable with the job's id.  hosts: shell words that write the job's hosts.
    """

    nodes: int
    tasks_per_node: int
    cpus_per_node: int
    limit_seconds: int
    most_wait_seconds: int
    options: tuple[str, ...]
    exports: Mapping[str, str]
    on_each_node: tuple[str, ...]
    job_id: str
    hosts: str


@dataclass(frozen=True)
class Description:
    """A job: its run, its number from 1, the sessions that it carries out, and what it asks for.

    No orders: the job looks at its nodes only. lease_seconds: 0: it has no lease. cores_per_node: that its ranks need;
    0: its ranks may share fewer. budget_seconds: how long sessions may take of which one may be the last
    (`Order.launches`); 0: as long as they take.
    """

    run: RunFolder
    number: int
    orders: tuple[Order, ...]
    script: Script
    lease_seconds: float = LEASE_SECONDS
    cores_per_node: int = 0
    budget_seconds: float = 0.0

    @property
    def folder(self) -> Path:
        return self.run.jobs / str(self.number)

    @property
    def name(self) -> str:
        """The name of its files in the archive."""
        return f"job{self.number}"

    @classmethod
    def read(cls, path: Path) -> "Description":
        """The description in a file. Raises OSError, ValueError, KeyError or TypeError where it has none."""
        description: Description = files.made_of(cls, json.loads(path.read_text()))
        return description


@dataclass(frozen=True)
class ScriptLog:
    """What the job script wrote.  host: on which it ran.  hosts: of the job, as its batch system writes them: n1,n2 or
    n[1-2].  Times as YYYY-MM-DDTHH:MM:SSZ; None: it did not get so far."""

    job: str = ""
    host: str = ""
    hosts: str = ""
    started_utc: str | None = None
    ended_utc: str | None = None
    exit_code: int | None = None


def script_log(text: str) -> ScriptLog:
    """What lines of KEY=VALUE say; other lines are left out."""
    fields = dict(re.findall(r"^([a-z_]+)=(.*)$", text, re.MULTILINE))
    code = fields.get("exit_code", "")
    return ScriptLog(
        fields.get("job", ""),
        fields.get("host", ""),
        fields.get("hosts", ""),
        fields.get("started_utc"),
        fields.get("ended_utc"),
        int(code) if re.fullmatch(r"\d{1,3}", code) else None,
    )


def script_lines(script: Script) -> list[str]:
    """Lines for bash by which a job script notes its start at once, and its end with the exit code whatever ends it."""
    now = "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
    begin = f'"${{{script.job_id}:-}}" "$(uname -n)" "{script.hosts}" "{now}"'
    return [
        f'printf "job=%s\\nhost=%s\\nhosts=%s\\nstarted_utc=%s\\n" {begin} > {SCRIPT_LOG}',
        f"trap 'kill $! 2> /dev/null' {' '.join(number.name.removeprefix('SIG') for number in signals.ENDING)}",
        f'trap \'printf "exit_code=%s\\nended_utc=%s\\n" "$?" "{now}" >> {SCRIPT_LOG}\' EXIT',
    ]


IN_BACKGROUND = ["&"]
"""Behind the command of a job script: so bash hands on signals that it alone gets, as before a time limit."""
WAITING = [
    "wait $!; code=$?",
    "while kill -0 $! 2> /dev/null; do wait $!; code=$?; done  # a signal ends `wait`",
    "exit $code",
]
"""Lines for bash after that command."""


def on_each_node(script: Script, words: Sequence[str]) -> list[str]:
    """The command that starts a program on each node of the job; on this node only where there is no such command."""
    return [*(word.format(nodes=script.nodes) for word in script.on_each_node), *words]


def refusal(stdout: str, stderr: str) -> str:
    """Why a command that should submit a job did not, in one line: what it said of an error, else all that it said.
    Empty where it said nothing."""
    for text in (stderr, stdout):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        errors = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)]
        said = (SUBMITTING.sub("", line) for line in errors or lines)
        if lines:
            return short("; ".join(dict.fromkeys(said)), LONGEST_REFUSAL)
    return ""
