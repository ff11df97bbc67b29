"""The command `judge`."""

import sys
from pathlib import Path
from typing import Any

import click

from mpi_campaign.commands.options import (
    build_options,
    forms_of,
    html_option,
    json_option,
    junit_option,
    limits_options,
    metrics_option,
    output_option,
    say,
)
from mpi_campaign.commands.run import ByBenchmark, options_asked, options_of_cases
from postprocess.statistics.limits import Limits


@click.command("judge", cls=ByBenchmark)
@click.argument("sides", nargs=2, metavar="A B")
@click.option(
    "--minutes", type=click.FloatRange(min=1), default=10.0, show_default=True, help="The most time that it takes."
)
@build_options
@options_of_cases
@metrics_option
@limits_options(Limits())
@json_option(help="One object, for programs.")
@click.option("--markdown", "as_markdown", is_flag=True, help="For a pull request.")
@junit_option
@html_option(help="Write a page to look at too.")
@output_option
def command(
    sides: tuple[str, str],
    output: Path,
    junit: Path | None,
    html: Path | None,
    build: str,
    repository: Path,
    library: str,
    minutes: float,
    metrics: tuple[str, ...],
    *,
    as_json: bool,
    as_markdown: bool,
    **asked: Any,
) -> int:
    """Is B slower than A? Both are measured in turn, and no longer than it takes to know.

    A and B are toolchains, as of `run`: versions (openmpi@5.0.10) or installed ones (openmpi@main=PREFIX); with
    --build they are revisions of a repository.
    It is asked after 3, 5, 8 and 12 launches of each case; these looks share --rate.
    Exit code 1: something is slower.
    """
    from mpi_campaign.running import judged  # noqa: PLC0415
    from mpi_campaign.toolchains import series  # noqa: PLC0415
    from mpi_campaign.verdicts import comparing, judging  # noqa: PLC0415

    form, files = forms_of(junit, html, as_json=as_json, as_markdown=as_markdown)
    comparing.check_apart(files)
    counts = comparing.limits(**{name: asked.pop(name) for name in ("least_ratio", "least_difference", "rate")})
    if build:
        two = series.Builder(repository.resolve(), library, build, say).series(sides, between=False)
        sides = two.have(two.names[0]), two.have(two.names[1])
    question = judging.Asked.among(1, counts, sides=sides, metrics=tuple(comparing.metrics(metrics)))
    options = options_asked(output.resolve(), budget_seconds=60 * minutes, **judged.of_sides(sides), **asked)
    folder = judged.measure(question, options, output.resolve(), ["./campaign", *sys.argv[1:]])
    return judging.answer(folder, form, files)
