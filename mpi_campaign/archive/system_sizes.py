"""Sizes of messages and work that a system keeps, so that all libraries, configurations and nights do the same work.

`campaign run` writes the file. Entries have the name of their case without what does not decide its work: the library,
the repeat, and which nodes. Machines of one system, as of an allocation, have entries of their own.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeAlias

import yaml

from mpi_campaign import ROOT, files
from mpi_campaign.archive import references, run_folders
from mpi_campaign.archive.references import OWN
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.cases import Case
from postprocess.drawing.text import plural
from postprocess.families.axes import NODE_SET

FILE = "sizes.yaml"
VERSION = 1


@dataclass(frozen=True)
class Machine:
    """What sizes are good for.  cpu: the model, or the partition of a batch system.  cores: of a node."""

    cpu: str
    cores: int

    def __str__(self) -> str:
        return f"{self.cpu}, {plural(self.cores, 'core')}"


@dataclass(frozen=True)
class Sizes:
    """The sizes of a case on a machine.  toolchain, run: in which they were found.  campaign: the commit.  date: UTC.
    lines: of the file that programs read (benchmarks/common/sampling/size_table.h)."""

    machine: Machine
    toolchain: str
    run: str
    campaign: str
    date: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


Kept: TypeAlias = dict[str, list[Sizes]]
"""The sizes of each case, by `key`: one entry for each machine."""


def path_of(root: Path, system: str) -> Path:
    """The file of a system. An archive outside of the clone has its own, as has that of a clone in which nothing can be
    written.  root: the archive."""
    of_clone = ROOT / "systems" / system
    is_own = root.resolve() == run_folders.RESULTS.resolve() and os.access(of_clone, os.W_OK)
    return (of_clone if is_own else root / system) / FILE


def key(case: Case, grid: str, ranks: int, threads_per_rank: int) -> str:
    """The name of a case of `basic` in the file.  grid: the name of its points, of `points_name`."""
    on_any_nodes = {name: value for name, value in case.parameters.items() if name != NODE_SET.name}
    anybodys = replace(case, environment="", parameters=on_any_nodes)
    return references.key(anybodys, grid, ranks, threads_per_rank)


def read(path: Path) -> Kept:
    """What a file has; empty where there is none. Raises CampaignError where it is not what `campaign run` writes."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        version = document[OWN]["schema_version"]
        if version != VERSION:
            raise CampaignError(f"{path} has schema version {version}, not {VERSION}: use another clone, or delete it")
        return {
            str(name): [files.made_of(Sizes, entry) for entry in entries] for name, entries in document["sizes"].items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        what = " ".join(str(error).split())
        raise CampaignError(f"{path} is not what `campaign run` writes: {what}; mend or delete it") from error


def of_machine(entries: Sequence[Sizes], machine: Machine) -> Sizes | None:
    return next((entry for entry in entries if entry.machine == machine), None)


def write(path: Path, kept: Mapping[str, Sequence[Sizes]]) -> None:
    """Write the file, all or nothing. Raises OSError."""
    entries = {name: [{**asdict(entry), "lines": list(entry.lines)} for entry in kept[name]] for name in sorted(kept)}
    document = {OWN: {"schema_version": VERSION}, "sizes": entries}
    text = "# Made by `./campaign run`: `--calibrate anew` finds sizes again. Do not edit them.\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_atomically(path, text + yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
