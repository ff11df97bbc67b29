"""How an axis of cases is asked for on the command line, planned, given to ReFrame, and told to a program."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning import suites
from postprocess.families.family import Axis, Value

WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""Any text that is a value of an axis: it becomes part of the names of files."""


@dataclass(frozen=True)
class Where:
    """What a value of an axis is asked for with. programs: the folder of the toolchain's programs; None where what is
    in it does not count yet."""

    configuration: str
    toolchain: str
    programs: Path | None = None


def _always_possible(_value: Value, _where: Where) -> Impossible | None:
    return None


@dataclass(frozen=True)
class Choice:
    """An axis of which values can be asked for. An axis that has no entry of its own in `choices` has these defaults.

    several: any number of its values can be asked for; else a run has one of them, which all of its cases have.
    always: values that are measured whatever is asked for.
    values: all that there are, each with what it is, where the axis itself does not know them.
    tests, variable: of which of many values ReFrame makes tests, given what the environment variable of that name
    holds; `variable` is empty where it makes tests of all of them.
    told: from the option's name and a value, the words of a program's command line.
    impossible: why a value cannot be had there.
    about, metavar: of the option's help; without `about` it names the values.
    """

    axis: Axis
    several: bool = True
    always: tuple[Value, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict, hash=False)
    tests: Callable[[str], Sequence[str]] | None = None
    variable: str = ""
    told: Callable[[str, Any], Sequence[str]] | None = None
    impossible: Callable[[Any, Where], Impossible | None] = _always_possible
    about: str = ""
    metavar: str = ""

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
        """All values that there are, each with what it is; empty where that is any text or number."""
        return self.values or self.axis.values

    @property
    def word(self) -> str:
        """Its name without the unit: `test-interval` of test_interval_ns."""
        return self.name.removesuffix(f"_{self.axis.unit}").replace("_", "-")

    @property
    def option(self) -> str:
        """Of `campaign run`, and of the programs."""
        return f"--{self.word}"

    @property
    def plural(self) -> str:
        """Of several values: `test_intervals`."""
        name = self.word.replace("-", "_")
        return name if name.endswith("s") else f"{name}s"

    @property
    def key(self) -> str:
        """Under which manifests keep what was asked for."""
        return self.plural if self.several else self.word.replace("-", "_")

    @property
    def by_session(self) -> bool:
        """Whether a ReFrame session has one of its values, as a variable of the tests; else it is a parameter of them.

        ReFrame's command line can give a test's own parameters any values, but not those of the fixture `basic`.
        """
        return not self.several or (self.axis.of_basic and not self.legal)

    def read(self, text: str) -> Value:
        """A value as a person types it. Raises CampaignError for what is none."""
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
        """What is measured: the values that were asked for, else the suite's; numbers in their order."""
        wanted = [self.read(text) for text in asked] or suites_own
        found = dict.fromkeys([*self.always, *wanted])
        return tuple(found if self.axis.kind == "text" else sorted(found))

    def loaded(self, named: str) -> tuple[Value, ...]:
        """The values of which ReFrame makes tests, where `variable` holds this; the usual one where there are any
        number of them."""
        if self.tests is not None:
            return tuple(self.tests(named))
        return tuple(self.legal) or (self.usual,)

    def loading(self, asked: Sequence[Value]) -> dict[str, str]:
        """The environment variable with which ReFrame makes tests of what was asked for; nothing where it does so
        without."""
        unusual = ",".join(str(value) for value in asked if self.variable and value not in self.loaded(""))
        return {self.variable: unusual} if unusual else {}

    def words(self, value: Value) -> list[str]:
        """The words that tell a program its value."""
        return list(self.told(self.option, value) if self.told else (self.option, f"{value}{self.axis.unit}"))

    def help(self) -> str:
        """Of its option."""
        about = self.about or (f"One of {', '.join(self.legal)}." if self.legal else f"{self.axis.title}.")
        default = "" if self.always else " Default: the suite's."
        return f"{about} May be repeated.{default}" if self.several else about
