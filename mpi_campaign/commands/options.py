"""Options that several commands have, and what stands behind them."""

import functools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from mpi_campaign.archive import run_folders
from mpi_campaign.errors import CampaignError
from mpi_campaign.launching import node_agent
from postprocess.statistics.limits import Limits

Function = TypeVar("Function", bound=Callable[..., Any])


class Kept(click.Path):
    """The archive, or a file or folder that a command writes for a person.

    In a cluster in a box, a path in a folder that ends with the box raises CampaignError: what a command wrote there
    would be lost, and what this machine has there is not seen.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if node_agent.HEAD_VARIABLE in os.environ:
            from mpi_campaign.systems import nodes_in_hand  # noqa: PLC0415 - it loads what makes namespaces

            if nodes_in_hand.ends_with_box(path):
                name = max(param.opts, key=len) if param is not None else "path"
                raise CampaignError(
                    f"{name} {path}: this folder is in the memory of the cluster in a box, and ends with it; take one "
                    "that all nodes share, such as the folder in which the cluster was started"
                )
        return path


class MetricOption(click.Option):
    """The option --metric. Its help names metrics of all families, which take a second to load.  words: makes the help
    from nothing, when it is shown."""

    def __init__(self, *declared: Any, words: Callable[[], str], **settings: Any) -> None:
        super().__init__(*declared, **settings)
        self.words = words

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = self.words()
        return super().get_help_record(ctx)


def in_words(names: Sequence[str], joined: str) -> str:
    """A, B and C.  joined: "and", "or"."""
    return f"{', '.join(names[:-1])} {joined} {names[-1]}"


json_option = functools.partial(click.option, "--json", "as_json", is_flag=True)
html_option = functools.partial(click.option, "--html", type=Kept(dir_okay=False))
junit_option = click.option("--junit", type=Kept(dir_okay=False), help="Write a JUnit file too.")
metric_option = functools.partial(click.option, "--metric", "metrics", multiple=True)


def _metrics() -> str:
    from postprocess.families.registry import METRICS  # noqa: PLC0415

    unusual = [name for name, metric in METRICS.items() if not metric.usual]
    return f"{in_words([*METRICS], 'or')}. May be repeated. Default: all but {in_words(unusual, 'and')}."


metrics_option = metric_option(words=_metrics, cls=MetricOption)
output_option = click.option(
    "--output",
    type=Kept(file_okay=False),
    default=run_folders.RESULTS,
    show_default="results/",
    help="Folder of the archive.",
)
toolchain_option = click.option(
    "--toolchain",
    metavar="NAME@VERSION[=PREFIX]",
    help="The MPI library to measure with. Default: the first of `run`'s.",
)
environment_option = click.option(
    "--env",
    "environment",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Let a variable into launches and builds; they get none of this shell's that steer them. May be repeated.",
)


def together(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Decorators as one, which stand in a help in this order."""
    return lambda function: functools.reduce(lambda done, option: option(done), reversed(options), function)


def job_options(usual_limit: str) -> Callable[[Function], Function]:
    """Options of jobs of a batch system, as fields of the plan's `Options`. usual_limit: of a job, in words."""
    return together(
        click.option(
            "--account", default="", help="The account that pays for the jobs, where the batch system asks for one."
        ),
        click.option(
            "--time-limit", "job_time_limit", default="", metavar="TIME",
            help=f"Of each job: 30 (minutes), 2:00:00, 1-00:00:00. Default: {usual_limit}.",
        ),
        click.option(
            "--max-wait", "most_wait", default="", metavar="TIME",
            help="How long each job may wait in the queue. Default: 1-00:00:00, a day.",
        ),
        click.option(
            "--scheduler-option", "scheduler_options", multiple=True, metavar="OPTION",
            help="Of each job, as the batch system has it: --scheduler-option=--qos=long. May be repeated.",
        ),
    )  # fmt: skip


build_options = together(
    click.option("--build", default="", metavar="COMMAND", help="Builds {revision} into {prefix}, in the repository."),
    click.option(
        "--repository",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        default=".",
        help="With --build: whose revisions are meant. Default: this folder.",
    ),
    click.option("--library", default="", metavar="NAME", help="With --build: what it builds, such as openmpi."),
)
"""Options of commands that build revisions of a library."""


def say(text: str) -> None:
    """Tell a person how far it is, beside the answer on standard output."""
    print(text, file=sys.stderr, flush=True)


def limits_options(usual: Limits) -> Callable[[Function], Function]:
    """Options that say what counts as a difference: `least_ratio`, `least_difference` and `rate`."""
    limit = functools.partial(click.option, type=float, show_default=True)
    return together(
        limit("--least-ratio", default=usual.least_ratio, help="Smaller changes of a time do not count."),
        limit("--least-difference", default=usual.least_difference, help="Smaller changes of a ratio do not count."),
        limit("--rate", default=usual.rate, help="Expected share of false discoveries among the differences found."),
    )


def was_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def forms_of(junit: Path | None, html: Path | None, *, as_json: bool, as_markdown: bool) -> tuple[str, dict[str, Path]]:
    """The form in which verdicts are printed, and the files in which they are written, by form. Raises
    CampaignError."""
    if as_json and as_markdown:
        raise CampaignError("--json and --markdown: ask for one of them")
    files = {kind: path for kind, path in (("junit", junit), ("html", html)) if path is not None}
    return "json" if as_json else "markdown" if as_markdown else "", files
