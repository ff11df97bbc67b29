"""`campaign versions`: the releases of a library that runs measured, each against the one before it."""

import itertools
import re
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from mpi_campaign.archive import earlier_launches, run_folders, window
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_GOOD, CampaignError
from mpi_campaign.libraries.versions import numbers
from mpi_campaign.verdicts import sides
from mpi_campaign.verdicts.comparing import Found, compared, complain, metrics, tells_maps, where_made, write
from mpi_campaign.verdicts.sides import Side
from postprocess.records.fields import RecordError
from postprocess.records.header import Header
from postprocess.records.reading import load_header
from postprocess.records.storage import record_files
from postprocess.verdicts import versions
from postprocess.verdicts.compare import over_all
from postprocess.verdicts.compare_text import Pairs
from postprocess.verdicts.verdict_page import render

_LAUNCH = re.compile(r"\.r\d+(?=\.)")
"""What tells launches of a case apart in the names of its records, which begin with the library."""


def run(
    library: str,
    runs: Sequence[RunFolder],
    since: str,
    chosen: Sequence[str],
    files: Mapping[str, Path],
    *,
    form: str,
) -> int:
    """Print the releases side by side, and write them as a page. Raises CampaignError.

    files: paths by form, `markdown` and `html`.  form: json, all (every case), or empty: the cases with a step.
    """
    pairs = _steps(library, list(dict.fromkeys(runs)), since, metrics(chosen))
    own = _own_changes(runs, pairs)
    named = [folder.run for folder in dict.fromkeys(runs)]
    view = partial(versions.view, library, pairs, own, ", ".join(named))
    if "html" in files:
        write(files["html"], render(view()))
    if "markdown" in files:
        options = [*(["--since", since] if since else []), *(word for one in chosen for word in ("--metric", one))]
        words = shlex.join(["./campaign", "versions", library, *named, *options, "--markdown", files["markdown"].name])
        where = where_made([run_folders.read_manifest(folder) for folder in dict.fromkeys(runs)])
        write(files["markdown"], versions.markdown(view(), words, where))
    if form == "json":
        print(versions.as_json(library, pairs, own, [folder.run for folder in runs]))
    else:
        print(*versions.lines(library, pairs, own, window.window().width, every=form == "all"), sep="\n")
    return EXIT_GOOD


def _own_changes(runs: Sequence[RunFolder], pairs: Pairs) -> dict[str, list[str]]:
    """What each release but the first one changed by itself, as its records tell. Raises CampaignError."""
    headers: dict[str, dict[str, Header]] = defaultdict(dict)
    try:
        for path in (path for folder in dict.fromkeys(runs) for path in record_files(folder.path / "records")):
            header = load_header(path)
            headers[header.toolchain][_LAUNCH.sub("", path.name.partition(".")[2])] = header
    except RecordError as error:
        raise CampaignError(str(error)) from error
    return {after: versions.own_changes(headers[before], headers[after]) for before, after in pairs}


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
    of_maps = tells_maps(table)
    pairs = {
        (a, b): compared(found[a], found[b], chosen, earlier=earlier, of_maps=of_maps)
        for a, b in itertools.pairwise(names)
    }
    return dict(zip(pairs, over_all(list(pairs.values())), strict=True))
