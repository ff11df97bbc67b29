"""What earlier runs of a system tell of the cases of a comparison: launches to `statistics.known`.

Launches of one case, library and run tell how much launches differ; runs of one case and library how much runs do. Only
launches of the same sizes tell it, and in the same state: what a metric's `Condition` holds to be another state is no
variance. Cases of a family, which learn from each other, are those of one benchmark, method and network.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from postprocess.families import registry
from postprocess.families.axes import METHOD
from postprocess.families.family import Metric
from postprocess.statistics.effects import Integers, Known
from postprocess.statistics.known import known
from postprocess.statistics.metrics import Floats
from postprocess.verdicts.launches import numbered, scaled, with_keys

FAMILY = ("benchmark", "network", METHOD.name, "oversubscribed")
"""The columns that cases of a family have in common."""


@dataclass(frozen=True)
class Earlier:
    """Launches of earlier runs. rows: those launches.  number: of each the number of its case, as a comparison numbers
    them.  family: of each case the number of its family.  key: the columns that tell launches of different cases or
    libraries apart."""

    rows: pd.DataFrame
    number: Integers
    family: Integers
    key: tuple[str, ...]

    def known(self, metric: Metric, cases: Integers, *, per_run: int = 0) -> Known:
        """What they tell of the cases of these numbers: how much launches of a run differ, or with `per_run` how much
        medians of so many launches of a run do."""
        variance, freedom, runs = np.full(cases.size, math.nan), np.zeros(cases.size), 0
        if metric.name not in self.rows or not cases.size:
            return Known(variance, freedom, runs)
        value = self.rows[metric.name].to_numpy(np.float64)
        used = self.rows[metric.state].to_numpy(bool) & metric.has_effect(value)
        used &= np.isin(self.family[self.number], self.family[cases])
        rows = with_keys(self.rows[used], metric.same)
        apart = [name for name in (*self.key, *metric.same) if name in rows] + ["run"] * (not per_run)
        table = rows[list(dict.fromkeys([*apart, "run"]))].assign(state=_states(rows, metric))
        by = [*dict.fromkeys(apart), "state"]
        group, _ = numbered(table, by)
        columns = {"case": self.number[used], "run": pd.factorize(table["run"].astype(object), sort=True)[0]}
        launches = pd.DataFrame({**columns, "group": group, "value": scaled(value[used], metric)})
        if per_run:
            by = ["case", "run", "group"]
            first = launches[launches.groupby(by).cumcount() < per_run]
            launches = first.groupby(by, sort=False, as_index=False)["value"].median()
        family = self.family[launches["case"]]
        for one in np.unique(self.family[cases]):
            asked = np.flatnonzero(self.family[cases] == one)
            place = asked.size + np.arange(self.family.size)
            place[cases[asked]] = np.arange(asked.size)
            mine = launches[family == one]
            found = known(place[mine["case"]], mine["run"], mine["group"], mine["value"], asked.size)
            variance[asked], freedom[asked], runs = found.variance, found.freedom, max(runs, found.runs)
        return Known(variance, freedom, runs)


def like(earlier: pd.DataFrame, compared: pd.DataFrame, key: tuple[str, ...]) -> pd.DataFrame:
    """The launches of earlier runs with the columns of those compared. Launches are left out whose case is another one
    for an axis that those compared do not have: it is the usual one in all of them."""
    usual = {axis.name: axis for axis in registry.AXES if axis.usual is not None}
    possible = np.ones(len(earlier), bool)
    for name in (name for name in key if name in earlier and name not in compared and name in usual):
        possible &= earlier[name].map(usual[name].is_usual).to_numpy(bool)
    found: pd.DataFrame = earlier.loc[possible].reindex(columns=compared.columns)
    lacking = {name: usual[name].usual for name in key if name in compared and name not in earlier and name in usual}
    filled: pd.DataFrame = found.assign(**lacking)
    return filled


def _states(rows: pd.DataFrame, metric: Metric) -> Floats:
    """A number for the state of each launch: launches of a state meet conditions within its factor."""
    if metric.condition is None or metric.condition.name not in rows:
        return np.zeros(len(rows))
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.log(rows[metric.condition.name].to_numpy(np.float64)) / math.log(metric.condition.factor)
    return np.asarray(np.floor(steps))
