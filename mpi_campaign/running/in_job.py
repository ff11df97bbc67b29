"""What a job of a batch system carries out: it looks at its nodes, then it runs the sessions of its description.

    python -m mpi_campaign.running.in_job FOLDER/job.json

A job ends when its sessions have ended, or when the campaign that has submitted it is gone (its lease). Everything that
was measured until then is archived: the next `run --resume` takes it over.
"""

import json
import os
import platform
import shutil
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mpi_campaign import ROOT, files
from mpi_campaign.archive import run_folders
from mpi_campaign.children import asking, environ
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, EXIT_INTERRUPTED, EXIT_WRONG_USE, CampaignError
from mpi_campaign.processes import signals
from mpi_campaign.running import job, node_probe, sessions
from mpi_campaign.running.job import Description
from mpi_campaign.running.reframe_session import Event
from mpi_campaign.systems import nodes_in_hand
from mpi_campaign.systems.nodes_in_hand import InHand
from mpi_campaign.this_machine import machine
from postprocess.drawing.text import plural

PROBE_SECONDS = 120.0


class LeaseGone(Exception):
    """The campaign that has submitted the job is gone."""


class Lease:
    """Says whether the campaign of a job still runs. Clocks of two hosts are never compared. Another campaign that
    resumes the run has jobs of its own: this one must not measure beside them."""

    def __init__(self, path: Path, seconds: float) -> None:
        self.path = path
        self.seconds = seconds
        self.owner = ""
        self.last = files.read(path)
        self.since = self.looked = time.monotonic()

    def check(self) -> None:
        """Raises LeaseGone where the file has not changed for too long, or where another campaign writes it."""
        now = time.monotonic()
        if not self.seconds or now - self.looked < min(job.BEAT_SECONDS, self.seconds / 4):
            return
        self.looked = now
        if (text := files.read(self.path)) != self.last:
            owner = text.partition(" ")[0]
            if self.owner and owner not in ("", self.owner):
                raise LeaseGone
            self.last, self.since = text, now
        elif now - self.since > self.seconds:
            raise LeaseGone

    def wait(self) -> None:
        """Wait for the first sign of the campaign: a job may start long after it was submitted. Raises LeaseGone."""
        before = self.last
        while self.seconds and self.last == before:
            time.sleep(min(1.0, self.seconds / 4))
            self.check()
        self.owner = self.last.partition(" ")[0]


class Teller:
    """Writes what happens for the campaign that follows the job."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("a", encoding="utf-8")

    def tell(self, **what: Any) -> None:
        self.file.write(json.dumps(what) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())  # so that NFS shows it to the other host

    def event(self, session: int, event: Event) -> None:
        self.tell(session=session, event=asdict(event))

    def say(self, text: str) -> None:
        self.tell(say=text)


def carry_out(description: Description) -> int:
    """Carry out a job. Returns the exit code. Raises LeaseGone, KeyboardInterrupt, and CampaignError where the job's
    nodes cannot be used."""
    folder = description.folder
    teller = Teller(folder / job.EVENTS)
    teller.tell(began=_forget_earlier_run(description), host=platform.node())
    _look_at_nodes(description)
    if not description.orders:
        return EXIT_GOOD
    check_cores(nodes_in_hand.look(), description.cores_per_node)  # the sessions then know the nodes too
    lease = Lease(description.run.jobs / job.LEASE, description.lease_seconds)
    lease.wait()

    def on_event(session: int, event: Event) -> None:
        teller.event(session, event)
        lease.check()

    code, began = EXIT_GOOD, time.monotonic()
    rounds = sessions.carry_out(description.orders, folder, teller.say, on_event, lease.check)
    for number, (order, done) in enumerate(zip(description.orders, rounds, strict=False), 1):
        run_folders.harvest(description.run)  # the next session takes over sizes from the archive
        sessions.append_output(folder / job.SESSION_LOG, done.session.output)
        for name in run_folders.SESSION_FILES:
            if (folder / name).exists():
                shutil.copyfile(folder / name, folder / f"{number}.{name}")
        teller.tell(
            ended=number - 1,
            began_utc=done.began_utc,
            ended_utc=done.ended_utc,
            exit_code=done.session.exit_code,
            complaint=done.session.complaint if done.broken else "",
            host=machine.host_facts(),
        )
        if done.session.interrupted:
            raise KeyboardInterrupt
        code = EXIT_FAILED if done.broken else code
        if order.launches and number < len(description.orders) and not done.broken:
            from mpi_campaign.verdicts import judging  # noqa: PLC0415 - pandas takes a second to load

            seconds = time.monotonic() - began
            if why := judging.why_enough(description.run, order.launches, seconds, description.budget_seconds):
                teller.tell(enough=order.launches, why=why)
                break
    return code


def _forget_earlier_run(description: Description) -> bool:
    """Remove what the job measured before its batch system started it again. Returns whether it had run before. A
    record that is older than the job is one of the run that the campaign resumed."""
    stage, described = description.folder / "stage", (description.folder / job.DESCRIPTION).stat().st_mtime
    for place, case in list(run_folders.staged_cases(description.run)):
        for suffix in run_folders.RECORD_FILES.values():
            record = description.run.partial / "records" / f"{case.stem}{suffix}"
            if stage in place.parents and record.exists() and record.stat().st_mtime > described:
                record.unlink(missing_ok=True)
    for left in (stage, description.folder / node_probe.NODES):
        shutil.rmtree(left, ignore_errors=True)
    return bool((description.folder / job.EVENTS).stat().st_size)


def check_cores(in_hand: InHand, needed: int) -> None:
    """Raises CampaignError where a node of the job has fewer cores than the ranks on it need, and names these nodes."""
    cores_by_name = {name: len(cpus) for name, cpus in zip(in_hand.names, in_hand.cpus, strict=True)}
    few = [f"{name} gives it {cores}" for name, cores in cores_by_name.items() if cores < needed]
    if few:
        raise CampaignError(
            f"the job needs {plural(needed, 'core')} on each node: {', '.join(few)}; correct the partition's processor "
            "in the settings, or ask for less with --threads-per-rank"
        )


def _look_at_nodes(description: Description) -> None:
    """Let each node write its facts. What a node says instead goes to standard error: the job's log."""
    probe = [sys.executable, "-m", "mpi_campaign.running.node_probe", str(description.folder)]
    words = job.on_each_node(description.script, probe)
    if words != probe and shutil.which(words[0]):
        # The batch system's own command needs the variables of the job.
        answer = asking.ask(words, env={**os.environ, "PYTHONPATH": str(ROOT)}, seconds=PROBE_SECONDS, cwd=ROOT)
        sys.stderr.write(answer.text)
        if answer.trouble:
            print(f"{words[0]} {answer.trouble}", file=sys.stderr)
    else:
        try:
            sys.stderr.write(nodes_in_hand.start_on_each(probe))
        except CampaignError as error:
            print(error, file=sys.stderr)
    if not node_probe.read(description.folder):
        node_probe.main([str(description.folder)])  # this node at least


def main(arguments: list[str]) -> int:
    try:
        description = Description.read(Path(arguments[0]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"campaign: {arguments[0]} cannot be read: {error}", file=sys.stderr)
        return EXIT_WRONG_USE
    environ.let((), {})  # the sessions' own words have what was let in
    for number in signals.ENDING:  # bash ignores SIGINT and SIGQUIT in what it starts in the background
        signal.signal(number, signal.default_int_handler)
    try:
        return carry_out(description)
    except KeyboardInterrupt:
        print("campaign: interrupted by a signal, as before a time limit", file=sys.stderr)
        return EXIT_INTERRUPTED
    except CampaignError as error:
        print(f"campaign: {error}", file=sys.stderr)
        return error.exit_code
    except LeaseGone:
        run_folders.harvest(description.run)
        print("campaign: the campaign that has submitted this job is gone: the job ends", file=sys.stderr)
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
