"""The scripts whose numbers docs/ publishes, at sizes that say nothing: they run."""

import json
from pathlib import Path

import pytest

from tests.benchmarks import archive_scale, rate_sweep, verdict_trust


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


# A point as `show --json` has it: 25 MB take 100 ms at 2 Gbit/s.
POINT = {
    "toolchain": "openmpi@5.0.11", "configuration": "basic", "collective": "ibcast", "message_bytes": 25_000_000,
    "t_comm_ref_ns": 125_000_000, "r_overhead": 0.9, "r_overhead_vs_basic": None, "reliable": True,
}  # fmt: skip
# A stand-in for `campaign`: at 100 Mbit/s a run cannot begin, at 500 Mbit/s a case fails, at 2 Gbit/s the first case is
# interrupted.
STAND_IN = """#!/bin/sh
if [ "$1" = show ]; then
    case $* in *500mbit*) cat "$0.points" ;; *) echo "[]" ;; esac
    exit 0
fi
for archive; do :; done # the last word
[ "$PWD" = "$archive" ] || exit 3 # a cluster would not see it
case $* in *100mbit*) exit 2 ;; esac
mkdir -p "$archive/local/.partial/20261125T000000Z-aaaaaa"
echo "{}" >"$archive/local/.partial/20261125T000000Z-aaaaaa/manifest.json"
case $* in *500mbit*) exit 1 ;; *) exit 130 ;; esac
"""


def test_rate_sweep_tells_the_share_on_the_wire() -> None:
    """Of 125 ms, the message is on the wire for 80 %. Points that are not reliable only count as points."""
    slower = {**POINT, "t_comm_ref_ns": 200_000_000, "r_overhead": 0.5}
    wrong = {**POINT, "r_overhead": 7.0, "reliable": False}
    (line,) = rate_sweep.rows("2gbit", [POINT, slower, POINT, wrong])
    assert line == ("2gbit", "openmpi@5.0.11", "basic", "ibcast", "80 %", "0.90 [0.50, 0.90]", "-", "3 of 4")
    assert rate_sweep.table([line]).splitlines()[-1] == f"| {' | '.join(line)} |"
    (line,) = rate_sweep.rows("2gbit", [wrong])
    assert line[4:] == ("-", "-", "-", "0 of 1")


def test_rate_sweep_keeps_what_incomplete_runs_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in = tmp_path / "campaign"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    (tmp_path / "campaign.points").write_text(json.dumps([POINT]))
    monkeypatch.setattr(rate_sweep, "CAMPAIGN", str(stand_in))
    assert rate_sweep.main([str(tmp_path / "archive")]) == 130
    printed, said = capsys.readouterr()
    assert [line.split()[1] for line in printed.splitlines()[2:]] == ["500mbit"]
    assert said.splitlines() == [
        "rate_sweep: the run at 100mbit ended with exit code 2; it has no points",
        "rate_sweep: the run at 500mbit ended with exit code 1; what it measured is in the table",
        "rate_sweep: the run at 2gbit ended with exit code 130; it has no points",
    ]
    with pytest.raises(SystemExit, match="2"):
        rate_sweep.main([str(tmp_path), "--rate", "fast"])
    assert "--rate: 'fast' is not a rate" in capsys.readouterr().err
