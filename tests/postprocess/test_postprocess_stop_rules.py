"""Stop rules: on series whose right answer is known, and against the C functions that they repeat."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign import ROOT
from mpi_campaign.this_machine import machine
from postprocess.quality import stop_rules
from postprocess.quality.stop_rules import LONGEST, PCOMM_REPETITIONS, PCOMM_RUNS, adaptive, fixed, rerun
from postprocess.records.fields import Nanoseconds

COMMON = ROOT / "benchmarks" / "common"
RUN = PCOMM_REPETITIONS + 1


def series(*values: float) -> Nanoseconds:
    return np.array(values, dtype=np.int64)


def noise(count: int, spread: float, median: float = 1e6, seed: int = 1) -> Nanoseconds:
    found = median * np.exp(spread * np.random.default_rng(seed).standard_normal(count))
    return found.astype(np.int64)


def test_equal_times_are_settled_at_the_first_look() -> None:
    stop = adaptive(np.full(100, 1000, dtype=np.int64))
    assert stop is not None
    assert (stop.end, len(stop.kept), stop.reached, stop.estimate, stop.width_relative) == (9, 9, True, 1000.0, 0.0)


def test_looks_come_a_sixth_apart() -> None:
    assert list(stop_rules.looks(50)) == [9, 10, 11, 12, 14, 16, 18, 21, 24, 28, 32, 37, 43, 50]


def test_a_slow_beginning_is_a_warm_up_and_is_not_kept() -> None:
    times = np.concatenate([series(9000, 7000, 5000), np.full(40, 1000) + np.arange(40) % 3])
    stop = adaptive(times)
    assert stop is not None
    assert stop.reached
    assert stop.kept.max() < 2000
    assert stop.end == len(stop.kept) + 3
    assert stop_rules.outlived(stop.end, 3)


def test_a_beginning_that_is_hardly_slower_is_kept() -> None:
    """Each of the first four is slower than all others, by 0.3 %: less than half the width that is asked."""
    times = np.concatenate([np.full(4, 1_003_000), 1_000_000 + np.arange(60) % 7])
    warmup = stop_rules.warmup_of(times[:24])
    assert warmup >= 4
    assert stop_rules.warmup_matters(times[:24], warmup, 0)
    assert not stop_rules.warmup_matters(times[:24], warmup, stop_rules.ASKED_WIDTH / 2)
    stop = adaptive(times)
    assert stop is not None
    assert (stop.end, len(stop.kept), stop.reached) == (9, 9, True)


def test_the_cap_is_no_interval() -> None:
    wild = noise(2000, 0.8)
    stop = adaptive(wild, most=100)
    assert stop is not None
    assert not stop.reached
    assert len(stop.kept) == 100
    assert stop.width_relative > stop_rules.ASKED_WIDTH


def test_at_the_cap_the_interval_is_looked_at_too() -> None:
    """100 is none of the `looks`. These times are settled there, and not at the look before, 91."""
    times = noise(200, 0.03, seed=32)
    assert not stop_rules.settled(times[:91], stop_rules.ASKED_WIDTH)
    stop = adaptive(times, most=100)
    assert stop is not None
    assert (stop.end, len(stop.kept), stop.reached) == (100, 100, True)


def test_a_rule_does_not_see_what_is_before_its_begin_nor_after_its_end() -> None:
    times = noise(3000, 0.03)
    changed = times.copy()
    stop = adaptive(times, 500)
    assert stop is not None
    changed[:500] = 7
    changed[stop.end :] = 7
    again = adaptive(changed, 500)
    assert again is not None
    assert (again.end, again.estimate) == (stop.end, stop.estimate)


def test_a_series_that_is_over_before_the_rule_has_no_answer() -> None:
    assert adaptive(noise(20, 0.5)) is None
    assert fixed(noise(100, 0.01), 0, 100, 10) is None
    assert rerun(noise(100, 0.01)) is None


def test_a_fixed_number_leaves_its_warm_ups_out_and_takes_the_mean() -> None:
    times = np.concatenate([np.full(10, 9000), np.full(50, 1000), np.full(50, 2000), np.full(10, 5)]).astype(np.int64)
    stop = fixed(times, 0, 100, 10)
    assert stop is not None
    assert (stop.end, stop.estimate, len(stop.kept)) == (110, 1500.0, 100)


def test_a_wide_measurement_is_made_again_and_thrown_away() -> None:
    wide = np.where(np.arange(RUN) % 10 == 0, 100_000, 1000)
    quiet = np.full(RUN, 1000)
    stop = rerun(np.concatenate([wide, wide, quiet, wide]).astype(np.int64))
    assert stop is not None
    assert (stop.end, stop.estimate, stop.reached) == (3 * RUN, 1000.0, True)


def test_fifty_wide_measurements_are_the_last() -> None:
    wide = np.where(np.arange(60 * RUN) % 10 == 0, 100_000, 1000).astype(np.int64)
    stop = rerun(wide)
    assert stop is not None
    assert (stop.end, stop.reached) == (PCOMM_RUNS * RUN, False)
    assert rerun(wide[: 10 * RUN]) is None


def test_half_the_interval_is_what_counts() -> None:
    """Relative standard deviation s of 150 values: 1.655 s / sqrt(150) reaches 5 % at s = 0.37."""
    for sign, reached in ((0.34, True), (0.40, False)):
        values = np.where(np.arange(RUN) % 2 == 0, 1 + sign, 1 - sign) * 1e6
        stop = rerun(values.astype(np.int64))
        assert (stop is not None) is reached


def test_begins_share_no_repetition_of_the_fixed_rules() -> None:
    assert list(stop_rules.begins(LONGEST)) == []
    assert list(stop_rules.begins(1 + 2 * LONGEST)) == [1, 1 + LONGEST]


@pytest.mark.parametrize("rule", stop_rules.NAMES)
def test_every_rule_finds_the_median_of_quiet_series(rule: str) -> None:
    for seed in range(20):
        times = noise(2000, 0.005, seed=seed)
        stop = stop_rules.RULES[rule](times, 1)
        assert stop is not None
        assert stop.reached
        assert abs(stop.estimate / float(np.median(times)) - 1) < 0.01


class _C:
    """series.h and stats.h themselves."""

    def __init__(self, library: Path) -> None:
        self._c = ctypes.CDLL(str(library))
        size, boolean, pointer = ctypes.c_size_t, ctypes.c_bool, ctypes.POINTER(ctypes.c_int64)
        for name, result, arguments in (
            ("series_warmup", size, [pointer, size]),
            ("series_outlived", boolean, [size, size]),
            ("series_look", boolean, [size, size]),
            ("stats_create", ctypes.c_void_p, []),
            ("stats_add", None, [ctypes.c_void_p, ctypes.c_int64]),
            ("stats_settled", boolean, [ctypes.c_void_p, ctypes.c_double]),
            ("stats_destroy", None, [ctypes.c_void_p]),
        ):
            function = getattr(self._c, name)
            function.restype, function.argtypes = result, arguments

    def warmup(self, times: Nanoseconds) -> int:
        values = (ctypes.c_int64 * len(times))(*times.tolist())
        return int(self._c.series_warmup(values, len(times)))

    def outlived(self, count: int, warmup: int) -> bool:
        return bool(self._c.series_outlived(count, warmup))

    def look(self, count: int) -> bool:
        return bool(self._c.series_look(count, stop_rules.FEWEST_WITHOUT_EXTREMES))

    def settled(self, times: Nanoseconds, asked: float) -> bool:
        found = self._c.stats_create()
        for value in times.tolist():
            self._c.stats_add(found, value)
        answer = bool(self._c.stats_settled(found, asked))
        self._c.stats_destroy(found)
        return answer


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> _C:
    library = tmp_path_factory.mktemp("series") / "series.so"
    sources = [str(COMMON / f"{name}.c") for name in ("sampling/series", "sampling/stats", "base/fail")]
    options = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", f"-I{COMMON / 'base'}"]
    words = [str(machine.compiler()), *options, *sources, "-lm"]
    subprocess.run([*words, "-o", str(library)], check=True)
    return _C(library)


_TIMES = st.one_of(
    st.lists(st.integers(1, 10**10), min_size=1, max_size=120),
    st.lists(st.integers(1, 6), min_size=1, max_size=120),  # ties
    st.builds(
        lambda seed, count, spread, slow: (
            (noise(count, spread, seed=seed) * np.exp(slow * np.exp(-np.arange(count) / 5))).astype(np.int64).tolist()
        ),
        st.integers(0, 10**6),
        st.integers(1, 300),
        st.sampled_from([0.002, 0.02, 0.2]),
        st.sampled_from([0.0, 0.5, 3.0]),
    ),
)


@given(times=_TIMES, asked=st.sampled_from([0.005, 0.02, 0.1]))
def test_the_functions_of_c_answer_the_same(c: _C, times: list[int], asked: float) -> None:
    found = series(*times)
    warmup = stop_rules.warmup_of(found)
    assert warmup == c.warmup(found)
    assert stop_rules.settled(found, asked) == c.settled(found, asked)
    assert stop_rules.outlived(len(found), warmup) == c.outlived(len(found), warmup)


def test_c_looks_when_this_does(c: _C) -> None:
    assert [count for count in range(1, 1200) if c.look(count)] == list(stop_rules.looks(1199))


@pytest.mark.parametrize("spread", [0.001, 0.02, 0.1])
def test_the_whole_rule_stops_where_c_would(c: _C, spread: float) -> None:
    """With the C functions put together as the section "work" of timing_selfcheck does."""

    def c_stops(times: Nanoseconds, most: int) -> tuple[int, bool]:
        for count in range(1, len(times) + 1):
            if not c.look(count) and count < most:
                continue
            warmup = c.warmup(times[:count])
            before, after = np.median(times[:warmup]) if warmup else 0, np.median(times[warmup:count])
            warmup = warmup if before > after * (1 + stop_rules.ASKED_WIDTH / 2) else 0
            kept = times[warmup:count]
            enough = len(kept) >= 9 and c.outlived(count, warmup)
            if c.look(count) and enough and c.settled(kept, stop_rules.ASKED_WIDTH):
                return count, True
            if len(kept) >= most:
                return count, False
        raise AssertionError

    for seed in range(5):
        times = noise(700, spread, seed=seed)
        times[:4] *= 3
        stop = adaptive(times, most=300)
        assert stop is not None
        assert (stop.end, stop.reached) == c_stops(times, 300)
