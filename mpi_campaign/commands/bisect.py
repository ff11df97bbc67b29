"""The command `bisect`."""

import sys
from pathlib import Path
from typing import Any

import click

from mpi_campaign.commands.options import (
    build_options,
    json_option,
    limits_options,
    metrics_option,
    output_option,
    say,
)
from mpi_campaign.commands.run import ByBenchmark, options_asked, options_of_cases
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD
from postprocess.statistics.limits import Limits


@click.command("bisect", cls=ByBenchmark)
@click.argument("words", nargs=-1, required=True, metavar="GOOD [...] BAD")
@build_options
@click.option(
    "--minutes", type=click.FloatRange(min=0.5), default=3.0, show_default=True, help="The most time of each step."
)
@click.option("--faster", is_flag=True, help="Search for the first one that is faster than GOOD, as BAD is.")
@options_of_cases
@metrics_option
@limits_options(Limits())
@json_option(help="One object, for programs.")
@output_option
def command(
    words: tuple[str, ...],
    output: Path,
    build: str,
    repository: Path,
    library: str,
    minutes: float,
    metrics: tuple[str, ...],
    *,
    as_json: bool,
    faster: bool,
    **asked: Any,
) -> int:
    """Which release or revision after GOOD made it slower, as BAD is?

    GOOD and BAD are two releases, as of `run`, or, with --build, two revisions of a repository. Of other toolchains
    name all, in order. The case in which BAD is most clearly slower than GOOD is searched for; options narrow it.
    What cannot be had is stepped around. The same command goes on with a search that was interrupted.
    Exit code 1: one made it slower.
    """
    from mpi_campaign.running import judged  # noqa: PLC0415
    from mpi_campaign.running.bisecting import Bisection  # noqa: PLC0415
    from mpi_campaign.toolchains import series  # noqa: PLC0415
    from mpi_campaign.verdicts import comparing  # noqa: PLC0415
    from postprocess.verdicts import blame  # noqa: PLC0415
    from postprocess.verdicts.compare import FASTER, SLOWER  # noqa: PLC0415

    counts = comparing.limits(**{name: asked.pop(name) for name in ("least_ratio", "least_difference", "rate")})
    chosen = tuple(comparing.metrics(metrics))
    if build:
        libraries = series.Builder(repository.resolve(), library, build, say).series(words, between=True)
    else:
        libraries = series.of_toolchains(words, asked["provider"], say)
    fetched = () if build else libraries.names  # before this process becomes a cluster in a box
    options = options_asked(
        output.resolve(), budget_seconds=60 * minutes, suite=judged.SUITE, toolchains=fetched, **asked
    )
    command_line = ["./campaign", *sys.argv[1:]]
    sought = FASTER if faster else SLOWER
    found = Bisection(libraries, options, output.resolve(), command_line, chosen, counts, say, sought).search()
    print(blame.as_json(found) if as_json else "\n".join(blame.lines(found)))
    return EXIT_FAILED if found.is_found and not faster else EXIT_GOOD
