"""The launches of a system's earlier runs: what a comparison learns from them, and what a run will be able to tell."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from mpi_campaign import STATE
from mpi_campaign.archive import consistency, run_folders
from postprocess.drawing.text import clean
from postprocess.verdicts.kept_launches import KeptLaunches
from postprocess.verdicts.launches import launch_table
from postprocess.verdicts.tellable import tellable

MOST_RUNS = 50
"""The most runs that tell how much launches differ, the newest ones: a machine does not stay as it was."""
NOT_KNOWN = "how much launches differ on this system is not known yet: at least three runs tell it, of several launches"


def of(system: str, root: Path, before: str = "") -> pd.DataFrame:
    """The launches of the newest runs of a system. Packed runs are not unpacked for this, and what cannot be read is
    left out without a word.

    before: the name of a run, if only runs before it count.
    """
    ended = [run for run in run_folders.ended(root) if run.system == system and not run.pack.is_file()]
    ended = [run for run in ended if not before or run.run < before]
    kept, _ = consistency.together(ended[-MOST_RUNS:])
    return launch_table([run.path for run in kept], kept=KeptLaunches(STATE / "launches"))[0]


def beside(tables: Iterable[pd.DataFrame], root: Path) -> pd.DataFrame | None:
    """The launches of the newest runs of the system that these launches are of; None where they are of several."""
    systems = {str(system) for table in tables for system in table["system"].unique()}
    return of(systems.pop(), root) if len(systems) == 1 else None


def tellable_lines(system: str, root: Path, cases: Iterable[Mapping[str, Any]]) -> list[str]:
    """What a run of these cases can tell, a line for each benchmark and network of which it is known.

    cases: each with its `benchmark`, `network` and the number of its `repeat`.
    """
    launches: dict[tuple[str, str], int] = {}
    for case in cases:
        of_family = str(case["benchmark"]), str(case["network"])
        launches[of_family] = max(launches.get(of_family, 0), int(case["repeat"]))
    earlier = of(system, root)
    words = {name: tellable(earlier, *name, count) for name, count in launches.items()}
    known = [clean(f"{benchmark} ({network}): {words[benchmark, network]}") for benchmark, network in words
             if words[benchmark, network]]  # fmt: skip
    return known or [NOT_KNOWN]
