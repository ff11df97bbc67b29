"""One ReFrame session: its command line, its run under the guard, and its report on each test."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from mpi_campaign import ROOT
from mpi_campaign.archive import run_folders
from mpi_campaign.children import environ, packages
from mpi_campaign.processes import guarded

EVENT = re.compile(
    r"\[\s*(?P<what>RUN|OK|FAIL|SKIP|ABORT)\s*\] (?:\(\s*\d+/\d+\) )?(?P<test>.*?) /[0-9a-f]+ "
    r"@[^:\s]+:[^+\s]+\+(?P<environment>\S+)(?: \[(?P<reason>.*)\])?$"
)


@dataclass(frozen=True)
class Event:
    """A test began (RUN) or ended: OK, FAIL, SKIP, or CUT where an interrupt of the session ended it.  test: ReFrame's
    display name, parameters included."""

    what: str
    test: str
    environment: str
    reason: str = ""

    @property
    def name(self) -> str:
        """The name of the test, without its parameters."""
        return self.test.partition(" ")[0]

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the test and of its fixtures, by name."""
        return dict(re.findall(r"%(?:\w+\.)*(\w+)=(\S+)", self.test))


@dataclass(frozen=True)
class Outcome:
    """The entry of one test in the session's report. `fail_reason` is empty unless the test failed."""

    stem: str
    environment: str
    fixture: bool
    result: str
    fail_phase: str
    fail_reason: str
    folder: str

    @property
    def failed(self) -> bool:
        return self.result == "fail"

    @property
    def aborted(self) -> bool:
        """Whether a signal, or Ctrl-C, ended ReFrame before the test had ended: that says nothing about the test."""
        return self.result == "abort"


@dataclass(frozen=True)
class Session:
    """A session that has ended; `output` is what ReFrame printed."""

    exit_code: int
    interrupted: bool
    output: list[str]

    @property
    def complaint(self) -> str:
        """The file that ReFrame lacks, else its first reason or error, else the last line of its output."""
        lines = [line.strip() for line in self.output if line.strip()]
        errors = [line for line in lines if re.search(r"Reason:|\berror\b", line, re.IGNORECASE)]
        return packages.lost() or (errors or lines[-1:] or ["nothing was said"])[0]


def command(
    *,
    settings: Path,
    folder: Path,
    partition: str,
    files: Iterable[str],
    tests: str,
    environments: list[str],
    mode: str,
    policy: str,
    variables: Mapping[str, str] = MappingProxyType({}),
    parameters: Mapping[str, str] = MappingProxyType({}),
    loading: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """The ReFrame command line of a session. It also works when a person types it.

    folder: where the session stages, writes its report and its JUnit file.  files: names of the files of reframe/ that
    have the tests; ReFrame takes more than a second to load all of them.  tests: pattern of display names.
    policy: serial for everything that is timed.  parameters: values that replace those of a test's parameter.
    loading: environment variables that ReFrame needs to make the tests.
    """
    variables_of_ours = [*(f"{name}={value}" for name, value in loading.items()), *environ.assignment()]
    return [
        *(("env", *variables_of_ours) if variables_of_ours else ()),
        str(Path(sys.prefix, "bin", "reframe")),
        "-C",
        str(settings),
        *(word for name in files for word in ("-c", str(ROOT / "reframe" / f"{name}.py"))),
        f"--system={partition}",
        f"--mode={mode}",
        f"--name={tests}",
        # Not --prgenv: its patterns are added to its default, which is everything.
        f"--setvar=valid_prog_environs={','.join(environments)}",
        *(f"--setvar={name}={value}" for name, value in variables.items()),
        *(f"--parameterize={name}={values}" for name, values in parameters.items()),
        f"--exec-policy={policy}",
        "--keep-stage-files",
        "--nocolor",
        f"--stage={folder / 'stage'}",
        f"--output={folder / 'output'}",
        f"--report-file={folder / run_folders.REPORT}",
        f"--report-junit={folder / run_folders.JUNIT}",
    ]


def pattern(test: str, axes: Mapping[str, Sequence[object]]) -> str:
    """A pattern of display names. It matches tests of this name whose parameters have one of these values. Parameters
    of their fixtures count too."""
    having = (f"(?=.*%([^%]*[.])?{axis}=({'|'.join(map(str, values))})(%|$))" for axis, values in axes.items())
    return f"^{test}(?=%|$){''.join(having)}"


def run(
    words: list[str], on_event: Callable[[Event], None], on_tick: Callable[[], None], afterwards: Sequence[str] = ()
) -> Session:
    """Run ReFrame under the guard. Calls on_event for each event, and on_tick in between. afterwards: of the guard.
    Ctrl-C and SIGTERM interrupt ReFrame: its jobs die, what is on disk stays."""

    interrupted = False

    def on_interrupt() -> None:
        nonlocal interrupted
        interrupted = True

    def on_line(line: str) -> None:
        match = EVENT.match(line)
        if match:
            is_cut = match["what"] == "ABORT" or (interrupted and match["what"] == "FAIL")
            what = "CUT" if is_cut else match["what"]
            on_event(Event(what, match["test"], match["environment"], match["reason"] or ""))

    variables = environ.built(environ.SESSION, {"PYTHONUNBUFFERED": "1"})
    ended = guarded.run(words, on_line, on_tick, env=variables, afterwards=afterwards, on_interrupt=on_interrupt)
    return Session(ended.exit_code, ended.interrupted, ended.output)


def outcomes(report: Path) -> list[Outcome]:
    """Read ReFrame's report; empty where the session was cut off before it wrote one."""
    try:
        document = json.loads(report.read_text())
    except (OSError, ValueError):
        return []
    return [
        Outcome(
            stem=str(case.get("case_stem") or ""),
            environment=str(case["environ"]),
            fixture=bool(case["fixture"]),
            result=str(case["result"]),
            fail_phase=str(case.get("fail_phase") or ""),
            fail_reason=_one_line(str(case.get("fail_reason") or "")),
            folder=str(case.get("stagedir") or ""),
        )
        for session in document.get("runs", [])
        for case in session["testcases"]
    ]


def _one_line(reason: str) -> str:
    """A reason of ReFrame in one line. It has a line for each missed reference, after an empty line."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    ends = [" " if line.endswith(":") else "; " for line in lines[:-1]]
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=False))
