"""The scripts whose numbers docs/ publishes, at sizes that say nothing: they run."""

import pytest

from tests.benchmarks import archive_scale, rate_sweep, verdict_trust


def test_archive_scale_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(archive_scale, "RUNS_OF_A_SIDE", 3)
    # A process of its own for each takes seconds to start.
    monkeypatch.setattr(archive_scale, "measured", lambda function, words: (1.0, 1.0, function(words)))
    archive_scale.main(["--points", "600", "--nights", "12", "--cases", "2"])
    said = capsys.readouterr().out
    assert "NOT KEPT 10 times as fast as from a perflog, with pandas: 1.0" in said
    assert "NOT KEPT 10 times as fast as from ReFrame's sessions: 1.0" in said


def test_verdict_trust_runs_without_launches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verdict_trust, "NOISES", {"normal": verdict_trust.NOISES["normal"]})
    verdict_trust.main(["--turns", "0", "--cases", "20", "--pairs", "1"])
    lines = capsys.readouterr().out.strip().splitlines()
    assert len([line for line in lines if " of 1 " in line]) == 3


def test_rate_sweep_tells_the_share_on_the_wire() -> None:
    """25 MB take 100 ms at 2 Gbit/s: of 125 ms, 80 %. Points that are not reliable only count as points."""
    point = {
        "toolchain": "openmpi@5.0.11", "configuration": "basic", "collective": "ibcast", "message_bytes": 25_000_000,
        "t_comm_ref_ns": 125_000_000, "r_overhead": 0.9, "r_overhead_vs_basic": None, "reliable": True,
    }  # fmt: skip
    slower = {**point, "t_comm_ref_ns": 200_000_000, "r_overhead": 0.5}
    wrong = {**point, "r_overhead": 7.0, "reliable": False}
    (line,) = rate_sweep.rows("2gbit", [point, slower, point, wrong])
    assert line == ("2gbit", "openmpi@5.0.11", "basic", "ibcast", "80 %", "0.90 [0.50, 0.90]", "-", "3 of 4")
    assert rate_sweep.table([line]).splitlines()[-1] == f"| {' | '.join(line)} |"
    (line,) = rate_sweep.rows("2gbit", [wrong])
    assert line[4:] == ("-", "-", "-", "0 of 1")
