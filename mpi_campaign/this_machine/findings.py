"""What `campaign doctor` finds, one thing at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

GOOD, NOTE, LACKING = STATES = ("good", "note", "lacking")


@dataclass(frozen=True)
class Finding:
    """state: `good`; `note`, results need care; `lacking`, something cannot run. advice is empty when good."""

    subject: str
    state: str
    seen: str
    advice: str = ""


def finding(subject: str, seen: str, trouble: bool, advice: str) -> Finding:
    """A note with the advice where there is trouble, else good."""
    return Finding(subject, NOTE, seen, advice) if trouble else Finding(subject, GOOD, seen)


def as_text(findings: Sequence[Finding]) -> str:
    """One line per finding, and one with the advice below it."""
    width = max(len(entry.subject) for entry in findings)
    lines = []
    for entry in findings:
        lines.append(f"{entry.state:<8}{entry.subject:<{width}}  {entry.seen}")
        if entry.advice:
            lines.append(f"{'':<{8 + width}}  -> {entry.advice}")
    return "\n".join(lines)
