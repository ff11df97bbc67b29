"""The options of `campaign run` that ask for values of an axis: made of the axes, and shown by benchmark."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from mpi_campaign.planning.benchmarks.choice import Choice
from mpi_campaign.planning.benchmarks.point_values import PointValues
from mpi_campaign.planning.benchmarks.registry import CHOICES, POINT_VALUES, with_axis

Function = TypeVar("Function", bound=Callable[..., Any])


class AxisOption(click.Option):
    """benchmarks: the benchmarks that have the axis."""

    def __init__(self, words: Sequence[str], benchmarks: list[str], **settings: Any) -> None:
        super().__init__(words, **settings)
        self.benchmarks = benchmarks


class ByBenchmark(click.Command):
    """A command that shows its options in groups: options of all benchmarks, and options of some benchmarks."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is not None:
                benchmarks = option.benchmarks if isinstance(option, AxisOption) else []
                title = f"Options of {', '.join(benchmarks)}" if benchmarks else "Options"
                groups.setdefault(title, []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def axis_options(function: Function) -> Function:
    """An option for each axis of which values can be asked for, as `Options.of` takes them: axes of cases, then those
    of points. An axis that is of cases in one benchmark and of points in another is one option."""
    for values in reversed(list(POINT_VALUES.values())):
        if values.name not in CHOICES:
            function = _point_option(values)(function)
    for choice in reversed(list(CHOICES.values())):
        function = _option(choice)(function)
    return function


def _point_option(values: PointValues) -> Callable[[Function], Function]:
    return click.option(
        values.option,
        values.name,
        cls=AxisOption,
        benchmarks=with_axis(values.name),
        multiple=True,
        metavar=values.metavar,
        help=f"{values.about}{' May be repeated.' if values.several else ''} Default: the suite's.",
    )


def _option(choice: Choice) -> Callable[[Function], Function]:
    settings: dict[str, Any] = (
        {"multiple": True} if choice.several else {"default": str(choice.usual), "show_default": True}
    )
    return click.option(
        choice.option,
        choice.key,
        cls=AxisOption,
        benchmarks=with_axis(choice.name),
        metavar=choice.metavar or None,
        help=choice.help(),
        **settings,
    )
