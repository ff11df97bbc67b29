"""The scripts that plant the truth and that time large archives, at sizes that say nothing: they run."""

import pytest

from tests.benchmarks import archive_scale, verdict_trust


def test_archive_scale_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(archive_scale, "RUNS_OF_A_SIDE", 3)
    # A process of its own for each takes seconds to start.
    monkeypatch.setattr(archive_scale, "measured", lambda function, words: (1.0, 1.0, function(words)))
    archive_scale.main(["--points", "600", "--nights", "12", "--cases", "2"])
    said = capsys.readouterr().out
    assert "kept     compare within 10 s: 1.0 s" in said


@pytest.mark.rare
def test_verdict_trust_runs_without_launches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verdict_trust, "NOISES", {"normal": verdict_trust.NOISES["normal"]})
    verdict_trust.main(["--turns", "0", "--cases", "20", "--pairs", "1"])
    lines = capsys.readouterr().out.strip().splitlines()
    assert len([line for line in lines if " of 1 " in line]) >= 3
