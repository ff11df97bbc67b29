"""The axes of cases as ReFrame has them: parameters of tests and of their fixture `basic`, or variables, of which a
session sets one value.

`mpi_campaign.planning.benchmarks` has the axes; which of the three one is follows from its `Choice`.
"""

import operator
import os
import types
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import reframe as rfm
from reframe.core.builtins import parameter, variable

from mpi_campaign.planning.benchmarks.choice import Choice
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, BY_SESSION

TYPES: Mapping[str, type] = {"text": str, "integer": int, "number": float}


def _mixin(name: str, body: Mapping[str, Any]) -> Any:
    def fill(namespace: dict[str, Any]) -> None:
        for key, value in body.items():
            namespace[key] = value

    return types.new_class(name, (rfm.RegressionTestPlugin,), exec_body=fill)


def _parameter(choice: Choice) -> Any:
    loaded = list(choice.loaded(os.environ.get(choice.variable, "")))
    return parameter(loaded) if choice.legal else parameter(loaded, type=TYPES[choice.axis.kind])


def basics_choices(benchmark: str) -> list[Choice]:
    """The axes that are parameters of a benchmark's `basic`."""
    return [one for one in BENCHMARKS[benchmark].choices if one.axis.of_basic and not one.by_session]


def own_choices(benchmark: str) -> list[Choice]:
    """The axes that are parameters of a benchmark's test beside its `basic`."""
    return [one for one in BENCHMARKS[benchmark].choices if not one.axis.of_basic and not one.by_session]


def basics_parameters(benchmark: str) -> Any:
    """What `basic` of a benchmark is measured with, as parameters: a base class of its test."""
    return _mixin(f"{benchmark}_of_basic", {one.name: _parameter(one) for one in basics_choices(benchmark)})


def own_parameters(benchmark: str) -> Any:
    """The configuration, and what `basic` does not differ in, as parameters: a base class of a benchmark's test."""
    configurations = parameter(list(BENCHMARKS[benchmark].configurations))
    own = {one.name: _parameter(one) for one in own_choices(benchmark)}
    return _mixin(f"{benchmark}_own", {"configuration": configurations, **own})


def basics_variants(of: str, benchmarks: Iterable[str]) -> dict[str, Callable[[object], bool]]:
    """Which variants of `basic` of a benchmark others go with: in the axes that one of them lacks, the usual ones."""
    lacking = [one for one in basics_choices(of) if not all(BENCHMARKS[name].has(one.name) for name in benchmarks)]
    return {one.name: partial(operator.eq, one.usual) for one in lacking}


OfSession = _mixin(
    "OfSession", {name: variable(TYPES[one.axis.kind], value=one.usual) for name, one in BY_SESSION.items()}
)
"""The axes of which a session has one value, as variables: a base class of every test."""
