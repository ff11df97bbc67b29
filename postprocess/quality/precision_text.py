"""The numbers of `precision` as a part of a Markdown page: tables, pictures, provenance."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from postprocess.drawing.columns import aligned
from postprocess.drawing.text import clean, duration, share
from postprocess.families.timing_selfcheck.judgement import YES_LIMIT
from postprocess.quality.precision import (
    BETWEEN,
    HOLD_AIM_SECONDS,
    LAUNCHES_AIM,
    NOT_REACHED,
    PERCENTS,
    REACHED,
    WITHIN,
    Aim,
    Known,
    Precision,
    PrecisionRecords,
    Stops,
    aims,
)
from postprocess.quality.stop_rules import ADAPTIVE, ASKED_WIDTH, FIXED_100, FIXED_1000, RERUN

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
"""The markers in a page: `campaign figures --out docs` replaces everything between these lines."""

START, CLOCK, STOP, LAUNCHES = PICTURES = ("start", "clock", "stop", "launches")
RULES = "rules"
"""The file beside the pictures with every stop rule on every kind of work: `rules_csv`."""

_ALT = {
    START: "Cumulative shares of starts by their imbalance, for each method of starting",
    CLOCK: "Errors of the common clock at once and later, with and without drift correction",
    STOP: "Wall time that each stop rule takes, by kind of work and target time",
    LAUNCHES: "Coefficients of variation over launches for median, mean and minimum, by target time",
}
PLACES = {WITHIN: "within a node", BETWEEN: "between two nodes"}
METHODS = {
    "deadline": "deadline",
    "deadline, late ones too": "deadline, the late ones too",
    "mpi_barrier": "MPI_Barrier",
    "dissemination": "dissemination barrier",
    "true deadline": "deadline, artificial clocks: true",
}
RULE_TITLES = {
    ADAPTIVE: "this project: adaptive",
    FIXED_1000: "OSU: 1000 fixed, 100 before",
    FIXED_100: "OSU: 100 fixed, 10 before",
    RERUN: "bench-pcomm: 150, again until 5 %",
}
"""Titles, which say whose rule it is. The programs of others are not run."""


class PageError(ValueError):
    """A page that has no place for the figures; the message is one line."""


def into_page(page: str, part: str) -> str:
    """The page with this part between the markers, instead of what was there. Raises PageError without markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise PageError(f"no place for the figures: the lines '{BEGIN}' and '{END}' are needed, in this order")
    return f"{before}{BEGIN}\n\n{part.strip()}\n\n{END}{after}"


def part_of_page(precision: Precision, records: PrecisionRecords, pictures: Mapping[str, str]) -> str:
    """The whole part, from the values to reach to the provenance. `pictures`: addresses, of PICTURES and RULES."""
    run = records.run
    sections = [
        f"Measured on {clean(run.get('started_utc', '?'))} with {clean(run.get('toolchain', '?'))}: "
        f"see [provenance](#provenance).",
        "" if records.interrupted else clean(run.get("note", "")),
        *(f"**{line[0].upper()}{line[1:]}.**" for line in warnings(precision, records)),
    ]
    if not precision.empty:
        sections += ["### Values to reach", _aims_table(precision, records), _why_not(precision, records)]
    if precision.starts:
        sections += ["### Start", *_picture(START, pictures), _starts(precision, records)]
    if precision.clocks:
        sections += ["### Clock", *_picture(CLOCK, pictures), _clocks(precision, records)]
    if precision.stops:
        sections += ["### When to stop", *_picture(STOP, pictures), _stops(precision, pictures)]
    if precision.launches > 1:
        sections += ["### Launches", *_picture(LAUNCHES, pictures), _variations(precision)]
    sections += ["### Provenance", _provenance(records)]
    return "\n\n".join(section for section in sections if section)


def warnings(precision: Precision, records: PrecisionRecords) -> list[str]:
    """What a reader has to know before the numbers, a line each, without a full stop."""
    lines = []
    if records.interrupted:
        rest = "too little was measured to say anything" if precision.empty else "what follows is what there is"
        lines.append(f"partial: {clean(records.interrupted)}; {rest}")
    if records.run.get("busy"):
        lines.append(
            f"the machine was busy: {clean(records.run['busy'])}; the numbers are those of a disturbed machine: "
            "measure again when nothing else runs"
        )
    if records.run.get("trouble"):
        lines.append(f"not all went well: {clean(records.run['trouble'])}")
    return lines


def verdict_lines(precision: Precision, records: PrecisionRecords) -> list[str]:
    """The values to reach, for a terminal; none where nothing was measured."""
    if precision.empty:
        return []
    first, *rows = [
        (aim.what, f"{_sign(aim)} {_limit(aim)}", aim.verdict, _measured(aim)) for aim in _all_aims(precision, records)
    ]
    return aligned(first, rows, right=set()).splitlines()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; bars in cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _picture(name: str, pictures: Mapping[str, str]) -> list[str]:
    return [f"![{_ALT[name]}]({pictures[name]})"] if name in pictures else []


def _all_aims(precision: Precision, records: PrecisionRecords) -> list[Aim]:
    return aims(precision, records.no_nodes, records.interrupted)


_UNITS: Mapping[str, Callable[[float], str]] = {
    "ns": duration, "": share, "times": "{:.1f}".format, "s": lambda value: duration(1e9 * value),
}  # fmt: skip


def _known(known: Known, unit: str) -> str:
    show = _UNITS[unit]
    if math.isnan(known.value):
        return "–"
    value = show(known.value)
    if math.isnan(known.low) or known.low == known.high:
        return value
    high = "∞" if math.isinf(known.high) else show(known.high)
    return f"{value} [{show(known.low)}, {high}]"


def _sign(aim: Aim) -> str:
    return "≥" if aim.at_least else "≤"


def _unit(aim: Aim) -> str:
    return "times" if aim.at_least else "ns" if aim.limit >= 10 else ""


def _limit(aim: Aim) -> str:
    return {"times": f"{aim.limit:g} times", "ns": duration(aim.limit), "": share(aim.limit)}[_unit(aim)]


def _measured(aim: Aim) -> str:
    measured = [
        f"{duration(float(target))}: {_known(known, _unit(aim))}" if target else _known(known, _unit(aim))
        for target, known in aim.values
    ]
    return "; ".join([*measured, *([clean(aim.missing)] if aim.missing else [])]) or "–"


def _aims_table(precision: Precision, records: PrecisionRecords) -> str:
    rows = [
        [
            clean(aim.what),
            f"{_sign(aim)} {_limit(aim)}",
            _measured(aim),
            f"**{aim.verdict}**" if aim.verdict in (REACHED, NOT_REACHED) else aim.verdict,
        ]
        for aim in _all_aims(precision, records)
    ]
    return (
        "What is aimed at on a quiet machine. The value itself is judged, not the range in brackets: the 95 % interval "
        "of a percentile and of a coefficient of variation, the smallest and the largest launch or series otherwise."
        "\n\n" + table(["", "to reach", "measured", ""], rows)
    )


def _why_not(precision: Precision, records: PrecisionRecords) -> str:
    """Why aims on repetitions and launches were not reached, as far as the records tell, an item each."""
    missed = {aim.what: aim for aim in _all_aims(precision, records) if aim.verdict == NOT_REACHED}
    lines = []
    for kind in ("computation", "communication"):
        if f"variation of launches, {kind}" in missed:
            far = [
                variation
                for variation in precision.variations
                if variation.kind == kind and variation.median.value > YES_LIMIT
            ]
            for even_fastest in (True, False):
                here = [one for one in far if (one.minimum.value > YES_LIMIT) == even_fastest]
                if here:
                    minima = ", ".join(f"{duration(one.target_ns)}: {share(one.minimum.value)}" for one in here)
                    lines.append(f"{kind}, launches: {_LAUNCHES_VARY[even_fastest]} ({minima}).")
        speed = missed.get(f"OSU's 1000 repetitions / adaptive stop, {kind}")
        if speed:
            slow = {target for target, known in speed.values if known.value < speed.limit}
            stops = [stop for stop in precision.stops if stop.kind == kind and stop.rule == ADAPTIVE]
            repetitions = ", ".join(
                f"{duration(one.target_ns)}: {one.spread(lambda replay: replay.repetitions).value:.0f}"
                for one in stops
                if str(one.target_ns) in slow
            )
            lines.append(
                f"{kind}, stop: times within a series vary so much that an interval of {share(ASKED_WIDTH)} takes "
                f"many repetitions by itself ({repetitions})."
            )
    return "What is not reached, and what varies:\n\n" + "\n".join(f"- {line}" for line in lines) if lines else ""


_LAUNCHES_VARY = {
    True: "even the fastest repetition varies from launch to launch, so that more repetitions would hardly help; "
    "variation of the minimum",
    False: "the fastest repetition varies less than the median: launches differ in how many repetitions are slowed "
    "down; variation of the minimum",
}


def _skipped(records: PrecisionRecords) -> str:
    return f"Between two nodes: not measured, {clean(records.no_nodes)}.\n\n" if records.no_nodes else ""


def _starts(precision: Precision, records: PrecisionRecords) -> str:
    head = ["where", "start by", "starts", "late", *(f"p{percent}" for percent in PERCENTS), "largest"]
    rows = [
        [
            PLACES[start.where],
            METHODS[start.method],
            str(len(start.imbalance_ns)),
            str(start.late),
            *(_known(known, "ns") for known in start.percentiles),
            duration(float(start.imbalance_ns.max())),
        ]
        for start in precision.starts
    ]
    return (
        "Imbalance: how long after the first rank the last one begins, by the common clock, with that clock's error. "
        "The methods take turns. A benchmark marks a start for which a rank missed the deadline: such starts have a "
        "row of their own. In brackets, 95 % intervals from order statistics. On artificial clocks the true time of "
        "every start is known.\n\n" + _skipped(records) + table(head, rows)
    )


def _clocks(precision: Precision, records: PrecisionRecords) -> str:
    head = ["where", "clocks", "", "launches", "residual, drift corrected", "offset alone", "true error"]
    rows = [
        [
            PLACES[clock.where],
            clock.what,
            clock.moment,
            str(clock.launches),
            _known(clock.with_drift, "ns"),
            _known(clock.without_drift, "ns"),
            _known(clock.true, "ns"),
        ]
        for clock in precision.clocks
    ]
    refused = [f"Refused: {clean(truth.refusal)}." for truth in records.truths if truth.refusal]
    return (
        "Residual: the common clock's error as an exchange of messages sees it, with the error of that exchange; the "
        "median launch, in brackets the best and the worst. *One clock*: ranks of a node, which are not corrected. "
        "*Two clocks, 100 s apart*: nodes in time and network namespaces of their own, joined by a veth pair. One "
        "oscillator drives both, so that their two columns should be the same. *Artificial*: the ranks read the "
        "machine's clock with this offset and drift added, so that the true error is known.\n\n"
        + _skipped(records)
        + table(head, rows)
        + "".join(f"\n\n{line}" for line in refused)
    )


def _stops(precision: Precision, addresses: Mapping[str, str]) -> str:
    close = {(one.kind, one.target_ns, one.rule): f"{one.close(0.02)} of {len(one.replays)}" for one in precision.stops}
    faster = [
        [
            f"{one.kind}, {duration(one.target_ns)}",
            _known(one.ratio, "times"),
            f"{one.pairs} of {one.series}",
            *(close[one.kind, one.target_ns, rule] for rule in (ADAPTIVE, FIXED_1000)),
        ]
        for one in precision.faster
    ]
    return (
        "Every rule is asked of the same recorded series, from the same places in them. Those of OSU and of "
        "bench-pcomm are written as they have them; their programs are not run.\n\n*Times*: the wall time of OSU's "
        "1000 repetitions, without their 100 warm-ups, over that of the adaptive stop, on the series where both "
        "reached the width. *Within 2 %*: on how many series the rule's own estimate (a median; the others' is a mean) "
        "was so near to the median of the whole series.\n\n"
        + table(
            ["work", "OSU's 1000 / adaptive, times", "on series", "within 2 %, adaptive", "within 2 %, OSU's 1000"],
            faster,
        )
        + (f"\n\nEvery rule on every kind of work: [{RULES}.csv]({addresses[RULES]})." if RULES in addresses else "")
    )


def rules_csv(precision: Precision) -> str:
    """Every stop rule on every kind of work: the median series, in brackets the smallest and the largest.

    Wall time and repetitions are all that the rule needs, with its own warm-ups and reruns. The interval is that of the
    median of what the rule kept; the columns after it count the series on which it was narrow enough, and on which the
    rule's estimate was so near to the median of the whole series.
    """
    head = [
        "work", "rule", "wall time", "repetitions", "width of the 95 % interval reached",
        f"width at most {share(ASKED_WIDTH)}", "within 1 %", "within 2 %",
    ]  # fmt: skip
    text = io.StringIO()
    rows = ([f"{one.kind}, {duration(one.target_ns)}", *_stop_cells(one)] for one in precision.stops)
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue()


def _stop_cells(one: Stops) -> list[str]:
    count = len(one.replays)
    unended = f"; {one.unended} series ended before it" if one.unended else ""
    name = RULE_TITLES[one.rule] + unended
    if not count:
        return [name, *["–"] * 6]
    repetitions = one.spread(lambda replay: replay.repetitions)
    same = repetitions.low == repetitions.high
    return [
        name,
        _known(one.spread(lambda replay: replay.seconds), "s"),
        f"{repetitions.value:.0f}" + ("" if same else f" [{repetitions.low:.0f}, {repetitions.high:.0f}]"),
        _known(one.spread(lambda replay: replay.width_relative), ""),
        f"{one.narrow} of {count}",
        f"{one.close(0.01)} of {count}",
        f"{one.close(0.02)} of {count}",
    ]


def _variations(precision: Precision) -> str:
    head = ["work", "launches", "median", "mean", "minimum", "interval of one launch"]
    rows = [
        [
            f"{variation.kind}, {duration(variation.target_ns)}"
            + (f": {variation.trouble}" if variation.trouble else ""),
            str(variation.launches),
            *(_known(known, "") for known in (variation.median, variation.mean, variation.minimum)),
            share(variation.width_relative),
        ]
        for variation in precision.variations
    ]
    return (
        "Coefficient of variation over launches of what each launch says of the same work: its median, its mean, its "
        "minimum; in brackets the 95 % interval, which assumes that launches are normal, and is wide with "
        f"{precision.launches} of them. The first launch, which finds the sizes, is not compared. *Interval*: width of "
        "the 95 % interval of the median in the median launch.\n\n" + table(head, rows)
    )


def _provenance(records: PrecisionRecords) -> str:
    run = records.run
    names = {
        "command": "command", "started_utc": "date", "seconds": "took, s", "commit": "commit",
        "machine": "machine", "library": "library", "placement": "ranks", "work": "work",
        "load": "taken by other programs", "steal": "taken by the hypervisor",
    }  # fmt: skip
    rows = [[title, clean(run[key])] for key, title in names.items() if run.get(key) not in (None, "")]
    return table(["", ""], rows)


def what_is_short(hold_seconds: float, launches: int) -> str:
    """What a shorter run cannot say, in one line; empty where it can say everything."""
    lacks = []
    if hold_seconds < HOLD_AIM_SECONDS:
        lacks.append(f"clocks are held for {hold_seconds:g} s, not {HOLD_AIM_SECONDS:g}")
    if launches < LAUNCHES_AIM:
        lacks.append(f"{launches} launches are compared, not {LAUNCHES_AIM} (one more finds the sizes)")
    return "A quick look: " + ", ".join(lacks) + "." if lacks else ""
