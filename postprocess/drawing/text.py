"""Texts of numbers and names for people. Names come from outside: `clean` makes them safe to print and to draw."""

import math
import re
from collections.abc import Callable, Iterable, Sequence

_NANOSECOND_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))
_BYTE_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))


def clean(text: object) -> str:
    """The text without characters that control a terminal, an SVG file or the layout of a line.

    Line breaks and tabs become spaces; other control, format (right-to-left overrides), separator and surrogate
    characters become U+FFFD.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c in "\t\n\r" else "\N{REPLACEMENT CHARACTER}" for c in text)


def without_common(texts: Sequence[str]) -> tuple[list[str], str]:
    """Texts of parts, `a, b, c`, without the parts behind the first one that all of them have; and these parts."""
    parts = [text.split(", ") for text in texts]
    common = [part for part in parts[0][1:] if all(part in own[1:] for own in parts)] if parts else []
    left = [", ".join([first, *(part for part in more if part not in common)]) for first, *more in parts]
    return left, ", ".join(common)


def short(text: object, most: int = 120) -> str:
    """The cleaned text in one line of at most `most` characters; a text that is cut ends with an ellipsis."""
    line = " ".join(clean(text).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def first_of(names: Iterable[str], most: int, more: str = ", and {} more") -> str:
    """The first names, by commas, and how many others there are."""
    every = list(names)
    return ", ".join(every[:most]) + (more.format(len(every) - most) if len(every) > most else "")


def shortened(lines: Iterable[str], most: int = 20, where: str = "") -> list[str]:
    """Each of the lines once; of more than `most` the first ones, and how many more there are, and where."""
    each = list(dict.fromkeys(lines))
    return each if len(each) <= most else [*each[: most - 1], f"and {len(each) - most + 1} more{where}"]


def duration(nanoseconds: float) -> str:
    """A time for axes and tables, with three significant digits: ``8 ms``, ``500 µs``; ``-`` for NaN."""
    return _scaled(nanoseconds, _NANOSECOND_UNITS)


def duration_and_interval(value: float, low: float, high: float) -> str:
    """A time and its interval, all in one unit: ``1.07 µs [0.98, 1.11]``; without the interval where it is not known,
    and ``-`` for NaN."""
    if not (math.isfinite(value) and math.isfinite(low) and math.isfinite(high)):
        return duration(value)
    scale, unit = _unit_of(value, _NANOSECOND_UNITS)
    shown, *ends = (_three_digits(one / scale) for one in (value, low, high))
    return f"{shown} {unit} [{ends[0]}, {ends[1]}]"


def size(count: float) -> str:
    """A number of bytes, with three significant digits: ``1.5 MiB``; ``-`` for NaN."""
    return _scaled(count, _BYTE_UNITS)


def work(amount: int, computation: str) -> str:
    """The work of a thread: ``matrices of order 735``, ``4194304 elements``."""
    return f"matrices of order {amount}" if computation == "dgemm" else f"{amount} elements"


def capitalised(text: str) -> str:
    """The text, which is not empty, with a capital at its beginning and everything else as it is. A symbol, as in
    `g, the gap between messages`, stays as it is: G is another one."""
    return text if text[1:2] == "," else f"{text[0].upper()}{text[1:]}"


def plural(count: int, noun: str) -> str:
    """A number of things: ``1 rank``, ``2 ranks``, ``0 launches``."""
    ending = "es" if noun.endswith("ch") else "s"
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{ending}"


def cores(count: int) -> str:
    """The number of cores per rank: ``4 cores per rank``."""
    return f"{plural(count, 'core')} per rank"


def ratio(value: float) -> str:
    """A ratio with two decimals; ``-`` for NaN."""
    if not math.isfinite(value):
        return "-"
    rounded = round(value, 2) + 0.0
    return f"{rounded:.2f}" if abs(rounded) < 100 else f"{rounded:.0f}"


def percent_with_decimal(fraction: float) -> str:
    """A fraction in per cent with one decimal: ``12.4 %``; ``-`` for NaN."""
    return f"{round(100 * fraction, 1) + 0.0:.1f} %" if math.isfinite(fraction) else "-"


def quotient(value: float) -> str:
    """A ratio of times, which is never 0: as `ratio`, and below 0.1 with three significant digits, ``0.00213``."""
    shown = float(f"{value:.3g}")
    return f"{value:.{2 - math.floor(math.log10(shown))}f}" if 0 < shown < 0.1 else ratio(value)


def interval(low: float, high: float, *, words: Callable[[float], str] = ratio) -> str:
    """An interval of ratios, ``[0.05, 0.31]``; ``-`` if a bound is not finite."""
    return f"[{words(low)}, {words(high)}]" if math.isfinite(low) and math.isfinite(high) else "-"


def with_interval(value: float, low: float, high: float, words: Callable[[float], str] = ratio) -> str:
    """A value and its interval, ``0.18 [0.12, 0.24]``; the value alone where the interval is not known."""
    return f"{words(value)} {interval(low, high, words=words)}".removesuffix(" -")


def percent(fraction: float) -> str:
    """A fraction as whole per cent: ``23 %``, and ``0 %`` for a little less than nothing too; ``-`` for NaN."""
    if not math.isfinite(fraction):
        return "-"
    shown = f"{100 * fraction:.0f} %"
    return "0 %" if shown == "-0 %" else shown


def share(fraction: float) -> str:
    """A small fraction in per cent: ``0.4 %``, ``< 0.1 %``, ``12 %``; ``-`` for NaN."""
    if not math.isfinite(fraction):
        return "-"
    percent = 100 * fraction
    if 0 < percent < 0.1:
        return "< 0.1 %"
    return f"{percent:.1f} %" if percent < 9.95 else f"{percent:.0f} %"


def change(fraction: float) -> str:
    """A relative change in per cent with its sign: ``+18 %``, ``-0.4 %``, ``0 %``; ``-`` for NaN."""
    if not math.isfinite(fraction):
        return "-"
    shown = f"{100 * fraction:+.{1 if abs(fraction) < 0.0995 else 0}f} %"
    return "0 %" if shown in ("+0.0 %", "-0.0 %") else shown


def drift(ppm: float) -> str:
    """The size of a clock's drift, with two significant digits: ``12 ppm``, ``0.031 ppm``; ``-`` for NaN."""
    return f"{float(f'{abs(ppm):.2g}'):.12g} ppm" if math.isfinite(ppm) else "-"


def _scaled(value: float, units: tuple[tuple[int, str], ...]) -> str:
    if not math.isfinite(value):
        return "-"
    scale, unit = _unit_of(value, units)
    return f"{_three_digits(value / scale)} {unit}"


def _unit_of(value: float, units: tuple[tuple[int, str], ...]) -> tuple[int, str]:
    """The largest unit of which there is at least one; the last one where there is none."""
    return next((one for one in units if float(f"{abs(value) / one[0]:.3g}") >= 1), units[-1])


def _three_digits(number: float) -> str:
    digits = max(0, 2 - math.floor(math.log10(abs(number)))) if number else 0
    shown = f"{number:.{digits}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def has_words(name: str, words: str) -> bool:
    """Whether a name has all of the words. Of `wire:2gbit` and `mpich@5.0.2` the first part is enough."""
    split = re.compile(r"[\s(),]+").split
    there = {part for text in split(name) for part in (text, re.split("[@:]", text)[0])}
    return all(word in there for word in split(words) if word)
