"""A run says that other programs use the cores."""

import multiprocessing
import time

import pytest

from mpi_campaign.doctor.disturbances import CpuTime, others_share
from mpi_campaign.doctor.load import LEAST_SECONDS, Load


def test_the_share_of_others_is_without_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", lambda _name: 100)
    taken = CpuTime(total=400, busy=300, stolen=0)
    assert others_share(taken, own=1.0) == 0.5
    assert others_share(taken, own=9.0) == 0.0
    assert others_share(CpuTime(0, 0, 0), own=1.0) == 0.0


def _spin() -> None:
    while True:
        pass


def test_a_program_that_uses_a_core_is_named() -> None:
    spinning = multiprocessing.get_context("fork").Process(target=_spin)
    load = Load()
    assert load.notes() == []
    spinning.start()
    try:
        time.sleep(LEAST_SECONDS)
        (line,) = load.notes()
    finally:
        spinning.kill()
        spinning.join()
    assert line.startswith("other load: ")
    assert "it takes time from the ranks" in line
