"""The verdicts of each library in a few lines: where sending early pays most, and how often it does."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from postprocess.drawing.text import plural, size
from postprocess.families.partitioned.verdict import (
    Choice,
    Verdict,
    choice_words,
    library_words,
    setting_words,
    unreliable_words,
)


@dataclass(frozen=True)
class Summary:
    """The answers for a library over a network in words, over all its settings.

    most: where sending early pays most, with the option, its gain and the interval; or that it pays nowhere. A gain
    that is surely above the number of partitions is left out, because sending early alone cannot bring it; where there
    is no other, the least of them is told.
    cases: in how many cases it pays, in how many an approach is faster than one message but as much without a delay, in
    how many one message is fastest, and how many cannot be told. A case is a message size in a setting. Of several
    partitions one is late: else nothing can be sent early. Empty where there is no such case.
    others: the same of the cases in which nothing is late, where another approach can still be faster than one message.
    unreliable: how many points do not count; empty where all do.
    """

    library: str
    most: str
    cases: str
    others: str
    unreliable: str


def summaries(every: Iterable[Verdict]) -> list[Summary]:
    """The summaries of all verdicts of a table, one for each library and network."""
    named = sorted(((library_words(verdict.values), verdict) for verdict in every), key=lambda pair: pair[0])
    by_library = groupby(named, lambda pair: pair[0])
    return [_summary(library, [verdict for _, verdict in of_library]) for library, of_library in by_library]


def _summary(library: str, of_library: Sequence[Verdict]) -> Summary:
    early = [verdict for verdict in of_library if verdict.has_something_late]
    others = [verdict for verdict in of_library if not verdict.has_something_late]
    return Summary(
        library,
        _most(early),
        _cases(early, "in which a partition is late", "sending early pays in"),
        _cases(others, "in which nothing is late", "another approach is faster than one message in"),
        unreliable_words(*of_library),
    )


def _most(early: Sequence[Verdict]) -> str:
    """The largest gain is the one whose interval begins highest: it is the surest."""
    if not early:
        return "no partition was late, so nothing could be sent early"
    paying = [
        (choice.gain.low, verdict, choice)
        for verdict in early
        for choice in verdict.choices
        if choice.pays_early and choice.gain is not None
    ]
    if not paying:
        return "sending early surely pays in no case"
    possible = [one for one in paying if one[0] <= one[1].values["partitions_send"]]
    most = "sending early pays most"
    if not possible:
        possible = [min(paying, key=lambda one: one[0])]
        most = (
            "sending early pays only with gains above the number of partitions, which it alone cannot bring, the least"
        )
    _, verdict, choice = max(possible, key=lambda one: one[0])
    where = f"{size(choice.message_bytes)}, {setting_words(verdict.values)}"
    return f"{most} for {where}: {choice_words(choice)}"


def _cases(of_these: Sequence[Verdict], which: str, paying: str) -> str:
    choices = [choice for verdict in of_these for choice in verdict.choices]
    pays = [choice for choice in choices if choice.pays_early]
    faster = [choice for choice in choices if choice.is_faster and choice not in pays]
    single = [choice for choice in choices if choice.is_single and len(choice.approaches) == 1]
    others = [choice for choice in choices if not choice.is_faster and choice not in single]
    words = [
        f"{what} {len(found)}{sizes}"
        for what, found, sizes in (
            (paying, pays, _sizes(pays)),
            ("an approach is faster than one message, but as much without a delay, in", faster, _sizes(faster)),
            ("one message is fastest in", single, _sizes(single)),
            ("it cannot be told in", others, ""),
        )
        if found
    ]
    return f"of {plural(len(choices), 'case')} {which}: {'; '.join(words)}" if choices else ""


def _sizes(choices: Sequence[Choice]) -> str:
    sizes = sorted({choice.message_bytes for choice in choices})
    return f" ({', '.join(size(one) for one in sizes)})"
