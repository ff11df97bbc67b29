"""`campaign setup`: toolchains and benchmarks are there before anything is measured."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpi_campaign.archive import run_folders
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.plan import Options, benchmarks_of, check
from mpi_campaign.running.run import Campaign
from mpi_campaign.toolchains import peers, resolving
from mpi_campaign.toolchains.spack import installed, provider, tool


@dataclass(frozen=True)
class SpackSetup:
    """What concerns Spack alone: which one, which packages, which lock."""

    spack: Path | None
    packages: Path | None
    lock: Path | None
    clone: bool
    fresh: bool

    @property
    def given(self) -> list[str]:
        """The options that were given, as they are typed."""
        return [f"--{name}" for name, value in vars(self).items() if value]


def setup(asked: Mapping[str, Any], wanted: SpackSetup, words: list[str]) -> int:
    """Returns the exit code. asked: fields of Options. Raises CampaignError where nothing can be built."""
    options = Options(**asked)
    if options.provider != "spack" and wanted.given:
        raise CampaignError(f"{wanted.given[0]} is for --provider spack")
    if wanted.lock is not None and len(options.toolchains) != 1:
        raise CampaignError("--lock is of one toolchain: say of which with one --toolchain")
    if wanted.lock is not None and wanted.fresh:
        raise CampaignError("--fresh makes a lock anew, --lock takes one as it is: give one of them")
    if options.provider == "spack":
        check(options)
        with resolving.locked(print):
            tool.remember(spack=wanted.spack, packages=wanted.packages)
            if wanted.clone or not tool.is_there():
                tool.clone(print)
                tool.remember(spack=wanted.spack, packages=wanted.packages)  # what was given stays
            _prepare(options, wanted)
    return Campaign(options, run_folders.RESULTS, words).build()


def _prepare(options: Options, wanted: SpackSetup) -> None:
    """What is to be made anew, or tried again, is forgotten; a lock that was given is put in place."""
    beside = peers.packages_of(list(benchmarks_of(options)))
    if wanted.lock is not None:
        (name,) = options.toolchains
        provider.of_lock(name, options.system, beside).take(wanted.lock, tool.find())
    if wanted.fresh:
        for one in provider.wanted(options.toolchains, options.system, beside):
            one.forget()
        installed.forget_failed()
