"""The axes of cases in ReFrame. An axis is a parameter of tests, a parameter of their fixture `basic`, or a variable to
which a session gives one value.

`mpi_campaign.planning.benchmarks` has the axes. The `Choice` of an axis says which of the three it is.
"""

import operator
import os
import types
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import reframe as rfm
from reframe.core.builtins import parameter, variable

from mpi_campaign.planning.benchmarks.choice import VALUES, Choice, from_text
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, BY_SESSION

TYPES: Mapping[str, type] = {"text": str, "integer": int, "number": float}


def _mixin(name: str, body: Mapping[str, Any]) -> Any:
    def fill(namespace: dict[str, Any]) -> None:
        for key, value in body.items():
            namespace[key] = value

    return types.new_class(name, (rfm.RegressionTestPlugin,), exec_body=fill)


def _needed(name: str, values: Iterable[Any], usual: object = None) -> list[Any]:
    """The values of a parameter of which ReFrame makes tests: those of `VALUES`, and the usual one, which `basic` may
    have for others; all where it says nothing of the parameter."""
    only = from_text(os.environ.get(VALUES, "")).get(name)
    found = list(values)
    return [value for value in found if only is None or value == usual or str(value) in only] or found


def _parameter(choice: Choice) -> Any:
    loaded = _needed(choice.name, choice.loaded(os.environ.get(choice.variable, "")), choice.usual)
    return parameter(loaded) if choice.legal else parameter(loaded, type=TYPES[choice.axis.kind])


def basics_choices(benchmark: str) -> list[Choice]:
    """The axes that are parameters of a benchmark's `basic`."""
    return [choice for choice in BENCHMARKS[benchmark].choices if choice.axis.of_basic and not choice.by_session]


def own_choices(benchmark: str) -> list[Choice]:
    """The axes that are parameters of a benchmark's test beside its `basic`."""
    return [choice for choice in BENCHMARKS[benchmark].choices if not choice.axis.of_basic and not choice.by_session]


def basics_parameters(benchmark: str) -> Any:
    """A base class of the test of a benchmark's `basic`: the axes of `basic` as parameters."""
    return _mixin(f"{benchmark}_of_basic", {choice.name: _parameter(choice) for choice in basics_choices(benchmark)})


def own_parameters(benchmark: str) -> Any:
    """A base class of a benchmark's test: the configuration, and the axes that `basic` lacks, as parameters."""
    configurations = parameter(_needed("configuration", BENCHMARKS[benchmark].configurations))
    parameters = {choice.name: _parameter(choice) for choice in own_choices(benchmark)}
    return _mixin(f"{benchmark}_own", {"configuration": configurations, **parameters})


def basics_variants(of: str, benchmarks: Iterable[str]) -> dict[str, Callable[[object], bool]]:
    """The variants of a benchmark's `basic` that others use: they have usual values of the axes that others lack."""
    lacking = [
        choice for choice in basics_choices(of) if not all(BENCHMARKS[name].has(choice.name) for name in benchmarks)
    ]
    return {choice.name: partial(operator.eq, choice.usual) for choice in lacking}


OfSession = _mixin(
    "OfSession", {name: variable(TYPES[choice.axis.kind], value=choice.usual) for name, choice in BY_SESSION.items()}
)
"""A base class of every test: the axes that have a single value per session, as variables."""
