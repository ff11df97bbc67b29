"""How values of an axis are asked for on the command line, planned, and handed to ReFrame and to a program."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning import suites
from postprocess.families.family import Axis, Value

WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""A legal value of an axis that takes any word. The word becomes part of file names."""


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


@dataclass(frozen=True)
class Choice:
    """An axis of which values can be asked for. An axis without an entry in `choices` has these defaults.

    several: a run can have any number of values; else it has a single value, which all of its cases share.
    always: values that are measured whatever is asked for.
    tests, variable: `variable` is the environment variable that selects of which values ReFrame makes tests, and
    `tests` returns those values from what the variable holds. `variable` is empty where ReFrame makes tests of all.
    told: returns the words of a program's command line from the option's name and a value.
    impossible: why a case cannot have a value; None where it can.
    about, metavar: the option's help text and placeholder. Without `about` the help names the values.
    chosen: what is chosen, before the names of the values in that help.
    of_placement: the value that a placement of ranks has, of an axis whose values follow from it, not from what was
    asked for.  if_several: cases have that value only in a run whose placements differ in it; else the usual one.
    """

    axis: Axis
    several: bool = True
    always: tuple[Value, ...] = ()
    tests: Callable[[str], Sequence[Value]] | None = None
    variable: str = ""
    told: Callable[[str, Any], Sequence[str]] | None = None
    impossible: Callable[[Any, Where], Impossible | None] = _always_possible
    about: str = ""
    metavar: str = ""
    chosen: str = ""
    of_placement: Callable[[Placement], Value] | None = None
    if_several: bool = False

    def __post_init__(self) -> None:
        if self.axis.usual is None:
            raise ValueError(f"axis {self.name}: cases of benchmarks that do not have it need a usual value of it")

    @property
    def name(self) -> str:
        return self.axis.name

    @property
    def usual(self) -> Value:
        assert self.axis.usual is not None
        return self.axis.usual

    @property
    def legal(self) -> Mapping[str, str]:
        """The legal values, each with a description; empty where any text or number is legal."""
        return self.axis.values

    @property
    def word(self) -> str:
        """The name of the axis without its unit: `test-interval` for test_interval_ns."""
        return self.name.removesuffix(f"_{self.axis.unit}").replace("_", "-")

    @property
    def option(self) -> str:
        """The option of `campaign run` and of the programs."""
        return f"--{self.word}"

    @property
    def plural(self) -> str:
        """The name of several values: `test_intervals`, `approaches`."""
        name = self.word.replace("-", "_")
        return name if name.endswith("s") else f"{name}{'es' if name.endswith('ch') else 's'}"

    @property
    def key(self) -> str:
        """The key under which manifests keep what was asked for."""
        return self.plural if self.several else self.word.replace("-", "_")

    @property
    def by_session(self) -> bool:
        """Whether the axis is a variable of the ReFrame tests, with one value per session; else it is their parameter.

        ReFrame's command line can give a test's own parameters any values, but not those of the fixture `basic`.
        """
        return not self.several or (self.axis.of_basic and not self.legal)

    def read(self, text: str) -> Value:
        """The value that a text stands for. Raises CampaignError for a text that is no value."""
        word = self.word.replace("-", " ")
        if self.legal:
            if text not in self.legal:
                raise CampaignError(f"there is no {word} '{text}'; there are: {', '.join(self.legal)}")
            return text
        if self.axis.unit == "ns":
            return suites.nanoseconds(self.option, text, zero=0 in self.always)
        if self.axis.kind == "text":
            if not WORD.fullmatch(text):
                raise CampaignError(f"{self.option} {text}: a word of letters, digits and any of _.-")
            return text
        what, number = ("whole number", int) if self.axis.kind == "integer" else ("number", float)
        try:
            return number(text)
        except ValueError:
            raise CampaignError(f"{self.option} {text}: a {what}") from None

    def values_of(self, asked: Sequence[str], suites_own: Sequence[Value]) -> tuple[Value, ...]:
        """The values to measure: those that were asked for, else the suite's. Numbers are sorted."""
        read_values = [self.read(text) for text in asked] or suites_own
        measured = dict.fromkeys([*self.always, *read_values])
        return tuple(measured if self.axis.kind == "text" else sorted(measured))

    def loaded(self, text: str) -> tuple[Value, ...]:
        """The values of which ReFrame makes tests when `variable` holds this text; the usual value where any text or
        number is legal."""
        if self.tests is not None:
            return tuple(self.tests(text))
        return tuple(self.legal) or (self.usual,)

    def loading(self, asked: Sequence[Value]) -> dict[str, str]:
        """The environment variable that makes ReFrame create tests of the values that were asked for; empty where
        ReFrame needs none."""
        unusual = ",".join(str(value) for value in asked if self.variable and value not in self.loaded(""))
        return {self.variable: unusual} if unusual else {}

    def words(self, value: Value) -> list[str]:
        """The words of a program's command line that set the value."""
        return list(self.told(self.option, value) if self.told else (self.option, f"{value}{self.axis.unit}"))

    def help(self) -> str:
        """The help text of the option."""
        one_of = f"one of {', '.join(self.legal)}."
        named = f"{self.chosen}: {one_of}" if self.chosen else one_of.capitalize()
        about = self.about or (named if self.legal else f"{self.axis.title}.")
        default = "" if self.always else " Default: the suite's."
        return f"{about} May be repeated.{default}" if self.several else about
