"""One ReFrame session: its command line, its life under the guard, and what it said about each test."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from mpi_campaign import ROOT
from mpi_campaign.archive import run_folders
from mpi_campaign.children import environ
from mpi_campaign.processes import guarded

EVENT = re.compile(
    r"\[\s*(?P<what>RUN|OK|FAIL|SKIP)\s*\] (?:\(\s*\d+/\d+\) )?(?P<test>.*?) /[0-9a-f]+ "
    r"@[^:\s]+:[^+\s]+\+(?P<environment>\S+)(?: \[(?P<reason>.*)\])?$"
)


@dataclass(frozen=True)
class Event:
    """A test began (RUN) or ended (OK, FAIL, SKIP). `test` is ReFrame's display name, parameters and all."""

    what: str
    test: str
    environment: str
    reason: str = ""

    @property
    def name(self) -> str:
        """The test's, without its parameters."""
        return self.test.partition(" ")[0]

    @property
    def parameters(self) -> dict[str, str]:
        """The test's and its fixtures', by name."""
        return dict(re.findall(r"%(?:\w+\.)*(\w+)=(\S+)", self.test))


@dataclass(frozen=True)
class Outcome:
    """What the session's report says of one test: fail_reason is empty unless it failed."""

    stem: str
    environment: str
    fixture: bool
    result: str
    fail_phase: str
    fail_reason: str
    folder: str

    @property
    def failed(self) -> bool:
        return self.result in ("fail", "abort")


@dataclass(frozen=True)
class Session:
    """A session that has ended; `output` is what ReFrame printed."""

    exit_code: int
    interrupted: bool
    output: list[str]

    @property
    def complaint(self) -> str:
        """What ReFrame found wrong: its first reason or error, else the last thing it said."""
        said = [line.strip() for line in self.output if line.strip()]
        errors = [line for line in said if re.search(r"Reason:|\berror\b", line, re.IGNORECASE)]
        return (errors or said[-1:] or ["nothing was said"])[0]


def command(
    *,
    settings: Path,
    folder: Path,
    partition: str,
    tests: str,
    environments: list[str],
    mode: str,
    policy: str,
    variables: Mapping[str, str] = MappingProxyType({}),
    parameters: Mapping[str, str] = MappingProxyType({}),
    loading: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """The ReFrame command line of a session; it works as well when it is typed.

    folder: where the session stages, writes its report and its JUnit file.  tests: pattern of display names.
    policy: serial for everything that is timed.  parameters: values that a test's parameter takes instead of its own.
    loading: environment variables without which ReFrame does not make the tests.
    """
    variables_of_ours = [*(f"{name}={value}" for name, value in loading.items()), *environ.assignment()]
    return [
        *(("env", *variables_of_ours) if variables_of_ours else ()),
        str(ROOT / ".venv" / "bin" / "reframe"),
        "-C",
        str(settings),
        "-c",
        str(ROOT / "reframe"),
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
    """Of display names: tests of this name whose parameters, their own or their fixtures', have one of these values."""
    having = (f"(?=.*%([^%]*[.])?{axis}=({'|'.join(map(str, values))})(%|$))" for axis, values in axes.items())
    return f"^{test}(?=%|$){''.join(having)}"


def run(words: list[str], on_event: Callable[[Event], None], on_tick: Callable[[], None]) -> Session:
    """Run ReFrame under the guard, telling events as they come and a tick in between.

    Ctrl-C and SIGTERM end it: ReFrame is interrupted, its jobs die, what is on disk stays.
    """

    def on_line(line: str) -> None:
        match = EVENT.match(line)
        if match:
            on_event(Event(match["what"], match["test"], match["environment"], match["reason"] or ""))

    variables = environ.built(environ.SESSION, {"PYTHONUNBUFFERED": "1"})
    ended = guarded.run(words, on_line, on_tick, env=variables)
    return Session(ended.exit_code, ended.interrupted, ended.output)


def outcomes(report: Path) -> list[Outcome]:
    """Read ReFrame's report; empty where the session was cut off before it wrote one."""
    try:
        document = json.loads(report.read_text())
    except (OSError, ValueError):
        return []
    return list(_outcomes(document))


def _outcomes(document: dict[str, object]) -> Iterator[Outcome]:
    runs = document.get("runs", [])
    assert isinstance(runs, list)
    for run_ in runs:
        for case in run_["testcases"]:
            yield Outcome(
                stem=str(case.get("case_stem") or ""),
                environment=str(case["environ"]),
                fixture=bool(case["fixture"]),
                result=str(case["result"]),
                fail_phase=str(case.get("fail_phase") or ""),
                fail_reason=_one_line(str(case.get("fail_reason") or "")),
                folder=str(case.get("stagedir") or ""),
            )


def _one_line(reason: str) -> str:
    """Several references that were missed are a line each in ReFrame's words, below an empty one."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    ends = [" " if line.endswith(":") else "; " for line in lines[:-1]]
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=False))


def typed(words: list[str]) -> str:
    """The command line as a person types it."""
    return shlex.join(words)
