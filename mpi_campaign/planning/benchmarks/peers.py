"""Other benchmarks beside ours. They take the sizes that `basic` of nbc_overlap found."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning.benchmarks import choices
from mpi_campaign.planning.benchmarks.benchmark import Benchmark, Question
from mpi_campaign.planning.benchmarks.nbc_overlap import TIMES
from mpi_campaign.toolchains import peers
from postprocess.families import axes


def _lacks_program(name: str, question: Question) -> Impossible | None:
    """Why a benchmark cannot run; None where it can, or where that is not known before the build."""
    toolchain, parameters = question.toolchain, question.parameters
    if not axes.CACHE.is_usual(parameters[axes.CACHE.name]):
        return Impossible(f"{peers.PEERS[name].title}: caches are warm there")
    if not question.built and peers.is_to_be_built(name, toolchain.spack):
        return None
    collective, prefix = str(parameters[axes.COLLECTIVE.name]), Path(toolchain.prefix)
    program_or_reason = peers.find(name, collective, toolchain.family, prefix, question.peer_prefixes, toolchain.spack)
    return Impossible(program_or_reason) if isinstance(program_or_reason, str) else None


PEERS: Mapping[str, Benchmark] = {
    name: Benchmark(
        peer.title,
        test=name,
        tests_file="peers",
        programs=(),
        choices=choices.of_family("peers"),
        point_choices=TIMES,  # of `basic` of nbc_overlap
        configurations=("basic", "async"),
        basic_of="nbc_overlap",
        share=0.25,
        most_seconds={"nightly": 18},
        own_launches=1,  # nothing compares launches of it
        impossible=partial(_lacks_program, name),
    )
    for name, peer in peers.PEERS.items()
}
