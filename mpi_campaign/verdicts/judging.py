"""Is B slower than A? What is asked of a run of both that ends as soon as it can tell, and its answer."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.verdicts import answering, comparing, sides
from mpi_campaign.verdicts.comparing import Found
from mpi_campaign.verdicts.sides import Side
from postprocess.statistics import looks
from postprocess.statistics.limits import Limits
from postprocess.verdicts.compare import UNKNOWN, Comparison


@dataclass(frozen=True)
class Asked:
    """What is asked of a run: a mark of its manifest.

    sides: the two toolchains, as they were typed.  limits: of each look at the launches, of which there are `LOOKS`.
    search: which search the question is a step of; empty where it stands alone.
    """

    sides: tuple[str, str]
    metrics: tuple[str, ...]
    limits: Limits
    search: str = ""

    @classmethod
    def among(cls, questions: int, counts: Limits, **asked: Any) -> "Asked":
        """A question that shares a rate of wrong answers with others.  questions: how many they are together.  counts:
        the limits, with the rate of all of them."""
        return cls(limits=replace(counts, rate=looks.rate_of_each(counts.rate) / questions), **asked)

    @property
    def marks(self) -> dict[str, Any]:
        """The marks of the run's manifest."""
        return {run_folders.JUDGED: asdict(self) | {"sides": list(self.sides), "metrics": list(self.metrics)}}


def compared(folder: RunFolder) -> Comparison:
    """The second library of a run against the first, by map where there are enough launches to tell how much they
    differ. Raises CampaignError where nothing of one of them was measured."""
    table, _ = sides.launches_of([folder])
    manifest = run_folders.read_manifest(folder)
    libraries = names(manifest)
    if table.empty or not set(libraries) <= set(table["toolchain"].unique()):
        raise CampaignError(f"nothing of both was measured: ./campaign show {folder.run} says why")
    asked = [Side(name, runs=(folder,), toolchain=name) for name in libraries]
    a, b = (Found(side, side.launches(table, [folder]), {folder.run: manifest}) for side in asked)
    of_maps = comparing.tells_maps(table)
    metrics = manifest[run_folders.JUDGED]["metrics"]
    return comparing.compared(a, b, metrics, answering.limits_of(manifest), of_maps=of_maps)


def names(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """The names of both libraries of a run, in the order in which they were asked for."""
    first, second = (str(toolchain["toolchain"]) for toolchain in manifest["toolchains"])
    return first, second


def is_decided(folder: RunFolder) -> bool:
    """Whether each map of a run tells its libraries apart, or tells that they are the same."""
    with suppress(CampaignError):
        comparison = compared(folder)
        return len(comparison.rows) > 0 and not comparison.count(UNKNOWN)
    return False


def why_enough(folder: RunFolder, launches: int, seconds: float, budget_seconds: float) -> str:
    """Why a run that is to tell its libraries apart ends with so many launches of each case; empty where it goes on.

    seconds: since the first of them began.  budget_seconds: not above 0: it takes as long as it takes.
    """
    if launches in looks.LOOKS and is_decided(folder):
        return "decided"
    return "not decided, but the time is over," if seconds > budget_seconds > 0 else ""


def answer(folder: RunFolder, form: str, files: Mapping[str, Path]) -> int:
    """Print which of the libraries of a run is slower, as `comparing.run` does. Raises CampaignError."""
    pairs = {names(run_folders.read_manifest(folder)): compared(folder)}
    return comparing.show(pairs, [("run", folder.run)], form, files)
