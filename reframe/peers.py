"""Other benchmarks beside ours: one test per program, configuration and collective.

    imb_nbc %configuration=async %basic.collective=ibcast

They measure the message sizes that `basic` of nbc_overlap found, with the same toolchain, ranks, binding and network.
What they print is read by `postprocess.families.peers.output`, strictly, and kept as a record of its own beside the
log.
"""

import shlex
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import reframe as rfm
from case_axes import basics_variants, own_parameters
from measured import MeasuredTest
from nbc_overlap_basic import nbc_overlap_basic
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import SanityError

from mpi_campaign.archive import run_folders
from mpi_campaign.children import environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries import launch_environment
from mpi_campaign.networks import registry as networks
from mpi_campaign.toolchains import peers
from mpi_campaign.toolchains.spack.build import Build


class PeerTest(MeasuredTest):
    """One peer, one configuration, one collective. A subclass says which peer: the name of its entry in PEERS."""

    basic = fixture(
        nbc_overlap_basic,
        scope="environment",
        variants={**basics_variants("nbc_overlap", peers.PEERS), "collective": peers.COLLECTIVES.__contains__},
    )

    #: Folders, separated by colons, in which programs are looked for first.
    peer_prefix = variable(str, value="")

    @run_after("setup")
    def find_program(self) -> None:
        extras = self.current_environ.extras
        program_or_reason = peers.find(
            self.benchmark,
            self.basic.collective,
            extras["family"],
            Path(extras["prefix"]),
            list(filter(None, self.peer_prefix.split(":"))),
            Build.from_json(extras["spack"]) if extras["spack"] else None,
        )
        if isinstance(program_or_reason, str):
            self.skip(program_or_reason)
        else:
            self.program = program_or_reason

    @run_before("run")
    def prepare(self) -> None:
        from postprocess.families.peers.output import LAUNCH_END  # noqa: PLC0415

        self.launches = self.planned_launches()
        super().prepare()
        if self.finished_record() is not None:
            return
        peers.write_lengths(Path(self.stagedir), self.launches)
        self.launcher = self.launcher_words()
        ended = 'code=$?; [ "$code" = 0 ] || died=$code; '
        for number, launch in enumerate(self.launches):
            if number:
                words = map(shlex.quote, (str(self.program.path), *launch.arguments))
                self.postrun_cmds.append(" ".join([self.launcher, *words]))
            end_line = LAUNCH_END.format(message_bytes=launch.message_bytes, exit_code="$code")
            self.postrun_cmds.append(f'{ended}printf "\\n{end_line}\\n"')
            if networks.of(self.network).launcher:
                self.postrun_cmds.append(f"mv {run_folders.WIRE_REPORT} {number}.{run_folders.WIRE_REPORT}")
        self.postrun_cmds.append("exit ${died:-0}")

    def planned_launches(self) -> list[peers.Launch]:
        """A launch for each size that `basic` found."""
        self.started_utc = run_folders.now_utc()
        if self.is_dry_run():  # there is no basic yet: any size
            work = peers.Work(self.basic.collective, self.ranks, 2**20, 10**7, 1.0)
            return [peers.PEERS[self.benchmark].launch(work)]
        sizes = self.basic.staged(run_folders.SIZES)
        try:
            return peers.launches(self.benchmark, self.basic.collective, self.ranks, sizes, self.case_seconds)
        except CampaignError as error:
            self.skip(str(error))
            raise

    def launch_variables(self, purpose: str, inside: environ.Requested) -> dict[str, str]:
        """The variables of our own programs, with the toolchain's libraries first: the program was built elsewhere."""
        first = {"LD_LIBRARY_PATH": self.linker_path()}
        return {**first, **super().launch_variables(purpose, inside)}

    def linker_path(self) -> str:
        return launch_environment.own_libraries(Path(self.current_environ.extras["prefix"]), self.launch)

    def words(self) -> list[str]:
        return [str(self.program.path), *self.launches[0].arguments]

    @sanity_function
    def verify_record(self) -> bool:
        from mpi_campaign.running.peers import faults_of_peer, faults_of_unread_peer  # noqa: PLC0415
        from postprocess.families.peers.record import load_peer_record  # noqa: PLC0415
        from postprocess.records.fields import RecordError  # noqa: PLC0415

        try:
            if self.finished_record() is None:
                self.write_record()
            record = load_peer_record(self.staged(run_folders.RECORD))
        except (RecordError, CampaignError) as error:
            unread = faults_of_unread_peer(self.benchmark, error, self.job.exitcode)
            raise SanityError("; ".join(unread)) from None
        faults = faults_of_peer(
            record, self.case, self.basic.staged(run_folders.RECORD), self.staged(run_folders.WIRE_REPORT)
        )
        if faults:
            raise SanityError("; ".join(faults))
        return True

    def write_record(self) -> None:
        """Write a record from the program's output. Raises RecordError or CampaignError where that is impossible."""
        from postprocess.families.peers.output import read_output  # noqa: PLC0415
        from postprocess.families.peers.record import PeerHeader, write_peer_record  # noqa: PLC0415

        case, launches, stage = self.case, self.launches, Path(self.stagedir)
        text = self.staged(run_folders.STDOUT).read_text(errors="replace")
        output = read_output(self.benchmark, text, self.basic.collective, [launch.message_bytes for launch in launches])
        repetitions = {launch.message_bytes: launch.repetitions for launch in launches}
        results = [
            result
            if result.reason
            else replace(result, repetitions=repetitions[result.message_bytes] or result.repetitions)
            for result in output.results
        ]
        if networks.of(self.network).launcher:
            parts = [stage / f"{number}.{run_folders.WIRE_REPORT}" for number in range(len(launches))]
            peers.add_wire_reports(parts, stage / run_folders.WIRE_REPORT)
        header = PeerHeader(
            benchmark=case.benchmark,
            toolchain=case.toolchain,
            provider=case.provider,
            configuration=case.configuration,
            network=case.network,
            cache=str(case.parameters["cache"]),
            collective=self.basic.collective,
            repeat=case.repeat,
            ranks=self.ranks,
            started_utc=self.started_utc,
            program={**self.program.facts(), "version": output.version},
            mpi_library=str(self.program.mpi_library),
            mpi_standard=output.mpi_standard,
            ranks_reported=output.ranks,
            command_lines=tuple(
                (*shlex.split(self.launcher), str(self.program.path), *launch.arguments) for launch in launches
            ),
            environment={**self.launch.env, "LD_LIBRARY_PATH": self.linker_path()},
            metadata=self.metadata(),
        )
        began = datetime.fromisoformat(self.started_utc.replace("Z", "+00:00"))
        wall_seconds = (datetime.now(timezone.utc) - began).total_seconds()
        write_peer_record(self.staged(run_folders.RECORD), header, results, wall_seconds)


ImbParameters: Any = own_parameters("imb_nbc")
OsuParameters: Any = own_parameters("osu")


@rfm.simple_test
class imb_nbc(PeerTest, ImbParameters):
    descr = "what IMB-NBC says of overlap"
    benchmark = "imb_nbc"


@rfm.simple_test
class osu(PeerTest, OsuParameters):
    descr = "what the OSU Micro-Benchmarks say of overlap"
    benchmark = "osu"
