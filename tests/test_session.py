"""What ReFrame prints, as events; what became of a case, in one line."""

import io
import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.planning.benchmarks.registry import AXES, BY_SESSION
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.options import Options
from mpi_campaign.planning.plan import Plan
from mpi_campaign.processes.progress import Progress
from mpi_campaign.running import case_results, reframe_session, sessions
from mpi_campaign.running.reframe_session import EVENT, Event, Outcome, outcomes, pattern
from mpi_campaign.running.session_progress import Watch

CASE = Case("mpich@5.0.2", "wheels", "mpich-5_0_2", "wire:2gbit", "async", "nbc_overlap", {"collective": "ibcast"})
PLAN = Plan(Options(), "wire:2gbit", (Placement(1, 2, 1),), (CASE,), {})
WHOLE = '{"type": "header"}\n{"type": "footer", "complete": true}\n'


TEST = "nbc_overlap %configuration=async %basic.collective=ibcast /d8 @local:wire+mpich-5_0_2"


@pytest.mark.parametrize(
    ("line", "what", "reason"),
    [
        (f"[ RUN      ] {TEST}", "RUN", ""),
        (f"[       OK ] ( 1/20) {TEST}", "OK", ""),
        (f"[     FAIL ] (20/20) {TEST}", "FAIL", ""),
        (f"[     SKIP ] (4/8) {TEST} [no, why]", "SKIP", "no, why"),
    ],
)
def test_events(line: str, what: str, reason: str) -> None:
    match = EVENT.match(line)
    assert match is not None
    event = Event(match["what"], match["test"], match["environment"], match["reason"] or "")
    assert (event.what, event.environment, event.reason) == (what, "mpich-5_0_2", reason)
    assert event.name == "nbc_overlap"
    assert event.parameters == {"configuration": "async", "collective": "ibcast"}


@pytest.mark.parametrize(
    ("name", "selected"),
    [
        (
            "nbc_overlap %configuration=async %test_interval_ns=0 %basic.collective=ibcast %basic.computation=dgemm",
            True,
        ),
        ("nbc_overlap %configuration=async %basic.computation=dgemm %basic.collective=ireduce", True),
        ("nbc_overlap %configuration=async %basic.collective=ibcast_more %basic.computation=dgemm", False),
        ("nbc_overlap %configuration=basic %basic.collective=ibcast %basic.computation=dgemm", False),
        ("nbc_overlap %configuration=async %basic.collective=ibcast %basic.computation=triad", False),
        ("nbc_overlap_basic %configuration=async %collective=ibcast %computation=dgemm", False),
    ],
)
def test_the_pattern_selects_what_was_asked_for_and_nothing_else(name: str, selected: bool) -> None:
    axes = {"configuration": ["async"], "collective": ["ibcast", "ireduce"], "computation": ["dgemm"]}
    # ReFrame searches in the display name without its spaces.
    assert bool(re.search(pattern("nbc_overlap", axes), name.replace(" ", ""))) is selected


def test_a_benchmark_without_axes_is_selected_by_its_name() -> None:
    assert re.search(pattern("alone", {}), "alone")
    assert not re.search(pattern("alone", {}), "alone_not")


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "performance error: failed to meet reference(s): a=1 s",
            "performance error: failed to meet reference(s): a=1 s",
        ),
        (
            "performance error: \n      failed to meet reference(s): \n        a=1 s, expected 0\n        b=2 s",
            "performance error: failed to meet reference(s): a=1 s, expected 0; b=2 s",
        ),
        (None, ""),
    ],
)
def test_why_a_test_failed_is_one_line(tmp_path: Path, said: str | None, line: str) -> None:
    case = {"environ": "mpich", "fixture": False, "result": "fail", "fail_reason": said}
    (tmp_path / "report.json").write_text(json.dumps({"runs": [{"testcases": [case]}]}))
    assert [one.fail_reason for one in outcomes(tmp_path / "report.json")] == [line]


def test_a_report_that_was_never_written_has_no_outcomes(tmp_path: Path) -> None:
    assert outcomes(tmp_path / "report.json") == []
    (tmp_path / "report.json").write_text('{"runs": [')
    assert outcomes(tmp_path / "report.json") == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setattr(run_folders, "STATE", tmp_path / "state")
    return run_folders.start(tmp_path / "results", "local")


def judged(folder: RunFolder, *said: Outcome) -> tuple[str, str]:
    (found,) = case_results.results(folder, PLAN, list(said))
    json.dumps(found)
    return found["result"], found["reason"]


def failed(reason: str, stem: str = CASE.stem, where: str = "") -> Outcome:
    return Outcome(stem, CASE.environment, False, "fail", "sanity", reason, where)


def record(folder: RunFolder, text: str) -> None:
    (folder.records_folder / f"{CASE.stem}.jsonl").write_text(text)


def log(folder: RunFolder, text: str) -> None:
    (folder.partial / "logs" / f"{CASE.stem}.err").write_text(text)


def test_a_whole_record_passes(folder: RunFolder) -> None:
    record(folder, WHOLE)
    assert judged(folder) == ("pass", "")


def test_nothing_measured_is_missing(folder: RunFolder) -> None:
    assert judged(folder)[0] == "missing"


def test_what_verification_found_is_the_reason_of_a_whole_record(folder: RunFolder) -> None:
    record(folder, WHOLE)
    log(folder, "nbc_overlap: calibrated this and that\n")
    assert judged(folder, failed("sanity error: the wire carried 1 byte")) == ("fail", "the wire carried 1 byte")


def test_what_an_earlier_campaign_did_not_find_good_passes_once_it_is_checked(folder: RunFolder) -> None:
    record(folder, WHOLE)
    for checked, result in (([], "missing"), ([replace(failed(""), result="pass")], "pass")):
        (found,) = case_results.results(folder, PLAN, checked, unchecked={CASE.stem})
        assert found["result"] == result


def test_what_an_interrupt_ended_did_not_fail(folder: RunFolder) -> None:
    (found,) = case_results.results(folder, PLAN, [failed("keyboard interrupt")], interrupted=True)
    assert found["result"] == "missing"


def test_what_a_signal_cut_off_is_missing_with_the_reason_of_its_job(folder: RunFolder) -> None:
    """Where a batch system cancels a job, ReFrame in it has the signal too, and its report says `abort`."""
    aborted = replace(failed("aborted due to ForceExitError"), result="abort")

    def told() -> tuple[str, str]:
        (found,) = case_results.results(folder, PLAN, [aborted], cut_off={CASE.stem: "job 4 on node1 was cancelled"})
        return found["result"], found["reason"]

    assert told() == ("missing", "the run was cut off before it was measured: job 4 on node1 was cancelled")
    record(folder, WHOLE)  # it had ended, but nothing had looked at it
    assert told() == ("missing", "the run was cut off before its record was checked: job 4 on node1 was cancelled")
    assert judged(folder) == ("pass", "")


def test_a_killed_rank_is_told_by_the_launcher(folder: RunFolder) -> None:
    log(folder, "# calibrated ibcast\n=====\nKILLED BY SIGNAL: 9 (Killed)\nThis typically refers to a problem\n")
    assert judged(folder, failed("no footer"))[1].startswith("it ended early: a rank was killed (SIGKILL): ")


def test_the_benchmarks_own_last_line_is_the_reason_of_a_cut_one(folder: RunFolder) -> None:
    log(folder, "nbc_overlap: calibrated this\nnbc_overlap: rank 1: MPI_Wait: no memory\nmpiexec: aborted\n")
    assert judged(folder, failed("no footer")) == ("fail", "nbc_overlap: rank 1: MPI_Wait: no memory")


def test_the_whole_message_of_what_ended_early_is_kept(folder: RunFolder) -> None:
    log(folder, "# calibrated ibcast\nfirst\x1b[31m line\n\tsecond line\ncannot load libpmix.so\n")
    (found,) = case_results.results(folder, PLAN, [failed("cannot be read")])
    assert found["message"] == "first\N{REPLACEMENT CHARACTER}[31m line\n        second line\ncannot load libpmix.so"
    record(folder, WHOLE)
    (found,) = case_results.results(folder, PLAN, [failed("sanity error: the wire carried 1 byte")])
    assert "message" not in found


def test_a_hang_names_its_limit(folder: RunFolder) -> None:
    assert judged(folder, failed("job timed out (170.1s > 170s)"))[1].startswith("it hung: no end within its limit of")


def test_a_hang_says_where_each_rank_is(folder: RunFolder) -> None:
    lines = [f"nbc_overlap: rank {rank} hangs in MPI_Wait of MPI_Ibcast: point 4, repetition 7" for rank in (1, 0)]
    log(folder, "\n".join([*lines, "mpiexec: aborted", "nbc_overlap: the record is closed"]))
    result, reason = judged(folder, failed("sanity error: not over after 160 s"))
    assert result == "fail"
    assert reason.startswith("it hung: no end within its limit of ")
    assert reason.endswith(
        ": rank 0 hangs in MPI_Wait of MPI_Ibcast: point 4, repetition 7; "
        "rank 1 hangs in MPI_Wait of MPI_Ibcast: point 4, repetition 7"
    )


def test_an_early_end_on_several_nodes_names_them_where_the_launcher_does_not(folder: RunFolder) -> None:
    record = folder.partial / "records" / f"{CASE.stem}.jsonl"
    record.parent.mkdir(parents=True, exist_ok=True)
    places = [{"rank": rank, "host": f"node{rank + 1}"} for rank in range(10)]
    record.write_text(json.dumps({"type": "header", "nodes": 10, "placement": places}) + "\n")
    log(folder, "[proxy:0@n] HYD_pmcd_pmip_control_cmd_cb (/pmip_cb.c:490): assert (!closed) failed\n")
    reason = judged(folder, failed("sanity error: exit code 7"))[1]
    assert reason.endswith("; it ran on node1, node2, node3, node4, node5, node6, node7, node8 and 2 more nodes")
    log(folder, "prterun noticed that process rank 1 with PID 4711 on node node2 exited on\nsignal 9 (Killed).\n")
    assert "it ran on" not in judged(folder, failed("sanity error: exit code 7"))[1]


def test_a_hang_names_the_nodes_and_those_that_nothing_was_heard_from(folder: RunFolder) -> None:
    places = [{"rank": rank, "host": f"node{rank // 2 + 1}"} for rank in range(4)]
    record = folder.partial / "records" / f"{CASE.stem}.jsonl"
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps({"type": "header", "nodes": 2, "placement": places}) + "\n")
    log(folder, "nbc_overlap: rank 0 hangs in MPI_Wait\nnbc_overlap: rank 1 hangs in MPI_Wait\n")
    reason = judged(folder, failed("sanity error: not over after 160 s"))[1]
    assert reason.endswith(
        ": rank 0 on node1 hangs in MPI_Wait; rank 1 on node1 hangs in MPI_Wait; nothing was heard from node2"
    )


def test_without_basic_a_configuration_is_missing(folder: RunFolder) -> None:
    assert CASE.basic is not None
    assert judged(folder, failed("no footer", CASE.basic.stem)) == (
        "missing",
        "basic, whose sizes it needs, failed: no footer",
    )


@pytest.mark.parametrize(
    ("build", "why"), [("FAIL", ["the build failed"] * 2), ("OK", ["dependencies failed", "basic, whose sizes"])]
)
def test_a_case_whose_dependencies_failed_says_which(folder: RunFolder, build: str, why: Sequence[str]) -> None:
    usual = {name: value for name in BY_SESSION if (value := AXES[name].usual) is not None}
    case = replace(CASE, parameters={**CASE.parameters, **usual})
    assert case.basic is not None
    said = io.StringIO()
    watch = Watch(Progress(1, said), replace(PLAN, cases=(case,)), folder, lambda: None)
    watch.on_event(Event(build, "build_benchmarks", case.environment))
    for one in (case.basic, case):
        test = f"{one.launched_by} %configuration={one.configuration} %collective=ibcast"
        watch.on_event(Event("SKIP", test, one.environment, "dependencies failed"))
    lines = said.getvalue().splitlines()[-2:]
    assert all(f"[{words}" in line for words, line in zip(why, lines, strict=True))


def test_a_whole_record_passes_whatever_basic_is_held_against(folder: RunFolder) -> None:
    """`basic` was worse than its reference: its sizes were good all the same."""
    assert CASE.basic is not None
    record(folder, WHOLE)
    assert judged(folder, failed("r_overhead is beyond its reference", CASE.basic.stem)) == ("pass", "")


@pytest.mark.parametrize("phases", [("performance",), ("performance", "sanity")])
def test_the_phase_in_which_a_case_failed_is_kept(folder: RunFolder, phases: tuple[str, ...]) -> None:
    """Of the fixture and of the test that judges it; what was not what was asked for outweighs a reference."""
    record(folder, WHOLE)
    (found,) = case_results.results(folder, PLAN, [replace(failed("so it is"), fail_phase=phase) for phase in phases])
    assert (found["result"], found["fail_phase"]) == ("fail", phases[-1])


def test_a_build_that_failed_quotes_the_compiler(folder: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "rfm_build.out").write_text("[1/2] cc\nengine.c:3: error: no such thing\nninja: stopped\n")
    assert judged(folder, failed("exit 1", "", str(tmp_path))) == (
        "fail",
        "the build failed: engine.c:3: error: no such thing",
    )


def test_a_test_that_an_interrupt_ends_is_cut_off_and_did_not_fail(tmp_path: Path) -> None:
    session = tmp_path / "session.py"
    session.write_text(
        "import signal, sys, time\n"
        f"line = '{TEST}'\n"
        "for number in (signal.SIGTERM, signal.SIGINT):\n"
        "    signal.signal(number, lambda *_: (print('[     FAIL ] (2/2)', line, flush=True), sys.exit(1)))\n"
        "print('[     FAIL ] (1/2)', line, flush=True)\n"
        "print('[ RUN      ]', line, flush=True)\n"
        "time.sleep(60)\n"
    )
    events: list[str] = []

    def on_event(event: Event) -> None:
        events.append(event.what)
        if event.what == "RUN":
            os.kill(os.getpid(), signal.SIGTERM)

    assert reframe_session.run([sys.executable, str(session)], on_event, lambda: None).interrupted
    assert events == ["FAIL", "RUN", "CUT"]


def test_cases_with_the_same_result_and_reason_share_a_line() -> None:
    cases = [
        {"case": "a ibcast", "result": "missing", "reason": "cut off"},
        {"case": "b ibcast", "result": "fail", "reason": "no thread"},
        {"case": "c ibcast", "result": "missing", "reason": "cut off"},
        {"case": "d ibcast", "result": "pass", "reason": ""},
        {"case": "e ibcast", "result": "skip", "reason": "cut off"},
    ]
    assert list(case_results.failure_lines(cases)) == [
        "MISSING 2 cases, from a ibcast to c ibcast, each: cut off",
        "FAIL b ibcast: no thread",
    ]


def test_a_launch_that_failed_says_why_before_reframe_reports(folder: RunFolder) -> None:
    assert case_results.known_early(folder, PLAN, CASE) == ""
    said = folder.partial / "logs" / f"{CASE.stem}.err"
    said.parent.mkdir(exist_ok=True)
    said.write_text("nbc_overlap: a budget of 2 s is too small for one repetition\n")
    assert case_results.known_early(folder, PLAN, CASE) == said.read_text().strip()


@pytest.mark.parametrize(("result", "broken"), [("pass", True), ("fail", False), ("abort", False)])
def test_reframe_itself_failed_where_no_test_did(result: str, broken: bool) -> None:
    ended = Outcome("", "mpich", True, result, "", "", "")
    assert bool(sessions.why_broken(reframe_session.Session(1, False, []), [ended])) is broken
