"""The output of a failed launch or build in one sentence: the cause and, where it is known, what to do.

Launchers and libraries tell the cause among banners, advice and consequences, and wrap it in the middle of a sentence.
`causes.yaml` has the causes that this project explains in its own words. Any other message is quoted: its first whole
sentence that tells a cause.
"""

import errno
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from mpi_campaign.errors import limits_of
from postprocess.drawing.text import clean, short, size
from postprocess.records.remarks import SPEAKER

FILE = Path(__file__).with_suffix(".yaml")
LONGEST_SENTENCE = 300
LONGEST_MESSAGE = 4000
# Of a longer text, only this many characters at its begin and at its end are searched.
LOOKED_AT = 40_000
LONGEST_LINE = 2_000
# The longest name that is quoted from a message: a path, a list of interfaces.
LONGEST_NAME = 120
# With less of it free, a library may do without shared memory, or may not start.
LITTLE_SHM_BYTES = 64 << 20


@dataclass(frozen=True)
class Cause:
    """Why a launch ended early, without a full stop. known: the words are this project's, not the launcher's."""

    words: str
    known: bool

    @property
    def after_early_end(self) -> str:
        """The words that follow `it ended early`."""
        return f": {self.words}" if self.known else f"; the launcher said: {self.words}"


@dataclass(frozen=True)
class Known:
    """A cause that this project explains in its own words.

    pattern: is searched in the lines of a message without their speaker (`[host:pid]`). A blank also matches the end of
    a line.
    words: may contain the pattern's groups by name (`what2` is a second place for `what`), and `{shm}`, what is known
    about the free space of /dev/shm; `{small}` says that it is little, and is empty where it is not.
    In the file an entry may have `signal` instead of a pattern: the number of the signal that ended a rank. limit: the
    error of what goes beyond the limit that it speaks of.
    """

    pattern: re.Pattern[str]
    words: str
    limit: str = ""


@dataclass(frozen=True)
class _Messages:
    """What `FILE` has: the known causes in the order in which they are searched, and how ranks and sentences end."""

    known: tuple[Known, ...]
    bare_ends: tuple[Known, ...]
    no_cause: re.Pattern[str]


@cache
def _messages() -> _Messages:
    from yaml import safe_load  # noqa: PLC0415 - only what has failed needs it

    content = safe_load(FILE.read_text(encoding="utf-8"))
    entries = [entry for part in content["known"].values() for entry in part]
    no_cause = re.compile("|".join(content["no_cause"]), re.IGNORECASE)
    return _Messages(tuple(map(_known, entries)), tuple(map(_known, content["bare_ends"])), no_cause)


def _known(entry: Mapping[str, Any]) -> Known:
    pattern = entry["pattern"] if "pattern" in entry else _RANK_SIGNAL.format(number=entry["signal"])
    return Known(re.compile(pattern.replace(" ", r"[ \n]"), re.IGNORECASE), entry["words"], entry.get("limit", ""))


_RANK_SIGNAL = (
    r"(?:signal:? {number}\b|\(signal {number}\)|caught signal {number}\b|signal: [a-z\s]{{1,40}} \({number}\))"
)
# What may stand before the words too: UCX's place and severity, Open MPI's name of a process, a rank's number.
_BEFORE_WORDS = re.compile(r"[\w.-]{1,60}:\d+ +UCX +\w{4,5} +|\[\[[^\]]{1,40}\],[^\]]{1,20}\] |\[\d{1,7}\] ")
# Where in its sources a launcher speaks from.
_SOURCE = re.compile(r"[\w:~]{1,80} \([^()\s]{1,300}:\d{1,6}\): ")
_FRAME = re.compile(r"[\s*=#~+_-]*")
# Between two columns of a benchmark's table: more than a blank. Some write two blanks between sentences.
_GAP = re.compile(r"(?<=[^\s.:;!?,]) {2,}(?=\S)")
# Of a library: what it does when all is well. Of a shell: that it does without the locale that it was asked for. Of
# srun: that Slurm binds nothing, which it was told not to do.
_IN_GOOD_ORDER = re.compile(
    r"\S{1,80}: (?:line \d+: )?warning: setlocale: LC_|srun: cluster configuration lacks support for cpu binding|"
    r"(?:\[\d{1,7}\] )?MPI startup\(\): (?!.*(?:unknown|not supported|error|fail))|# |\[warn\] "
)
_TELLING = re.compile(
    r"signal|killed|cannot|could not|couldn.t|can.t|unable|not found|no such|error|abort|denied|fail|invalid|refuse|"
    r"missing|not (?:recognized|available|supported|enough|allowed)|exceed|too (?:many|long|small|few|large)|unknown|"
    r"unreachable|\blost\b|tim(?:ed|e) ?out|mismatch|incompatible|exhausted|crash",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z\"'(\[/])")


def of_launch(text: str, shm_free_bytes: int | None = None, *, here: bool = False) -> Cause | None:
    """Why a launch ended early, by its standard error and output; None where they do not tell.

    shm_free_bytes: free space of /dev/shm where it ran, the least of all nodes; None where that is not known.
    here: whether it ran within the limits of this process.
    """
    lines, messages = _lines(text), _messages()
    plain = "\n".join(dict.fromkeys(line for line in lines if line))
    sentences = [
        sentence
        for sentence in _sentences(lines)
        if not messages.no_cause.search(sentence) and re.search(r"\w", sentence)
    ]
    telling = next(filter(_TELLING.search, sentences), "")
    if cause := _first(messages.known, plain, shm_free_bytes, here=here):
        return cause
    bare = None if telling else _first(messages.bare_ends, plain, shm_free_bytes)
    quoted = telling or (sentences or [""])[-1]
    return bare or (Cause(_at_a_word(quoted.rstrip(" .:,;-")), known=False) if quoted else None)


def _first(causes: Sequence[Known], plain: str, shm_free_bytes: int | None, *, here: bool = False) -> Cause | None:
    for candidate in causes:
        if match := candidate.pattern.search(plain):
            words = _in_words(candidate.words, match, shm_free_bytes)
            limit = limits_of(getattr(errno, candidate.limit)) if here and candidate.limit else ""
            return Cause(f"{words}; {limit}" if limit else words, known=True)
    return None


def of_limit(text: str) -> str:
    """The limit of this machine that a text speaks of; empty where it speaks of none."""
    limits = [cause for cause in _messages().known if cause.limit]
    cause = _first(limits, "\n".join(_lines(text)), None, here=True)
    return cause.words if cause else ""


def of_program(text: str, programs: Sequence[str]) -> list[str]:
    """The lines that programs of this project wrote themselves, if they tell more than an exit code."""
    begins = tuple(f"{program}: " for program in programs)
    lines = (line.strip() for line in text.splitlines() if line.lstrip().startswith(begins))
    return [_at_a_word(line) for line in lines if not re.search(r": exit code \d+$", line)]


def complaint(text: str, programs: Sequence[str], exit_code: int, shm_free_bytes: int | None = None) -> str:
    """Why a launch ended with an exit code: the first line of one of these programs, else the cause in the rest."""
    if from_programs := of_program(text, programs):
        return from_programs[0]
    cause = of_launch(text, shm_free_bytes, here=True)
    return cause.words if cause else f"it ended with exit code {exit_code} and said nothing"


def message(text: str) -> str:
    """An output for people: without control characters and repeated lines, shortened in the middle."""
    lines = (clean(line.expandtabs(8)).rstrip() for line in text.replace("\0", "").splitlines())
    without_repetition = [line for line, _same in groupby(line for line in lines if not line.startswith("# "))]
    text = "\n".join(without_repetition).strip("\n")
    if len(text) <= LONGEST_MESSAGE:
        return text
    half = (LONGEST_MESSAGE - len(_LEFT_OUT)) // 2
    return f"{text[:half]}{_LEFT_OUT}{text[-half:]}"


_LEFT_OUT = "\n… (the log has the rest) …\n"


def of_build(text: str) -> str:
    """Why a build failed: what CMake did not find, or the first error of a compiler or linker; "" for an empty text."""
    output = _bounded(text)
    if (error := of_limit(output)) or (error := _cmake_error(output)) or (error := _compiler_error(output)):
        return error
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)]
    telling = [line for line in lines if _TELLING.search(line)]
    return _at_a_word(next(iter(errors or telling or lines[-1:]), ""))


def _cmake_error(output: str) -> str:
    """The first sentence of CMake's first error, which it indents and wraps."""
    match = re.search(r"^CMake Error(?: at [^\n]{1,500}? \(\w{1,60}\)| in [^\n]{1,500}|): ?", output, re.MULTILINE)
    if match is None:
        return ""
    rest = output[match.end() : match.end() + LOOKED_AT].split("\n")
    body = [rest[0].strip()] if rest[0].strip() else []
    for line in rest[1:]:
        if line[:1].strip():  # not indented: the message is over
            break
        body.append(line.strip())
    sentences = _SENTENCE_END.split(" ".join(" ".join(body).split()))
    first = next(
        (sentence for sentence in sentences if re.match("Could not find", sentence, re.IGNORECASE)), sentences[0]
    )
    first = re.sub(r" with any of the following names: .*", "", first).rstrip(".")
    if "simple test program" in first and (why := _compiler_error(output)):
        return _at_a_word(f"{first}: {why}")
    # Before it gives up on a package, CMake says what it misses in a part of it: for MPI, in MPI_C.
    package = re.match(r"Could NOT find (\w{1,60}) \(missing", first)
    parts = rf"^-- (Could NOT find {package[1]}_\w{{1,60}} \(missing: [^)\n]{{1,300}}\))" if package else r"(?!)"
    part = re.search(parts, output, re.MULTILINE)
    return _at_a_word(part[1] if part else first)


def _compiler_error(output: str) -> str:
    """The first error of a compiler, else of the linker."""
    errors = re.search(
        r"^(?! *(?:collect2: |clang: error: linker))[^\n]{0,1000}?\berror: [^\n]{1,1000}", output, re.MULTILINE
    )
    if errors:
        return _at_a_word(errors[0].strip())
    undefined = re.search(r"undefined reference to [`'](?P<what>[^'\n]{1,300})'", output)
    if undefined:
        return _at_a_word(f"the linker found no {undefined['what']}: undefined reference, a library is missing")
    missing = re.search(r"cannot find (?P<what>-l[^\s:]{1,200}|[^\s:]{1,200}\.o)\b", output)
    return _at_a_word(f"the linker cannot find {missing['what']}") if missing else ""


def _bounded(text: str) -> str:
    """The begin and the end of a text."""
    return text if len(text) <= 2 * LOOKED_AT else f"{text[:LOOKED_AT]}\n{text[-LOOKED_AT:]}"


def _is_row(line: str) -> bool:
    """Whether a line is one of a table, in which nobody speaks: it has at least three columns. A line that begins with
    a bracket is UCX's, which writes two blanks after its place."""
    return line[:1] not in ("", "[") and len(_GAP.findall(line)) >= 2


def _lines(text: str) -> list[str]:
    """The lines without speakers, frames and tables. Empty lines separate paragraphs, and lines that stand alone."""
    cleaned: list[str] = []
    for raw in _bounded(text).replace("\0", "").splitlines():  # Open MPI 5 ends its banners with one
        if _is_row(raw[:LONGEST_LINE].strip()):
            cleaned.append("")
            continue
        line = " ".join(clean(raw[:LONGEST_LINE]).split())
        if _IN_GOOD_ORDER.match(line):
            continue
        speaker = SPEAKER.match(line)
        line = line[speaker.end() :].lstrip() if speaker else line
        before = _BEFORE_WORDS.match(line)
        line = line[before.end() :] if before else line
        framed = re.match(r"=(?= )|\*\*\*(?= )", line)
        line = line[framed.end() :].strip() if framed else line
        source = _SOURCE.match(line)
        if _FRAME.fullmatch(line):
            cleaned.append("")
        elif speaker or before or framed or source:
            cleaned += ["", line[source.end() :] if source else line, ""]
        else:
            cleaned.append(line)
    return cleaned


def _sentences(lines: Iterable[str]) -> Iterator[str]:
    """The sentences of wrapped lines. A sentence that ends in a colon goes on in the next paragraph."""
    begun = ""
    for some, paragraph in groupby(lines, key=bool):
        if not some:
            continue
        text = " ".join([begun, *paragraph]).strip()
        if text.endswith(":") and not begun:
            begun = text
            continue
        begun = ""
        yield from _SENTENCE_END.split(text)
    if begun:
        yield from _SENTENCE_END.split(begun)


def _in_words(words: str, match: re.Match[str], shm_free_bytes: int | None) -> str:
    """The words, filled with what the pattern matched and what is known about /dev/shm."""
    values: dict[str, str] = {}
    for group, value in match.groupdict().items():
        name = group.rstrip("0123456789")
        values[name] = values.get(name) or short(value or "", LONGEST_NAME).replace("'", "").rstrip(" .:,;")
    has = f" has {size(shm_free_bytes)} free" if shm_free_bytes else " is full or small"
    values["shm"] = has
    values["there"] = f" in /dev/shm{f', which has {size(shm_free_bytes)} free' if shm_free_bytes else ''}"
    kind, what = values.get("kind", ""), values.get("what", "")
    values["told"] = what if what.lower().startswith(kind.lower()) else f"{kind}, {what}"
    little = shm_free_bytes if shm_free_bytes is not None and shm_free_bytes < LITTLE_SHM_BYTES else None
    values["small"] = "" if little is None else f"; or /dev/shm has too little space, {size(little)} free"
    for name in ("asked", "left"):
        values[name] = size(int(values[name])) if values.get(name) else ""
    return _at_a_word(words.format_map(values))


def _at_a_word(text: str) -> str:
    """A printable line. A line that is too long is cut at a word and ends with an ellipsis."""
    line = " ".join(clean(text[: 4 * LONGEST_SENTENCE]).split())
    if len(line) <= LONGEST_SENTENCE:
        return line
    cut = line[: LONGEST_SENTENCE - 1]
    shorter = cut.rpartition(" ")[0].rstrip(" ,;:")
    return f"{shorter or cut}…"
