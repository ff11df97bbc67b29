"""Values of an axis of the points within a case that a user asks for, instead of those of the suite's grid: numbers,
such as sizes of messages, or words, such as collectives.

A benchmark lists them in `Benchmark.point_values`. `campaign run` makes an option of each, which may be repeated. All
cases of a run have the same ones. ReFrame gets them as one text (`as_text`), and the program as a list.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.settings import Impossible
from postprocess.families.family import Axis, Value

Number: TypeAlias = int | float
PointValue: TypeAlias = int | float | str
Asked: TypeAlias = Mapping[str, Sequence[str]]
"""What was asked for, by `PointValues.name`, as it was typed."""


def _always(_parameters: Mapping[str, Value]) -> bool:
    return True


@dataclass(frozen=True)
class PointValues:
    """One such axis.

    name: its name in manifests, from which the option follows: `--delay-ratio` for delay_ratio.
    told: the program's option that takes the values, comma-separated.
    legal: the legal words, in the order of the program; empty where the values are numbers.
    of_axis: the axis of other benchmarks' cases that has the same option; None where there is none. What is asked for
    then goes to all benchmarks, and words that this one does not know are left out.
    whole: whether the values are whole numbers. least, most: the smallest and the largest legal number.
    about: the option's help text.
    several: whether a run may have more than one value.
    has: returns whether a case with these values of its axes has the axis. of: such cases in words, for a refusal.
    """

    name: str
    told: str
    about: str
    legal: tuple[str, ...] = ()
    of_axis: Axis | None = None
    whole: bool = True
    least: float = 1
    most: float = math.inf
    several: bool = True
    has: Callable[[Mapping[str, Value]], bool] = _always
    of: str = ""

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
        try:
            number: Number = int(text) if self.whole else float(text)
        except ValueError:
            number = math.nan
        if not self.least <= number <= self.most:
            kind = "a whole number" if self.whole else "a number"
            raise CampaignError(f"{self.option} {text}: {kind} from {self.least:.12g} to {self.most:.12g}")
        return number


MOST_BYTES = 2**31 - 1
"""MPI counts elements as int."""
MESSAGE_BYTES = PointValues(
    "message_bytes", "--message-bytes", "Sizes of messages in bytes, such as 1048576.", least=8, most=MOST_BYTES
)


WORD_BYTES = 8


def check_whole_words(sizes: Iterable[PointValue]) -> Impossible | None:
    """Why messages cannot have these sizes, of a program whose messages are of whole words."""
    wrong = next((int(size) for size in sizes if int(size) % WORD_BYTES), None)
    if wrong is None:
        return None
    return Impossible(
        f"{MESSAGE_BYTES.option} {wrong}: messages are of whole words of {WORD_BYTES} bytes, so ask for "
        f"{(wrong // WORD_BYTES + 1) * WORD_BYTES}"
    )


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
