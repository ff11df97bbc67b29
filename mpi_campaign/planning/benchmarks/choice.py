"""What a user may ask for: how values of an axis are typed, planned, and handed to ReFrame and to a program.

Of an axis of cases, each value makes a case. Of an axis of the points within a case (`Axis.of`), such as the size of a
message, the values replace those of the suite's grid, and all cases of a run have the same ones.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.settings import Impossible
from postprocess.drawing.text import duration
from postprocess.families import axes
from postprocess.families.family import Axis, Value
from postprocess.records.description import Option, descriptions

WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""A legal value of an axis that takes any word. The word becomes part of file names."""
_NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}

Asked: TypeAlias = Mapping[str, Sequence[str]]
"""What was asked for, by `Choice.name`, as it was typed."""


@dataclass(frozen=True)
class Where:
    """The rest of a case for which a value of an axis is asked for.

    programs: the folder of the toolchain's programs; None where they may not have been built yet.
    """

    configuration: str
    toolchain: str
    programs: Path | None = None


def _always_possible(_value: Value, _where: Where) -> Impossible | None:
    return None


def _in_every_case(_parameters: Mapping[str, Value]) -> bool:
    return True


@dataclass(frozen=True)
class Choice:
    """An axis of which values can be asked for. An axis of cases without an entry in `choices` has these defaults.

    axis: its option is the program's, which says what is legal.
    several: a run can have any number of values; else it has a single value, which all of its cases share.
    always: values that are measured whatever is asked for.
    tests: the values of which ReFrame makes tests where nobody asks for others; empty: all legal ones. ReFrame takes
    seconds to load hundreds of tests, in every session.
    impossible: why a case cannot have a value; None where it can.
    called: the option of `campaign run`, without dashes, where it does not follow from the axis's name.
    about, metavar: the option's help text and placeholder. Without `about` the help names the values.
    chosen: what is chosen, before the names of the values in that help.
    of_placement: the value that a placement of ranks has, of an axis whose values follow from it, not from what was
    asked for.  if_several: cases have that value only in a run whose placements differ in it; else the usual one.
    has: of an axis of points, whether a case with these values of its axes has it.  only_for: such cases in words.
    shared: cases of other benchmarks have an axis of this name. What is asked for goes to all of them, and words that
    this one does not know are left out.
    """

    axis: Axis
    several: bool = True
    always: tuple[Value, ...] = ()
    tests: tuple[Value, ...] = ()
    impossible: Callable[[Any, Where], Impossible | None] = _always_possible
    called: str = ""
    about: str = ""
    metavar: str = ""
    chosen: str = ""
    of_placement: Callable[[Placement], Value] | None = None
    if_several: bool = False
    has: Callable[[Mapping[str, Value]], bool] = _in_every_case
    only_for: str = ""
    shared: bool = False

    def __post_init__(self) -> None:
        if self.axis.of == "case" and self.axis.usual is None:
            raise ValueError(f"axis {self.name}: cases of benchmarks that do not have it need a usual value of it")
        if self.axis.option is None and self.of_placement is None:
            raise ValueError(f"axis {self.name}: no option of a program takes its values")

    @property
    def name(self) -> str:
        return self.axis.name

    @property
    def of_points(self) -> bool:
        """Whether the points of a case differ in it, and not cases."""
        return self.axis.of == "point"

    @property
    def usual(self) -> Value:
        assert self.axis.usual is not None
        return self.axis.usual

    @property
    def legal(self) -> Mapping[str, str]:
        """The legal values, each with a description; empty where any text or number is legal."""
        return self.axis.values

    @property
    def program(self) -> Option:
        """The program's option."""
        assert self.axis.option is not None
        return self.axis.option

    @property
    def word(self) -> str:
        """The name of the axis without its unit: `test-interval` for test_interval_ns."""
        return self.called or self.name.removesuffix(f"_{self.axis.unit}").replace("_", "-")

    @property
    def option(self) -> str:
        """The option of `campaign run`."""
        return f"--{self.word}"

    @property
    def listed(self) -> bool:
        """Whether manifests have a list of its values, and the option may be repeated."""
        return self.several or self.of_points

    @property
    def plural(self) -> str:
        """The name of several values: `test_intervals`, `approaches`."""
        name = self.word.replace("-", "_")
        return name if name.endswith("s") else f"{name}{'es' if name.endswith('ch') else 's'}"

    @property
    def key(self) -> str:
        """The key under which manifests keep what was asked for."""
        if self.of_points:
            return self.name
        return self.plural if self.several else self.word.replace("-", "_")

    @property
    def by_session(self) -> bool:
        """Whether the axis is a variable of the ReFrame tests, with one value per session; else it is their parameter.

        ReFrame's command line can give a test's own parameters any values, but not those of the fixture `basic`.
        """
        return not self.several or (self.axis.of_basic and not self.legal)

    def read(self, text: str) -> Value:
        """The value that a text stands for. Raises CampaignError for a text that is no value."""
        if self.legal:
            if text not in self.legal:
                raise CampaignError(f"{self.option} {text}: one of {', '.join(self.legal)}")
            return text
        if self.axis.kind != "text":
            return self._number(text)
        if not WORD.fullmatch(text):
            raise CampaignError(f"{self.option} {text}: a word of letters, digits and any of _.-")
        return text

    def _number(self, text: str) -> int | float:
        whole, is_time, part = self.axis.kind == "integer", self.axis.unit == "ns", self.program.multiple_of
        least, most = self.program.minimum or 0, self.program.maximum or math.inf
        try:
            if is_time:
                number: int | float = nanoseconds(self.option, text, zero=0 in self.always)
            else:
                number = int(text) if whole else float(text)
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            kind = "a time" if is_time else "a whole number" if whole else "a number"
            ends = [duration(end) if is_time else f"{end:.12g}" for end in (least, most)]
            raise CampaignError(f"{self.option} {text}: {kind} from {' to '.join(ends)}")
        if whole and number % part:
            raise CampaignError(
                f"{self.option} {text}: a multiple of {part}, such as {(int(number) // part + 1) * part}"
            )
        return number

    def values_of(self, asked: Sequence[str], usual: Sequence[Value] = ()) -> tuple[Value, ...]:
        """The values to measure: those that were asked for, else the usual ones. Numbers ascend; words of an axis of
        points are in the program's order. Raises CampaignError for what is no value."""
        own = [text for text in asked if not self.shared or text in self.legal]
        values = dict.fromkeys([*self.always, *(map(self.read, own) if asked else usual)])
        if len(values) > 1 and self.of_points and not self.several:
            raise CampaignError(f"{self.option}: a run has one value of it, and {len(values)} are asked for")
        if self.axis.kind != "text":
            return tuple(sorted(values))
        return tuple(word for word in self.legal if word in values) if self.of_points else tuple(values)

    @property
    def variable(self) -> str:
        """The environment variable with more values, comma-separated or `all`, of which ReFrame makes tests."""
        return f"CAMPAIGN_{self.plural.upper()}"

    def loaded(self, text: str) -> tuple[Value, ...]:
        """The values of which ReFrame makes tests when `variable` holds this text; the usual value where any text or
        number is legal. Raises CampaignError for a word that is no value."""
        if not self.tests:
            return tuple(self.legal) or (self.usual,)
        more = set(self.legal if text == "all" else filter(None, text.split(",")))
        unknown = sorted(more - set(self.legal))
        if unknown:
            raise CampaignError(f"{self.variable}: unknown {unknown[0]!r}; choose from all, {', '.join(self.legal)}")
        return tuple(value for value in self.legal or self.tests if value in self.tests or value in more)

    def loading(self, asked: Sequence[Value]) -> dict[str, str]:
        """The environment variable that makes ReFrame create tests of the values that were asked for; empty where
        ReFrame needs none."""
        unusual = ",".join(str(value) for value in asked if self.legal and value not in self.loaded(""))
        return {self.variable: unusual} if unusual else {}

    def text(self, value: Value) -> str:
        """A value as a program reads it."""
        return value if isinstance(value, str) else f"{value:.12g}{'ns' * (self.axis.unit == 'ns')}"

    def words(self, *values: Value) -> list[str]:
        """The words of a program's command line that set the values; none for no time."""
        no_time = self.axis.unit == "ns" and not any(values)
        return [] if no_time else [f"--{self.program.name}", ",".join(map(self.text, values))]

    def help(self) -> str:
        """The help text of the option."""
        one_of = f"one of {', '.join(self.legal)}."
        named = f"{self.chosen}: {one_of}" if self.chosen else one_of.capitalize()
        about = self.about or (named if self.legal else f"{self.axis.title}.")
        repeated = " May be repeated." if self.several else ""
        default = " Default: the suite's." if self.listed and not self.always else ""
        return f"{about}{repeated}{default}"


def point_choice(
    program: str, option: str, name: str = "", limits: tuple[int, int] | None = None, **more: Any
) -> Choice:
    """An option of a program as an axis of points. name: where manifests know it by another name than the program.

    limits: the least and the largest legal number, where they are not the option's. more: fields of `Choice`.
    Raises KeyError where the program has no such option.
    """
    own = {each.name: each for each in descriptions()[program].options}[option]
    if limits is not None:
        own = replace(own, minimum=limits[0], maximum=limits[1])
    unit = "ns" if own.kind == "durations" else ""
    axis = axes.of_option(own, name or option.replace("-", "_"), option, of="point", unit=unit)
    usual = {
        "several": own.kind not in ("integer", "number"),
        "about": f"{own.help[0].upper()}{own.help[1:]}.",
        "metavar": "NAME" if own.choices else "N",
    }
    return Choice(axis, **{**usual, **more})


def nanoseconds(option: str, text: str, *, zero: bool = True) -> int:
    """A duration as the benchmarks read it: a number and a unit, or 0 where `zero` allows it. Raises CampaignError."""
    match = re.fullmatch(r"(\d{1,11}(?:\.\d{1,9})?)(ns|us|ms|s)", text)
    time_ns = round(float(match[1]) * _NANOSECONDS[match[2]]) if match else 0
    if time_ns < 1 and not (zero and text == "0"):
        none = "; 0 is measured in any case" if zero else ""
        raise CampaignError(f"{option} {text}: a time with a unit (ns, us, ms, s), such as 100us{none}")
    return time_ns


def as_text(asked: Asked) -> str:
    """What was asked for as one text, empty for nothing: ``delay_ratio:0,2.5;message_bytes:1024``."""
    return ";".join(f"{name}:{','.join(texts)}" for name, texts in sorted(asked.items()) if texts)


VALUES = "MPI_CAMPAIGN_VALUES"
"""A variable: the configurations and values of axes of which ReFrame makes tests, as of `as_text`. A session needs few
of all, and each test takes ReFrame milliseconds to make."""


def from_text(text: str) -> dict[str, tuple[str, ...]]:
    """What `as_text` wrote."""
    parts = (part.partition(":") for part in text.split(";") if part)
    return {name: tuple(texts.split(",")) for name, _, texts in parts}
