"""The commands that a person types. A command imports what it needs when it is called, so that it starts at once."""

import importlib
from typing import Any

import click

from mpi_campaign import __version__
from mpi_campaign.commands import machines, results, runs, testing, verdicts

LATE = {
    "bisect": "Which release or revision made it slower?",
    "judge": "Is B slower than A? Both in turn, and no longer than it takes to know.",
    "list": "Systems, toolchains, benchmarks, configurations, suites: available, or why not.",
    "run": "Build, measure, archive and report.",
    "setup": "Fetch or build MPI libraries and the benchmarks; measure nothing.",
}
"""Commands whose modules take long to load, with their lines in the help of all commands. Each is loaded when it is
called, or asked for its own help."""


class Commands(click.Group):
    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        for name in LATE.keys() & set(args[:1]):
            self.add_command(importlib.import_module(f"mpi_campaign.commands.{name}").command)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, message="%(prog)s %(version)s")
def campaign() -> None:
    """Measure how MPI libraries overlap communication with computation, and say how sure the answer is.

    `campaign run` needs no argument. Exit codes: 0 good, 1 a test failed or something is slower,
    2 wrong use or nothing could run, 130 interrupted.
    """


for command in (
    *(click.Command(name, short_help=words) for name, words in LATE.items()),
    *(runs.show, runs.report, runs.reproduce, runs.cancel),
    *(
        verdicts.compare,
        verdicts.accept,
        verdicts.findings,
        verdicts.versions,
        verdicts.baseline,
        verdicts.history,
        verdicts.publish,
    ),
    *(machines.doctor, machines.figures, machines.systems, machines.cluster),
    *(results.results, testing.test),
):
    campaign.add_command(command)
