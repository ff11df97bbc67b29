"""What the first lines of all our own programs' records have in common in the schemas before version 4."""

from __future__ import annotations

from dataclasses import replace

from postprocess.records.fields import Fields
from postprocess.records.header import Header
from postprocess.records.parts import check_placements, header_of, placement_of, timer_of


def header_of_own_program(line: Fields, family: str, *, helpers: bool = True) -> Header:
    """A header, of method 1, with what all these schemas have.

    helpers: whether the schema knows helper threads and dedicated cores. Raises RecordError.
    """
    header = replace(
        header_of(line, family, method=1),
        command_line=line.texts("command_line"),
        mpi_library_version=line.text("mpi_library_version"),
        thread_level_required=line.text("thread_level_required"),
        thread_level_provided=line.text("thread_level_provided"),
        nodes=line.count("nodes"),
        threads_per_rank=line.positive("threads_per_rank"),
        physical_cores=line.count("physical_cores"),
        oversubscribed=line.flag("oversubscribed"),
        shared_core=line.flag("shared_core"),
        placement=tuple(placement_of(rank, helpers=helpers) for rank in line.each("placement")),
        timer=timer_of(line.inside("timer")),
        build=line.mapping("build"),
    )
    check_placements(header)
    return header
