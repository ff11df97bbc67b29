"""The nodes that this process may launch ranks on: those of the job of a batch system in which it runs, or those of a
cluster in a box. Each node is asked for its CPUs, and whether it sees this clone."""

import itertools
import json
import math
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mpi_campaign import ROOT, STATE
from mpi_campaign.children import asking, environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.launching import node_agent
from mpi_campaign.libraries.placement import Cpus, NodeShape, Numbers
from mpi_campaign.libraries.settings import Hosts, Job
from mpi_campaign.schedulers import registry
from mpi_campaign.schedulers.hosts import expand
from mpi_campaign.schedulers.scheduler import Scheduler
from mpi_campaign.systems import allocation

IN_HAND = "MPI_CAMPAIGN_IN_HAND"
"""The variable that hands the nodes over to children, which then ask no node again."""
ASKING_SECONDS = 60.0
ASKED_AT_ONCE = 32


@dataclass(frozen=True)
class InHand:
    """Nodes in hand.

    whose: words before their number, such as `slurm job 12 has`.  hosts: their names, for launchers.  names: what each
    of them calls itself.  cpus: for each of them, the CPUs of each core that ranks may use.  variables: what the agent
    needs.  one_machine: they are namespaces of this machine, with its CPUs.
    """

    whose: str
    hosts: tuple[str, ...]
    names: tuple[str, ...]
    cpus: tuple[Cpus, ...]
    variables: Mapping[str, str]
    one_machine: bool = False

    def shape(self, numbers: Numbers) -> NodeShape:
        """The shape of the nodes with these numbers. Of each, it has as many cores as the smallest one has. Nodes of
        one machine that have the same cores divide them, if there is a core for each."""
        cpus = [self.cpus[number - 1] for number in numbers]
        cores = min(map(len, cpus))
        distinct = tuple(dict.fromkeys(itertools.chain(*cpus)))
        each = [allowed[:cores] for allowed in cpus]
        if self.one_machine and len(distinct) < sum(map(len, cpus)):
            cores = len(distinct) // len(cpus)
            if not cores:
                return NodeShape(len(each[0]), each[0], shared=True)
            each = [distinct[cores * place : cores * (place + 1)] for place in range(len(cpus))]
        if len(set(each)) == 1:
            return NodeShape(cores, each[0])
        return NodeShape(cores, by_host=tuple(zip(self.names_of(numbers), each, strict=True)))

    def names_of(self, numbers: Numbers) -> tuple[str, ...]:
        """What the nodes with these numbers call themselves."""
        return tuple(self.names[number - 1] for number in numbers)

    def of(self, numbers: Numbers) -> Hosts:
        """The nodes with these numbers, for a launcher."""
        values = json.loads(self.variables.get(node_agent.JOB_VARIABLE, "null"))
        job = Job(values["scheduler"], values["id"], values["variables"]) if values else None
        return Hosts(tuple(self.hosts[number - 1] for number in numbers), str(node_agent.AGENT), self.variables, job)

    def as_text(self) -> str:
        """For `IN_HAND`. Nodes of one shape share its text."""
        shapes = list(dict.fromkeys(self.cpus))
        each = [shapes.index(cpus) for cpus in self.cpus]
        values = {name: getattr(self, name) for name in ("whose", "hosts", "names", "variables", "one_machine")}
        return json.dumps({**values, "shapes": shapes, "each": each})

    @classmethod
    def from_text(cls, text: str) -> "InHand":
        """The nodes from what `as_text` returned."""
        values = json.loads(text)
        shapes = [tuple(map(tuple, shape)) for shape in values["shapes"]]
        cpus = tuple(shapes[i] for i in values["each"])
        names = tuple(values["names"])
        return cls(values["whose"], tuple(values["hosts"]), names, cpus, values["variables"], values["one_machine"])


def is_box() -> bool:
    """Whether this process runs in a cluster in a box."""
    return node_agent.HEAD_VARIABLE in os.environ


def ends_with_box(path: Path) -> bool:
    """Whether a path is in the memory of the cluster in a box in which this process runs, and in no folder that its
    nodes share with the machine."""
    in_memory = (*node_agent.OWN_FOLDERS, node_agent.COMMON_FOLDER, node_agent.SHARED_MEMORY)
    existing = next(place for place in (path.resolve(), *path.resolve().parents) if place.exists())
    return existing.stat().st_dev in {place.stat().st_dev for place in in_memory if place.is_dir()}


def is_job() -> bool:
    """Whether this process runs in a job of a batch system."""
    return allocation.finding() is not None


@lru_cache(maxsize=2)
def look(*, box: bool = False) -> InHand:
    """The nodes in hand, which children of this process then know too.  box: those of the cluster in a box, even where
    a job is in hand.  Raises CampaignError where there are none, or where a node cannot be used."""
    if already := looked_at():
        return already
    whose, hosts, variables = _of_box() if box else _of_job()
    names, cpus = zip(*_looks(hosts, variables), strict=True)
    looked_at_now = InHand(whose, hosts, names, cpus, variables, one_machine=is_box())
    os.environ[IN_HAND] = looked_at_now.as_text()
    return looked_at_now


def looked_at() -> InHand | None:
    """The nodes that this process, or a process that started it, has looked at; None where there are none."""
    return InHand.from_text(os.environ[IN_HAND]) if IN_HAND in os.environ else None


def ask_each(
    hosts: Sequence[str],
    variables: Mapping[str, str],
    words: Sequence[str],
    seconds: float = ASKING_SECONDS,
    *,
    at_once: int = ASKED_AT_ONCE,
    begin_within: float = math.inf,
) -> list[asking.Answer]:
    """The answer of each host to a program that the agent starts there in this clone.

    variables: what the agent needs.  seconds: for the answer of a host.  begin_within: after so many seconds, the
    hosts that are left are not asked: their trouble says so.
    """
    env = environ.built(environ.LAUNCH, variables, {"PYTHONPATH": str(ROOT)})
    latest = time.monotonic() + begin_within

    def ask(host: str) -> asking.Answer:
        if time.monotonic() > latest:
            return asking.Answer(None, trouble="was not asked: there was no time left")
        return asking.ask([node_agent.AGENT, host, shlex.join(words)], env=env, seconds=seconds, cwd=ROOT)

    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(ask, hosts))


def _of_box() -> tuple[str, tuple[str, ...], dict[str, str]]:
    head = os.environ.get(node_agent.HEAD_VARIABLE)
    if head is None:
        raise CampaignError("there is no cluster in a box here: ./campaign cluster --nodes N -- COMMAND")
    names = (node_agent.NODES_VARIABLE, node_agent.PYTHON_VARIABLE)
    of_agent = node_agent.nodes_of(os.environ.get(node_agent.NODES_VARIABLE, ""))
    hosts = tuple(node.name for node in of_agent if node.name != head)
    return "the cluster in a box has", hosts, {name: os.environ[name] for name in names}


def _of_job() -> tuple[str, tuple[str, ...], dict[str, str]]:
    allocated = allocation.in_hand()
    if allocated is None:
        raise CampaignError(
            "no job of a batch system is in hand here: start the campaign in one, as by salloc --nodes=2, or use "
            "another --system (./campaign list)"
        )
    scheduler = registry.IN_HAND[allocated.scheduler]
    asked = _asked_for(scheduler) if scheduler.ask_hosts else ()
    hosts = asked or tuple(host.name for host in allocated.hosts)
    if not hosts:
        raise CampaignError(f"{allocated}: ranks cannot be started on hosts that are not known")
    job = {
        "scheduler": allocated.scheduler,
        "start": scheduler.start,
        "takes_words": scheduler.takes_words,
        "programs": _with_variables(scheduler.programs),
        "id": allocated.job,
        "hosts": asked,
        "variables": {
            name: value for name, value in os.environ.items() if environ.is_among(name, scheduler.start_needs)
        },
    }
    variables = {node_agent.JOB_VARIABLE: json.dumps(job), node_agent.PYTHON_VARIABLE: sys.executable}
    return f"{allocated.scheduler} job {allocated.job} has", hosts, variables


def _with_variables(text: str) -> str:
    """The text with the values of variables in its places; empty where one of them is not set."""
    try:
        return text.format_map(os.environ)
    except KeyError:
        return ""


def _asked_for(scheduler: Scheduler) -> tuple[str, ...]:
    """The hosts that the scheduler's own command prints. Raises CampaignError where it prints none."""
    command = shlex.join(scheduler.ask_hosts)
    answer = asking.ask(scheduler.ask_hosts, env=environ.built(environ.JOB), seconds=ASKING_SECONDS)
    if not answer.good:
        raise CampaignError(
            f"{command}: {answer.why}; the hosts of a {scheduler.title} instance are known to {scheduler.title} only"
        )
    return tuple(expand(answer.stdout.strip(), command))


def start_on_each(words: Sequence[str]) -> str:
    """Start a program on each host of the job in hand. Returns what they print. Raises CampaignError where the hosts
    are not known."""
    _, hosts, variables = _of_job()
    return "".join(answer.text for answer in ask_each(hosts, variables, words))


def _looks(hosts: Sequence[str], variables: Mapping[str, str]) -> list[tuple[str, Cpus]]:
    """What each host calls itself, and the CPUs of each of its cores. Raises CampaignError for the first host that
    cannot be used."""
    STATE.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=STATE, prefix="seen-by-nodes-") as file:
        file.write(Path(file.name).name)
        file.flush()
        answers = ask_each(hosts, variables, [sys.executable, "-m", "mpi_campaign.launching.node_look", file.name])
        return [_seen(host, answer, Path(file.name)) for host, answer in zip(hosts, answers, strict=True)]


def _seen(host: str, answer: asking.Answer, file: Path) -> tuple[str, Cpus]:
    """What a host calls itself, and the CPUs of each of its cores, from what it answered. Raises CampaignError."""
    try:
        values = json.loads(answer.stdout.strip().splitlines()[-1])
        if values["content"] == file.name:
            return str(values["host"]), tuple(map(tuple, values["cpus"]))
        why = f"it has another file system than this host: {ROOT} must be the same folder on all nodes"
    except (IndexError, ValueError, KeyError, TypeError):
        why = f"{answer.why}; each node must see {ROOT}, and the batch system must start commands there"
    raise CampaignError(f"{host} cannot be used: {why}")
