"""References: accepted values of a system's cases, in systems/<system>/references.yaml; where they are, how named.

ReFrame's own tests read that file (`reference`, ``$ref``), so that a plain `reframe` asserts the same. `baseline` makes
it from archived runs.
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
    """Where a system's references are."""
    return ROOT / "systems" / system / FILE


def key(case: Case, grid: str, ranks: int, threads_per_rank: int) -> str:
    """The name of a case in a system's references: what it is, on which grid and how placed. Every repeat has it."""
    placed = {name: one.choice.usual for name, one in PLACED.items()}
    usual = replace(case, repeat=1, parameters={**case.parameters, **placed})
    return f"{grid}.{ranks}x{threads_per_rank}.{usual.stem}"


def runs_in_use(root: Path) -> set[tuple[str, str]]:
    """(system, run) of all runs from which references were made."""
    found = set()
    for path in (ROOT / "systems").glob(f"*/{FILE}"):
        if path.is_file() and root.is_dir():
            found |= {(path.parent.name, run) for run in runs_of(path.parent.name)}
    return found


def is_of_sizes(system: str, named: str, sizes: str) -> bool:
    """Whether those references of a case that only hold on the same sizes were made on these; where the file does not
    tell, they were not."""
    try:
        own = yaml.safe_load(path_of(system).read_text(encoding="utf-8"))[OWN]
        return bool(own["sizes"][named] == sizes)
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError):
        return False


def runs_of(system: str) -> list[str]:
    """The runs from which a system's references were made. Raises CampaignError where there are no references."""
    path = path_of(system)
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        own = document[OWN]
        version, runs = own["schema_version"], [str(one) for one in own["runs"]]
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
