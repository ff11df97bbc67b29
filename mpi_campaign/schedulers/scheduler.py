"""The fields of a batch system's entry in the registry. Most entries leave most fields at their defaults."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mpi_campaign.schedulers.hosts import Allocation, Read, Variables


@dataclass(frozen=True)
class Scheduler:
    """One batch system.

    title: for people.
    tested: what of it really ran in this project's tests; empty where nothing did.

    In a job of it:
    name: in the words for an allocation, as in `slurm job 12`; empty where a campaign in its jobs finds no nodes.
    signs: variables of which one is set in every job.
    allocation: returns the allocation that the variables of a job describe.
    ask_hosts: a command that prints the hosts of the allocation, where no variable has them.
    start: a command that starts a process on a host of the job, with places for {host}, {job} and {number}, that of the
    host among those that `ask_hosts` has printed, from 0. The words of the process are added to it.
    takes_words: that command executes these words as a program. Others give them to a shell on the host, as ssh does.
    start_needs: variables of the job that this command needs; `PREFIX*` means all names with that beginning.
    programs: the folder of that command where it is not on the PATH of a job, with places for variables of the job.
    launchers: ReFrame's names of launchers that start ranks in its jobs only.

    Where jobs are submitted to it:
    reframe: {ReFrame's name of it: how ReFrame learns that a job has ended, where that is the difference of two names}.
    submit: the command by which ReFrame submits jobs.
    directive: what a line of a job script with options begins with, after #.
    template: of a system's settings, in `mpi_campaign/systems/templates/`.
    is_described: `systems.slurm_description` knows its partitions and nodes.
    account: an option with a place for the value.
    cancel: a command that job ids are added to.
    states: a command that job ids, joined by commas, are added to. It prints ID|STATE|REASON of each of these jobs,
    also of one that has ended. () where there is none.
    unknown_job: what that command says on standard error of the id of a job that ended long ago.
    final: {state of a job that has ended: words that follow the job's name if the batch system itself ended it}.
    down: a command that names of hosts, joined by commas, are added to. It prints those that are lost. () where there
    is none.
    job_id: the variable with a job's id in the job.
    on_each_node: a command in a job, with a place for the number of nodes, that a program is added to. It starts one
    process on each node. () where there is none: each host of the job is then asked in turn.
    hosts: shell words that write the hosts of a job, in the job.
    access: what `access` of a partition may look like.
    whole_nodes: options for nodes that nobody else uses, beside what ReFrame writes. Like those of `access`, they may
    have places: {nodes}, and {cpus} of all nodes together.
    gives_whole_nodes: a job has all CPUs of its nodes without asking for them.
    own_options: options that the campaign and ReFrame write themselves, or that make several jobs of one. A person's
    own would contradict them.
    shortens_options: its commands take the beginning of a long option, and a value right behind a short one.
    leaves_access_out: ReFrame does not write the options of `access` into job scripts, so that the campaign does.
    counts_cores: ReFrame asks for nodes by their number of cores.

    Variables; `PREFIX*` means all names with that beginning:
    of_jobs: those that describe a job, in the job.
    of_clients: those by which its commands find their servers.
    defaults_of_jobs: options of jobs and launches that a person has set; defaults_of_commands: those of other commands.
    naming: {variable: kind of name that its value is}, which public copies replace, there and in all texts: `host`,
    `user` or `account`.  telling: likewise, of values that are replaced there only, as other texts have the same words.
    """

    title: str
    tested: str = ""

    name: str = ""
    signs: tuple[str, ...] = ()
    allocation: Callable[[Variables, Read], Allocation] | None = None
    ask_hosts: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    takes_words: bool = False
    start_needs: tuple[str, ...] = ()
    programs: str = ""
    launchers: tuple[str, ...] = ()

    reframe: Mapping[str, str] = field(default_factory=dict)
    submit: str = ""
    directive: str = ""
    template: str = "batch_settings.py.j2"
    is_described: bool = False
    account: str = ""
    cancel: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    unknown_job: str = ""
    final: Mapping[str, str] = field(default_factory=dict)
    down: tuple[str, ...] = ()
    job_id: str = ""
    on_each_node: tuple[str, ...] = ()
    hosts: str = ""
    access: tuple[str, ...] = ()
    whole_nodes: tuple[str, ...] = ()
    gives_whole_nodes: bool = False
    own_options: tuple[str, ...] = ()
    shortens_options: bool = False
    leaves_access_out: bool = False
    counts_cores: bool = False

    of_jobs: tuple[str, ...] = ()
    of_clients: tuple[str, ...] = ()
    defaults_of_jobs: tuple[str, ...] = ()
    defaults_of_commands: tuple[str, ...] = ()
    naming: Mapping[str, str] = field(default_factory=dict)
    telling: Mapping[str, str] = field(default_factory=dict)

    def is_own(self, option: str) -> bool:
        """Whether an option, with its value, is one of `own_options`."""
        name = re.split(r"[=\s]", option)[0]
        if not self.shortens_options:
            return name in self.own_options
        if name.startswith("--"):
            return any(own.startswith(name) for own in self.own_options)
        return name[:2] in self.own_options

    def in_words(self, name: str) -> str:
        """What it is, and whether it was tested. name: ReFrame's."""
        watched = self.reframe.get(name)
        what = f"{self.title}, {watched}" if watched else self.title
        what += "" if self.reframe else ": no jobs are submitted; a run in an allocation finds its nodes"
        return f"{what}: {self.tested or 'not tested, no job of it ever ran here'}"


def filled(option: str, nodes: int, cpus: int) -> str:
    """An option with its places filled. cpus: of all nodes together."""
    return option.replace("{nodes}", str(nodes)).replace("{cpus}", str(cpus))


def hosts_in(variable: str) -> str:
    """Shell words that write the hosts in the file that a variable names; for `Scheduler.hosts`."""
    return f'$(cut -d " " -f 1 "${{{variable}:-/dev/null}}" | sort -u | paste -s -d ,)'
