"""Findings of `campaign doctor`."""

from collections.abc import Sequence
from dataclasses import dataclass

GOOD, NOTE, LACKING = STATES = ("good", "note", "lacking")


@dataclass(frozen=True)
class Finding:
    """One finding about a machine.  subject: what was examined.  state: `good`; `note`, results need care; `lacking`,
    something cannot run. seen: the observation.  advice: what to do; empty where the state is `good`."""

    subject: str
    state: str
    seen: str
    advice: str = ""


def finding(subject: str, seen: str, trouble: bool, advice: str) -> Finding:
    """A finding: a note with the advice where there is trouble, else good, without advice."""
    return Finding(subject, NOTE, seen, advice) if trouble else Finding(subject, GOOD, seen)


def as_text(findings: Sequence[Finding]) -> str:
    """A line for each finding, and below it a line with its advice, if any."""
    width = max(len(entry.subject) for entry in findings)
    lines = []
    for entry in findings:
        lines.append(f"{entry.state:<8}{entry.subject:<{width}}  {entry.seen}")
        if entry.advice:
            lines.append(f"{'':<{8 + width}}  -> {entry.advice}")
    return "\n".join(lines)
