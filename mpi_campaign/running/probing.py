"""Probe jobs: short jobs that find out what the nodes of a system are, beside what was asked for. `systems check` and
`doctor --system` submit one."""

import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.children import environ
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, EXIT_INTERRUPTED, CampaignError
from mpi_campaign.planning import suites
from mpi_campaign.planning.checks import check_clone
from mpi_campaign.planning.options import Options
from mpi_campaign.planning.placing import partition_of
from mpi_campaign.running import batch, node_probe
from mpi_campaign.running.batch import Ended, Request
from mpi_campaign.systems import known_systems
from mpi_campaign.this_machine.findings import GOOD, LACKING, NOTE, Finding
from postprocess.drawing.text import first_of, plural

USUAL_NODES = 2
LIMIT_SECONDS = 300


@dataclass(frozen=True)
class Probe:
    """A probe job that has ended, and what was asked for."""

    request: Request
    nodes_asked: int
    end: Ended
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return EXIT_INTERRUPTED
        return EXIT_FAILED if any(finding.state == LACKING for finding in self.findings()) else EXIT_GOOD

    def findings(self) -> list[Finding]:
        """Asked and got."""
        return [*self._job(), *self._in_service(), *self._shared(), *self._cores(), *self._same()]

    def _job(self) -> Iterator[Finding]:
        end, log = self.end, self.end.log
        if end.reason:
            yield Finding("job", LACKING, end.reason, f"its output: {end.stage}" if end.stage else "")
        else:
            yield Finding("job", GOOD, f"{end.job_id} started on {log.host} at {log.started_utc}")

    def _in_service(self) -> Iterator[Finding]:
        """Fewer nodes than the settings say."""
        declared, now = self.request.partition.declared_nodes, self.request.most_nodes
        if declared is None or now is None or now >= declared:
            return
        why = first_of(self.request.out_of_service, batch.MOST_NAMED)
        yield Finding(
            "nodes",
            LACKING if now < USUAL_NODES else NOTE,
            f"a job can have {now} of the {plural(declared, 'node')} of the settings" + (f": {why}" if why else ""),
            "wait until they are back, or correct most_nodes of the partition",
        )

    def _shared(self) -> Iterator[Finding]:
        got = [seen.name for seen in self.end.nodes]
        if self.end.log.started_utc is None:
            return
        if len(got) == self.nodes_asked:
            yield Finding("nodes", GOOD, f"{plural(self.nodes_asked, 'node')} asked for, got {', '.join(got)}")
            yield Finding("file system", GOOD, f"this machine and all of them share {self.end.description.folder}")
            return
        yield Finding(
            "nodes",
            LACKING,
            f"{plural(self.nodes_asked, 'node')} asked for, {plural(len(got), 'node')} wrote a file: {', '.join(got)}",
            f"the others do not share {self.end.description.folder}, or no program of this clone's .venv starts there",
        )

    def _cores(self) -> Iterator[Finding]:
        declared = self.request.partition.declared
        if declared is None:
            yield Finding(
                "cores", NOTE, "the settings do not say how many a node has", "give the partition a processor"
            )
            return
        wrong = [seen for seen in self.end.nodes if seen.host["cores"] != declared.cores]
        for seen in wrong:
            yield Finding(
                "cores",
                LACKING,
                f"the settings say {declared.cores}, {seen.name} gives a job {seen.host['cores']}",
                "correct the partition's processor, or ask for whole nodes",
            )
        if self.end.nodes and not wrong:
            yield Finding("cores", GOOD, f"{plural(declared.cores, 'core')} on each node, as the settings say")

    def _same(self) -> Iterator[Finding]:
        for line in node_probe.differences(self.end.nodes):
            yield Finding("nodes differ", NOTE, line, "what is measured on them is not of one machine")

    def of_nodes(self) -> list[Finding]:
        """A line for each node."""
        return [Finding(seen.name, GOOD, seen.in_words()) for seen in self.end.nodes]

    def disturbances(self) -> list[Finding]:
        """What disturbs measurements on each node."""
        return [
            Finding(f"{seen.name} {finding['subject']}", finding["state"], finding["seen"], finding["advice"])
            for seen in self.end.nodes
            for finding in seen.findings
            if finding["state"] != GOOD
        ]

    def as_json(self) -> dict[str, Any]:
        return {
            "partition": self.request.partition.name,
            "nodes_asked": self.nodes_asked,
            "findings": [vars(finding) for finding in self.findings()],
            "job": self.end.as_json(),
        }


def probe(options: Options, nodes: int, say: Callable[[str], None], status: Callable[[str], None]) -> Probe:
    """Submit a probe job for so many nodes (0: USUAL_NODES, or one where there is one), and wait until it has ended.
    Raises CampaignError where there is no batch system, or where it takes no job."""
    check_clone()
    partition = partition_of(options, options.network)
    if partition.here:
        raise CampaignError(
            f"partition '{partition.name}' of system '{options.system}' has no batch system: its node is this machine, "
            "see ./campaign doctor"
        )
    request = batch.check(batch.request_of(options, partition), nodes or 1)
    nodes = nodes or min(USUAL_NODES, request.most_nodes or partition.declared_nodes or USUAL_NODES)
    environ.let(options.environment, partition.requested())
    folder = RunFolder(known_systems.SYSTEMS, options.system, f"probe-{secrets.token_hex(4)}")
    job = batch.Job(1, nodes, (), 0.0)
    if request.limit_seconds is None:
        request = replace(request, limit_seconds=min(LIMIT_SECONDS, request.longest_seconds or LIMIT_SECONDS))
    description = batch.describe(folder, request, job, ())
    batch.write([description])
    follower = batch.Follower(folder, request.scheduler, [description], say, status)
    words = batch.command(folder, options.system, request, next(iter(suites.SUITES)))
    session = batch.submit(words, follower)
    (end,) = batch.ended(follower, session)
    if not end.job_id:
        shutil.rmtree(folder.session, ignore_errors=True)
        if session.interrupted:
            raise KeyboardInterrupt
        raise batch.refusal(request.scheduler, end)
    done = Probe(request, nodes, end, session.interrupted)
    if done.exit_code == EXIT_GOOD:
        shutil.rmtree(folder.session, ignore_errors=True)
    return done
