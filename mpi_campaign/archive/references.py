"""References, the accepted values of a system's cases: their file and their names.

ReFrame's own tests read systems/<system>/references.yaml (`reference`, ``$ref``), so that a plain `reframe` asserts the
same. `campaign baseline` makes the file from archived runs.
"""

from dataclasses import replace
from pathlib import Path

import yaml

from mpi_campaign import ROOT
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.benchmarks.placed import PLACED
from mpi_campaign.planning.cases import Case

FILE = "references.yaml"
OWN = "mpi-campaign"
VERSION = 1
INDEX = "reference_key"
"""The attribute of a ReFrame test under which its references are found."""


def path_of(system: str) -> Path:
    """The file of a system's references."""
    return ROOT / "systems" / system / FILE


def key(case: Case, grid: str, ranks: int, threads_per_rank: int) -> str:
    """The name of a case in a system's references: case, grid and placement. All repeats have the same name. What
    `ranks` and `threads_per_rank` tell is left out of the case's own name."""
    placed = {name: entry.usual for name, entry in PLACED.items() if entry.if_several}
    usual = replace(case, repeat=1, parameters={**case.parameters, **placed})
    return f"{grid}.{ranks}x{threads_per_rank}.{usual.stem}"


def runs_in_use(root: Path) -> set[tuple[str, str]]:
    """(system, run) of all runs from which references were made."""
    in_use = set()
    for path in (ROOT / "systems").glob(f"*/{FILE}"):
        if path.is_file() and root.is_dir():
            in_use |= {(path.parent.name, run) for run in runs_of(path.parent.name)}
    return in_use


def is_of_sizes(system: str, case_name: str, sizes: str) -> bool:
    """Whether a case's references that hold on the same sizes only were made on these sizes. False where the file does
    not say."""
    try:
        provenance = yaml.safe_load(path_of(system).read_text(encoding="utf-8"))[OWN]
        return bool(provenance["sizes"][case_name] == sizes)
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError):
        return False


def runs_of(system: str) -> list[str]:
    """The runs from which a system's references were made. Raises CampaignError where there are no references."""
    path = path_of(system)
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        provenance = document[OWN]
        version, runs = provenance["schema_version"], [str(run) for run in provenance["runs"]]
    except FileNotFoundError:
        raise CampaignError(
            f"system '{system}' has no references yet: ./campaign baseline RUNS... makes them from archived runs"
        ) from None
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, UnicodeDecodeError) as error:
        what = " ".join(str(error).split())
        raise CampaignError(f"{path} is not what `campaign baseline` writes: {what}") from error
    if version != VERSION:
        raise CampaignError(f"{path} has schema version {version}, not {VERSION}: make it anew with this campaign")
    return runs
