"""`campaign versions`: the releases of a library that runs measured, each against the one before it."""

import contextlib
import itertools
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from mpi_campaign.archive import earlier_launches, run_folders, window
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_GOOD, CampaignError
from mpi_campaign.libraries.versions import numbers
from mpi_campaign.planning.cases import Case
from mpi_campaign.verdicts import sides
from mpi_campaign.verdicts.comparing import (
    Found,
    compared_at_once,
    complain,
    metrics,
    tells_maps,
    where_made,
    write,
)
from mpi_campaign.verdicts.sides import Side
from postprocess.drawing.text import clean, has_words, shortened
from postprocess.records.fields import RecordError
from postprocess.records.header import Header
from postprocess.records.reading import load_header
from postprocess.records.run import cases_of, is_as_asked
from postprocess.records.storage import record_files
from postprocess.verdicts import versions
from postprocess.verdicts.compare import CELL, KEY, group_columns, over_all
from postprocess.verdicts.compare_text import Pairs, names_of, sides_of
from postprocess.verdicts.launches import numbered, with_keys
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
    words: str = "",
) -> int:
    """Print the releases side by side, and write them as a page. Raises CampaignError.

    files: paths by form, `markdown` and `html`.  form: json, all (every case), or empty: the cases with a step.
    words: of the names of the cases that count; empty: all do.
    """
    measured = [(case, why) for case, why in _measured(runs) if has_words(case.label, words)]
    releases = _of_library((case.toolchain for case, _ in measured), library, since)
    failures = _failures(measured, releases)
    failed = versions.failure_words(failures, releases)
    pairs = _steps(library, list(dict.fromkeys(runs)), since, metrics(chosen), failed, words)
    own = _own_changes(runs, pairs)
    named = [folder.run for folder in dict.fromkeys(runs)]
    view = partial(versions.view, library, pairs, own, ", ".join(named), failed)
    if "html" in files:
        write(files["html"], render(view()))
    if "markdown" in files:
        options = [*(word for one in chosen for word in ("--metric", one))]
        options += [word for name, text in (("--since", since), ("--case", words)) if text for word in (name, text)]
        typed = shlex.join(["./campaign", "versions", library, *named, *options, "--markdown", files["markdown"].name])
        where = where_made([run_folders.read_manifest(folder) for folder in dict.fromkeys(runs)])
        write(files["markdown"], versions.markdown(view(), typed, where))
    if form == "json":
        print(versions.as_json(library, pairs, own, named, failures))
    else:
        width = window.window().width
        print(*versions.lines(library, pairs, own, width, failed=failed, every=form == "all"), sep="\n")
    return EXIT_GOOD


def _of_library(names: Iterable[str], library: str, since: str) -> list[str]:
    """The releases of a library, since one of them or all, in order."""
    least = numbers(since) if since else ()
    places = {name: place for name in set(names) for of, place in [sides.release(name)] if of == library}
    return sorted((name for name, (version, *_) in places.items() if version >= least), key=places.__getitem__)


def _measured(runs: Sequence[RunFolder]) -> list[tuple[Case, str]]:
    """The cases of runs that were measured, and why they failed; empty where they did not. One that is worse than its
    reference did not."""
    found = []
    for entry in (entry for run in dict.fromkeys(runs) for entry in cases_of(run_folders.read_manifest(run))):
        with contextlib.suppress(KeyError, TypeError):  # of a benchmark that is no more
            case = replace(Case.from_manifest(entry), repeat=1)
            if entry["result"] in ("pass", "fail") and case.label:
                why = str(entry.get("reason") or "no reason was given")
                found.append((case, "" if is_as_asked(entry) else why))
    return found


def _failures(measured: Sequence[tuple[Case, str]], releases: Sequence[str]) -> versions.Failures:
    """The cases that failed with some of the releases, by the names that they have with any."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for case, why in measured:
        if case.toolchain in releases:
            found[case.label.partition(" ")[2]][case.toolchain].append(why)
    return {
        case: {
            name: versions.Failure(list(filter(None, reasons))[-1], all(reasons))
            for name, reasons in by_release.items()
            if any(reasons)
        }
        for case, by_release in found.items()
        if any(any(reasons) for reasons in by_release.values())
    }


def _own_changes(runs: Sequence[RunFolder], pairs: Pairs) -> dict[str, list[str]]:
    """What each release but the first one changed by itself, as its records tell."""
    headers: dict[str, dict[str, Header]] = defaultdict(dict)
    for path in (path for folder in dict.fromkeys(runs) for path in record_files(folder.path / "records")):
        with contextlib.suppress(RecordError):  # it is told with the launches
            header = load_header(path)
            headers[header.toolchain][_LAUNCH.sub("", path.name.partition(".")[2])] = header
    neighbours = itertools.pairwise(sides_of(pairs))
    return {after: versions.own_changes(headers[before], headers[after]) for before, after in neighbours}


def _steps(
    library: str,
    runs: Sequence[RunFolder],
    since: str,
    chosen: Sequence[str],
    failed: Sequence[str] = (),
    words: str = "",
) -> Pairs:
    """Each release compared with the one before it; the false-discovery rate is that of all steps together.  failed:
    lines about what failed.  words: of the names of the cases that count."""
    table, problems = sides.launches_of(runs)
    complain(problems)
    table = _having(table, words) if words else table
    there = sorted(table["toolchain"].unique()) if len(table) else []
    names = _of_library(there, library, since)
    if len(names) < 2:
        others = "".join(f"; {one}" for one in failed)
        have = f"it has {', '.join(there) or 'no launches'}" if len(runs) == 1 else f"they have {', '.join(there)}"
        raise CampaignError(
            f"two releases of {library}{f' since {since}' if since else ''} at least: {have}; "
            f"./campaign run --toolchain '{library}@*' measures all of them in turn{others}"
        )
    manifests = {folder.run: run_folders.read_manifest(folder) for folder in runs}
    of_maps = tells_maps(table)
    neither = (*sides.ALONG["toolchain"], *(CELL if of_maps else ()))
    key = [name for name in KEY if name in table and name not in neither]
    table = table.assign(case=numbered(with_keys(table), key)[0])
    found = {
        name: Found(side, side.launches(table, runs), manifests)
        for name in names
        for side in [Side(name, runs=tuple(runs), toolchain=name)]
    }
    systems = {folder.system for folder in runs}
    earlier = earlier_launches.of(systems.pop(), runs[0].root, runs[0].run) if len(systems) == 1 else None
    pairs = compared_at_once(_pairs(found), chosen, earlier=earlier, of_maps=of_maps)
    return dict(zip(pairs, over_all(list(pairs.values())), strict=True))


def _having(table: pd.DataFrame, words: str) -> pd.DataFrame:
    """The launches of the cases with all of these words in their names. Raises CampaignError where there is none."""
    number, groups = numbered(table, group_columns(table))
    names = [" ".join(names_of(group)) for group in groups.to_dict("records")]
    is_named = np.array([has_words(name, words) for name in names], dtype=bool)
    if not is_named.any():
        there = shortened(dict.fromkeys(name.partition(" ")[2] for name in names))
        raise CampaignError(f"--case '{clean(words)}' is the name of no case; there are: {'; '.join(there)}")
    chosen: pd.DataFrame = table[is_named[number]]
    return chosen


def _pairs(found: Mapping[str, Found]) -> dict[tuple[str, str], tuple[Found, Found]]:
    """Each release with the one before it; and, where releases lack cases, as they failed, the first one after these
    with the last one before them, which then have these cases alone. Of releases in order, with launches by `case`."""
    names = list(found)
    place = {name: number for number, name in enumerate(names)}
    pairs = {(a, b): (found[a], found[b]) for a, b in itertools.pairwise(names)}
    last: dict[int, str] = {}
    across: dict[tuple[str, str], set[int]] = defaultdict(set)
    for name in names:
        for case in set(found[name].launches["case"]):
            before = last.get(case, name)
            if place[name] - place[before] > 1:
                across[before, name].add(case)
            last[case] = name
    for both, cases in across.items():
        whole = (found[name] for name in both)
        a, b = (replace(one, launches=one.launches[one.launches["case"].isin(cases)]) for one in whole)
        pairs[both] = (a, b)
    return dict(sorted(pairs.items(), key=lambda pair: (place[pair[0][1]], place[pair[0][0]])))
