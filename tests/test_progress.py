"""What a person is told of how long a run still takes."""

import io

import pytest

from mpi_campaign.processes import progress
from mpi_campaign.processes.progress import LOG_INTERVAL_S, Countdown, Progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of day, to be moved by the test."""
    now = [0.0]
    monkeypatch.setattr("mpi_campaign.processes.progress.time.monotonic", lambda: now[0])
    return now


def test_what_is_left_is_expected_of_the_items_that_are_left(clock: list[float]) -> None:
    countdown = Countdown(3, 220.0)
    countdown.begin(100.0)
    assert countdown.left == "about 3 min 40 s left"
    clock[0] += 50.0
    assert countdown.left == "about 2 min 50 s left"
    assert countdown.end() == 50.0  # twice as fast as expected, and so will be the rest
    assert countdown.left == "about 1 min 0 s left"
    countdown.begin(20.0)
    clock[0] += 10.0
    countdown.end()
    assert countdown.left == "about 50 s left"
    countdown.begin(100.0)
    clock[0] += 500.0
    assert countdown.left == "about 5 s left"  # late is not done
    countdown.end()
    assert countdown.left == "nothing left"


def test_a_pause_between_items_counts_unless_it_is_longer_than_they_are(clock: list[float]) -> None:
    countdown = Countdown(4, 40.0)
    for pause in (0.0, 5.0, 1000.0):
        clock[0] += pause
        countdown.begin(10.0)
        clock[0] += 10.0
        countdown.end()
    assert countdown.left == "about 15 s left"


def test_without_expectations_the_items_that_ended_tell(clock: list[float]) -> None:
    countdown = Countdown(4, 0.0)
    for expected in ("time left not known", "about 30 s left", "about 20 s left", "about 10 s left"):
        countdown.begin()
        assert countdown.left == expected
        clock[0] += 10.0
        countdown.end()


def test_a_duration_is_read_at_a_glance() -> None:
    shown = [progress.duration(seconds) for seconds in (0.4, 59.4, 60, 3599, 3661)]
    assert shown == ["0 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 1 min"]


def test_a_log_tells_of_long_work_now_and_then(clock: list[float]) -> None:
    """A case may take an hour: whoever follows a log wants to know that it goes on, and how far it is."""
    log = io.StringIO()
    shown = Progress(1, log)
    shown.step("measuring")
    for points in range(int(2.5 * LOG_INTERVAL_S)):
        clock[0] += 1.0
        shown.status(f"{points} points")
    shown.status("")
    assert log.getvalue().splitlines() == ["[1/1] measuring", "299 points", "599 points"]
