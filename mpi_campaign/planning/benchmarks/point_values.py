"""Values of an axis of the points within a case that a user asks for, instead of those of the suite's grid: numbers,
such as sizes of messages, or words, such as collectives.

A benchmark lists them in `Benchmark.point_values`. `campaign run` makes an option of each, which may be repeated. All
cases of a run have the same ones. ReFrame gets them as one text (`as_text`), and the program as a list.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mpi_campaign.errors import CampaignError
from postprocess.families.family import Axis, Value
from postprocess.records.description import Option, descriptions

Number: TypeAlias = int | float
PointValue: TypeAlias = int | float | str
Asked: TypeAlias = Mapping[str, Sequence[str]]
"""What was asked for, by `PointValues.name`, as it was typed."""


def _always(_parameters: Mapping[str, Value]) -> bool:
    return True


@dataclass(frozen=True)
class PointValues:
    """One such axis: an option of the program, which says what is legal.

    name: its name in manifests, from which the option follows: `--delay-ratio` for delay_ratio.
    of_axis: the axis of other benchmarks' cases that has the same option; None where there is none. What is asked for
    then goes to all benchmarks, and words that this one does not know are left out.
    has: returns whether a case with these values of its axes has the axis. of: such cases in words, for a refusal.
    """

    name: str
    program: Option
    of_axis: Axis | None = None
    has: Callable[[Mapping[str, Value]], bool] = _always
    of: str = ""

    @property
    def told(self) -> str:
        """The program's option that takes the values, comma-separated."""
        return f"--{self.program.name}"

    @property
    def legal(self) -> tuple[str, ...]:
        """The legal words, in the order of the program; empty where the values are numbers."""
        return tuple(self.program.choices)

    @property
    def several(self) -> bool:
        """Whether a run may have more than one value."""
        return self.program.kind not in ("integer", "number")

    @property
    def about(self) -> str:
        """The option's help text."""
        text = self.program.help
        return f"{text[0].upper()}{text[1:]}."

    @property
    def option(self) -> str:
        """The option of `campaign run`."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def metavar(self) -> str:
        """What the option's help calls a value."""
        return "NAME" if self.legal else "N"

    def read(self, texts: Iterable[str]) -> tuple[PointValue, ...]:
        """The values that texts stand for, in their order, each once. Raises CampaignError for a text that is no value,
        unless it may be one of `of_axis`."""
        return self._words(list(texts)) if self.legal else self._numbers(texts)

    def unknown(self, texts: Iterable[str]) -> str:
        """The first text that is no legal word; empty where all are, or where the values are numbers."""
        return next((text for text in texts if self.legal and text not in self.legal), "")

    def refusal(self, word: str) -> str:
        """The line that refuses a word."""
        return f"{self.option} {word}: one of {', '.join(self.legal)}"

    def _words(self, texts: Sequence[str]) -> tuple[str, ...]:
        if (word := self.unknown(texts)) and self.of_axis is None:
            raise CampaignError(self.refusal(word))
        return tuple(word for word in self.legal if word in texts)

    def _numbers(self, texts: Iterable[str]) -> tuple[Number, ...]:
        numbers = sorted({self._number(text) for text in texts})
        if len(numbers) > 1 and not self.several:
            raise CampaignError(f"{self.option}: a run has one value of it, and {len(numbers)} are asked for")
        return tuple(numbers)

    def _number(self, text: str) -> Number:
        whole = self.program.kind in ("integer", "integers")
        least, most = self.program.minimum or 0, self.program.maximum or math.inf
        try:
            number: Number = int(text) if whole else float(text)
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            kind = "a whole number" if whole else "a number"
            raise CampaignError(f"{self.option} {text}: {kind} from {least:.12g} to {most:.12g}")
        if whole and number % self.program.multiple_of:
            part = self.program.multiple_of
            raise CampaignError(
                f"{self.option} {text}: a multiple of {part}, such as {(int(number) // part + 1) * part}"
            )
        return number


def values_of(program: str, option: str, name: str = "", **more: Any) -> PointValues:
    """An option of a program as an axis of points. name: where manifests know it by another name than the program.

    more: the other fields of `PointValues`. Raises KeyError where the program has no such option.
    """
    options = {told.name: told for told in descriptions()[program].options}
    return PointValues(name or option.replace("-", "_"), options[option], **more)


def words(own: Iterable[PointValues], asked: Asked, parameters: Mapping[str, Value]) -> list[str]:
    """The words of a program's command line. own: those of the benchmark. parameters: the values of the case's axes."""
    return [
        word
        for values in own
        if asked.get(values.name) and values.has(parameters)
        for word in (values.told, _listed(values, asked, ","))
    ]


def named(grid: str, own: Iterable[PointValues], asked: Asked) -> str:
    """The name of the points of a case, under which its references are kept: that of the grid, and what replaces it."""
    return grid + "".join(f"_{values.name}_{_listed(values, asked, '-')}" for values in own if asked.get(values.name))


def _listed(values: PointValues, asked: Asked, between: str) -> str:
    read = values.read(asked[values.name])
    return between.join(one if isinstance(one, str) else f"{one:.12g}" for one in read)


def as_text(asked: Asked) -> str:
    """What was asked for as one text, empty for nothing: ``delay_ratio:0,2.5;message_bytes:1024``."""
    return ";".join(f"{name}:{','.join(texts)}" for name, texts in sorted(asked.items()) if texts)


def from_text(text: str) -> dict[str, tuple[str, ...]]:
    """What `as_text` wrote."""
    parts = (part.partition(":") for part in text.split(";") if part)
    return {name: tuple(texts.split(",")) for name, _, texts in parts}
