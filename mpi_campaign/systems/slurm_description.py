"""What Slurm says of a cluster: its partitions, their limits, the shapes of their nodes.

`scontrol show partition --oneliner` and `scontrol show node --oneliner` have a line for each: KEY=VALUE, where a value
may have blanks. Parsing is pure; only `ask` starts a command.
"""

import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mpi_campaign.children import asking, environ
from mpi_campaign.errors import CampaignError

ASKING_SECONDS = 30.0
COMMANDS = ("scontrol", "sbatch", "squeue", "scancel")

_FIELD = re.compile(r"(?:^|(?<=\s))([A-Z][A-Za-z0-9_/:]*)=")
_DURATION = re.compile(r"(?:(\d{1,5})-)?(\d{1,6})(?::(\d{1,5}))?(?::(\d{1,5}))?")
# Node state codes of sinfo(1), and the names of the same flags in scontrol's output. Slurm before 21.08 writes flags as
# characters: `*` is a node that does not respond, wherever it stands (IDLE*, DOWN*+CLOUD).
_OUT_OF_SERVICE = {
    "DOWN", "ERROR", "UNKNOWN", "FUTURE", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILED", "FAILING", "INVAL",
    "INVALID_REG", "NOT_RESPONDING",
}  # fmt: skip
_NONE = ("", "(null)", "N/A", "NONE", "n/a", "n/s")


@dataclass(frozen=True)
class Shape:
    """A node as jobs see it. memory_mebibytes: 0 where it is not known."""

    sockets: int
    cores_per_socket: int
    threads_per_core: int
    cpus: int
    memory_mebibytes: int = 0

    @property
    def cores(self) -> int:
        """Physical cores. With threads_per_core 1 in Slurm's settings, each CPU counts as a core."""
        return max(1, self.cpus // self.threads_per_core)


@dataclass(frozen=True)
class Node:
    """A node: its shape, the partitions that it is in, its state, such as IDLE or DOWN+DRAIN, and why it has that."""

    name: str
    shape: Shape
    partitions: tuple[str, ...]
    state: str
    features: tuple[str, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name} is {self.state}" + (f" ({self.reason})" if self.reason else "")

    @property
    def is_usable(self) -> bool:
        """Whether jobs run on it now, or when others have ended or it was powered up. A node that is reserved counts:
        jobs that name the reservation run there."""
        return "*" not in self.state and not set(re.findall(r"[A-Z_]+", self.state)) & _OUT_OF_SERVICE


@dataclass(frozen=True)
class Partition:
    """A partition. longest_seconds, most_nodes: of one job; None: no limit.  accounts: who may use it; (): anyone."""

    name: str
    state: str
    is_default: bool
    nodes: int
    longest_seconds: int | None
    most_nodes: int | None
    accounts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Description:
    """A cluster as Slurm describes it. accounting: whether `sacct` knows the exit codes of jobs that are gone."""

    cluster: str
    accounting: bool
    partitions: tuple[Partition, ...]
    nodes: tuple[Node, ...]

    def nodes_of(self, partition: str) -> list[Node]:
        return [node for node in self.nodes if partition in node.partitions]

    def shape_of(self, partition: str) -> Shape | None:
        """The commonest shape of the partition's nodes; None where it has none."""
        shapes = Counter(node.shape for node in self.nodes_of(partition))
        return shapes.most_common(1)[0][0] if shapes else None


def fields_of(line: str) -> dict[str, str]:
    """The fields of a line of `scontrol show --oneliner`. Of a key that is there twice, the first counts."""
    starts = list(_FIELD.finditer(line))
    ends = [*(start.start() for start in starts), len(line)][1:]
    fields: dict[str, str] = {}
    for start, end in zip(starts, ends, strict=True):
        fields.setdefault(start[1], line[start.end() : end].strip())
    return fields


def seconds_of(text: str) -> int | None:
    """A time limit as Slurm reads and writes it, in seconds: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S; None for UNLIMITED.
    Raises ValueError for any other text."""
    if text.upper() in ("UNLIMITED", "INFINITE"):
        return None
    match = _DURATION.fullmatch(text)
    if not match:
        raise ValueError(f"'{text}' is no time limit: MINUTES, HOURS:MINUTES:SECONDS or DAYS-HOURS:MINUTES:SECONDS")
    days, *rest = (None if part is None else int(part) for part in match.groups())
    first, second, third = rest
    if days is not None:
        return ((days * 24 + (first or 0)) * 60 + (second or 0)) * 60 + (third or 0)
    if second is None:
        return (first or 0) * 60
    if third is None:
        return (first or 0) * 60 + second
    return ((first or 0) * 60 + second) * 60 + third


def limit_text(seconds: int) -> str:
    """A time limit as Slurm writes it: 2:00:00, 1-00:00:00."""
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}" if days else clock


def partitions_of(text: str) -> list[Partition]:
    """The partitions in the output of `scontrol show partition --oneliner`. Raises CampaignError."""
    return [_partition(fields_of(line)) for line in text.splitlines() if line.startswith("PartitionName=")]


def nodes_of(text: str) -> list[Node]:
    """The nodes in the output of `scontrol show node --oneliner`. Raises CampaignError."""
    return [_node(fields_of(line)) for line in text.splitlines() if line.startswith("NodeName=")]


def has_accounting(text: str) -> bool:
    """Whether the output of `scontrol show config` names a store of ended jobs."""
    match = re.search(r"^AccountingStorageType\s*=\s*(\S+)", text, re.MULTILINE)
    return bool(match) and match is not None and match[1] not in ("accounting_storage/none", "(null)")


def _partition(fields: Mapping[str, str]) -> Partition:
    return Partition(
        name=fields["PartitionName"],
        state=fields.get("State", "UP"),
        is_default=fields.get("Default") == "YES",
        nodes=_number(fields, "TotalNodes") or 0,
        longest_seconds=_limit(fields),
        most_nodes=_number(fields, "MaxNodes"),
        accounts=_list(fields.get("AllowAccounts", "ALL")),
    )


def _node(fields: Mapping[str, str]) -> Node:
    cpus = _number(fields, "CPUEfctv") or _number(fields, "CPUTot") or 1
    shape = Shape(
        sockets=_number(fields, "Sockets") or 1,
        cores_per_socket=_number(fields, "CoresPerSocket") or cpus,
        threads_per_core=_number(fields, "ThreadsPerCore") or 1,
        cpus=cpus,
        memory_mebibytes=_number(fields, "RealMemory") or 0,
    )
    return Node(
        name=fields["NodeName"],
        shape=shape,
        partitions=_list(fields.get("Partitions", "")),
        state=fields.get("State", "UNKNOWN"),
        features=_list(fields.get("ActiveFeatures", "")),
        reason=re.sub(r"\s*\[[^\[\]]*@[^\[\]]*\]$", "", fields.get("Reason", "")),
    )


def _list(text: str) -> tuple[str, ...]:
    return () if text in (*_NONE, "ALL") else tuple(text.split(","))


def _number(fields: Mapping[str, str], key: str) -> int | None:
    """A number; None where it is missing or not limited. Raises CampaignError for anything else."""
    text = fields.get(key, "")
    if text in (*_NONE, "UNLIMITED", "INFINITE"):
        return None
    if not re.fullmatch(r"\d{1,12}", text):
        raise CampaignError(f"Slurm says {key}={text}, which is no number: its output is not what is known of it")
    return int(text)


def _limit(fields: Mapping[str, str]) -> int | None:
    text = fields.get("MaxTime", "UNLIMITED")
    try:
        return seconds_of(text)
    except ValueError as error:
        raise CampaignError(f"Slurm says MaxTime={text}: {error}") from error


def ask() -> Description:
    """The cluster whose login node this is. Raises CampaignError where Slurm's commands are missing, or say nothing."""
    texts = {what: _asked("show", what, "--oneliner") for what in ("partition", "node")}
    config = _asked("show", "config")
    name = re.search(r"^ClusterName\s*=\s*(\S+)", config, re.MULTILINE)
    return Description(
        name[1] if name else "",
        has_accounting(config),
        tuple(partitions_of(texts["partition"])),
        tuple(nodes_of(texts["node"])),
    )


def _asked(*words: str) -> str:
    if shutil.which(COMMANDS[0]) is None:
        raise CampaignError(f"there is no Slurm here, no {COMMANDS[0]} on PATH: start this where sbatch submits jobs")
    answer = asking.ask(["scontrol", *words], env=environ.built(environ.SESSION), seconds=ASKING_SECONDS)
    if not answer.good:
        lines = [line.strip() for line in answer.text.splitlines() if line.strip()]
        said = lines[0].removeprefix("scontrol: ") if lines else ""
        why = answer.trouble or (f"says: {said}" if said else f"ends with {answer.exit_code}")
        raise CampaignError(f"Slurm does not answer here: scontrol {why}")
    return answer.stdout


def partition_named_in(access: Sequence[str]) -> str:
    """The partition that options of sbatch name: -p cpu, --partition=cpu; empty for the default one."""
    text = " ".join(access)
    match = re.search(r"(?:^|\s)(?:-p\s*|--partition(?:=|\s+))([^\s,]+)", text)
    return match[1] if match else ""
