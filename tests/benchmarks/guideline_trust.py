"""How often a guideline is called violated where it is not, and found where it is, in real noise.

    ./campaign run --benchmark guidelines --guideline control --message-bytes 64 --message-bytes 128 ... --repeat 3
    .venv/bin/python tests/benchmarks/guideline_trust.py RUN...

Both sides of the control are the same call. As it was measured, none of its points is violated in truth; with the left
side's times multiplied by what is planted, all are. The runs are judged together, each launch of them.
"""

import sys
from collections.abc import Sequence

import pandas as pd

from mpi_campaign.archive import run_folders
from postprocess.families import registry
from postprocess.families.guidelines import verdict
from postprocess.families.guidelines.entry import GUIDELINES
from postprocess.records.run import load_run

PLANTED = (1.0, 1.03, 1.05, 1.10, 1.20)
CALL = ["call_ns", "call_ns_ci95_low", "call_ns_ci95_high"]
RATIO = ["guideline_ratio", "guideline_ratio_ci95_low", "guideline_ratio_ci95_high"]


def controls(words: Sequence[str]) -> pd.DataFrame:
    """The controls of some runs. Launches of different runs are launches of different cases."""
    tables = []
    for number, word in enumerate(words):
        run = load_run(run_folders.readable(word, run_folders.RESULTS).path)
        table = registry.found(run, GUIDELINES).table
        tables.append(table.assign(toolchain=table["toolchain"] + f" of run {number}"))
    every = pd.concat(tables, ignore_index=True)
    chosen: pd.DataFrame = every[every["kind"] == verdict.CONTROL].reset_index(drop=True)
    return chosen


def main() -> None:
    table = controls(sys.argv[1:])
    for planted in PLANTED:
        longer = table.assign(**{name: table[name] * planted for name in (*CALL, *RATIO)})
        verdicts = verdict.judged(longer)["verdict"]
        counts = ", ".join(
            f"{(verdicts == one).sum()} {one}" for one in (verdict.VIOLATED, verdict.HOLDS, verdict.UNTOLD)
        )
        print(f"the left side takes {planted:.2f} of its time: of {len(verdicts)} points {counts}")


if __name__ == "__main__":
    main()
