"""`campaign versions`: the releases of a library that runs measured, each against the one before it."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from mpi_campaign.archive import earlier_launches, matrices, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_GOOD, CampaignError
from mpi_campaign.libraries.versions import numbers
from mpi_campaign.verdicts import sides
from mpi_campaign.verdicts.comparing import Found, compared, complain, metrics, write
from mpi_campaign.verdicts.sides import Side
from postprocess.statistics.limits import LEAST_LAUNCHES
from postprocess.verdicts import versions
from postprocess.verdicts.compare import LAUNCH, over_all
from postprocess.verdicts.compare_text import Pairs
from postprocess.verdicts.verdict_page import render


def run(
    library: str, runs: Sequence[RunFolder], since: str, chosen: Sequence[str], html: Path | None, *, form: str
) -> int:
    """Print the releases side by side, and write them as a page. Raises CampaignError.

    form: json, all (every case), or empty: the cases with a step.
    """
    pairs = _steps(library, list(dict.fromkeys(runs)), since, metrics(chosen))
    if html is not None:
        write(html, render(versions.view(library, pairs, ", ".join(folder.run for folder in runs))))
    if form == "json":
        print(versions.as_json(library, pairs, [folder.run for folder in runs]))
    else:
        print(*versions.lines(library, pairs, matrices.window().width, every=form == "all"), sep="\n")
    return EXIT_GOOD


def _steps(library: str, runs: Sequence[RunFolder], since: str, chosen: Sequence[str]) -> Pairs:
    """Each release compared with the one before it; the false-discovery rate is that of all steps together."""
    table, problems = sides.launches_of(runs)
    complain(problems)
    there = sorted(table["toolchain"].unique()) if len(table) else []
    of_library = [name for name in there if name.partition("@")[0] == library]
    asked = [name for name in of_library if numbers(name.partition("@")[2]) >= (numbers(since) if since else ())]
    if len(asked) < 2:
        have = f"it has {', '.join(there) or 'no launches'}" if len(runs) == 1 else f"they have {', '.join(there)}"
        raise CampaignError(
            f"two releases of {library}{f' since {since}' if since else ''} at least: {have}; "
            f"./campaign run --toolchain '{library}@*' measures all of them in turn"
        )
    names = sorted(asked, key=lambda name: numbers(name.partition("@")[2]))
    manifests = {folder.run: run_folders.read_manifest(folder) for folder in runs}
    found = {
        name: Found(side, side.launches(table, runs), manifests)
        for name in names
        for side in [Side(name, runs=tuple(runs), toolchain=name)]
    }
    systems = {folder.system for folder in runs}
    earlier = earlier_launches.of(systems.pop(), runs[0].root, runs[0].run) if len(systems) == 1 else None
    of_maps = LAUNCH in table and table[LAUNCH].nunique() >= LEAST_LAUNCHES
    pairs = {
        (a, b): compared(found[a], found[b], chosen, earlier=earlier, of_maps=of_maps)
        for a, b in itertools.pairwise(names)
    }
    return dict(zip(pairs, over_all(list(pairs.values())), strict=True))
