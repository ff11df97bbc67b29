"""The matrix of the family: for each message size, whether sending the parts of a buffer early pays.

A cell is about the fastest way of sending in any configuration that was measured, because that is what a program can
choose. Scenarios in which nothing is late have no cells where others have.
"""

from collections.abc import Iterator

import pandas as pd

from postprocess.drawing.matrix import CANNOT_TELL, UNKNOWN, Cell, Row, Word
from postprocess.drawing.text import plural, size
from postprocess.families import axes
from postprocess.families.axes import PARAMETERS
from postprocess.families.partitioned.axes import DELAY_RATIO
from postprocess.families.partitioned.verdict import SCENARIO, Choice, Verdict, choice_words, verdicts

MEASURE = "x: times as fast as one message after all partitions are ready, by the fastest way"
PAYS = Word("pays", "good", "is {} times as fast sent early", "are {} times as fast sent early")
FASTER = Word(
    "faster", "even", "is faster in parts, but not by sending early", "are faster in parts, but not by sending early"
)
TOO_MUCH = "the gain is above the number of partitions: sending early alone cannot bring it"
NO_GAIN = Word("no gain", "even", "gains nothing in parts", "gain nothing in parts")
ONE_MESSAGE = Word("one message", "bad", "is fastest as one message", "are fastest as one message")


def cells_of(table: pd.DataFrame) -> list[Cell]:
    """A cell for each scenario and size of `partitioned_table`."""
    every = verdicts(table)
    shown = [verdict for verdict in every if verdict.has_something_late] or every
    differ = {name for name in SCENARIO if len({verdict.values[name] for verdict in shown}) > 1}
    return [cell for verdict in shown for cell in _cells(verdict, differ)]


def _cells(verdict: Verdict, differ: set[str]) -> Iterator[Cell]:
    values = verdict.values
    named = (
        ("ranks", f"{values['ranks']} ranks"),
        ("nodes", plural(int(values["nodes"]), "node")),
        ("cores_per_rank", axes.CORES_PER_RANK.words(values["cores_per_rank"])),
        ("neighbours", plural(int(values["neighbours"]), "neighbour")),
    )
    setting = ", ".join([
        plural(int(values["partitions_send"]), "partition"),
        DELAY_RATIO.words(values["delay_ratio"]),
        *(words for name, words in named if name in differ),
    ])  # fmt: skip
    setting += axes.unusual_words(values, PARAMETERS["partitioned"])
    row = Row(str(values["toolchain"]), str(values["network"]), setting)
    for choice in verdict.choices:
        gain = choice.gain
        yield Cell(
            row,
            size(choice.message_bytes),
            _word(choice),
            (gain.value, gain.low, gain.high) if gain is not None and not choice.is_single else UNKNOWN,
            counted=choice.reliable,
            points=choice.points,
            unit=" x",
            par=1.0,
            measure=MEASURE,
            noun="message size",
            why=choice_words(choice).removeprefix("cannot tell: ").replace("cannot tell one", "not told apart: one"),
            notes=(TOO_MUCH,) * (choice.pays_early and gain is not None and gain.low > values["partitions_send"]),
        )


def _word(choice: Choice) -> Word:
    if choice.pays_early:
        return PAYS
    if choice.is_faster:
        return FASTER
    if choice.is_single and len(choice.approaches) == 1:
        return ONE_MESSAGE
    return NO_GAIN if choice.gains_nothing else CANNOT_TELL
