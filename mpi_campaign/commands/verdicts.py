"""The commands that judge runs: `compare`, `accept`, `findings`, `versions`, `baseline`, `history`."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mpi_campaign.archive import run_folders
from mpi_campaign.commands.options import (
    Kept,
    forms_of,
    html_option,
    in_words,
    json_option,
    junit_option,
    limits_options,
    metric_option,
    metrics_option,
    output_option,
)
from mpi_campaign.errors import EXIT_GOOD, CampaignError
from postprocess.statistics.limits import HISTORY_RATE, Limits


@click.command()
@click.argument("sides", nargs=-1, required=True, metavar="A B [C ...]")
@click.option(
    "--within", default="", metavar="SIDE", help="Compare these runs only: a run, dates or a system, as for a side."
)
@metrics_option
@limits_options(Limits())
@click.option("--all", "every", is_flag=True, help="Every case, not only those that changed.")
@click.option(
    "--again",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Measure again what is slower in B, a run. What is then the same or faster is not called slower.",
)
@json_option(help="One object, for programs.")
@click.option("--markdown", "as_markdown", is_flag=True, help="For a pull request.")
@junit_option
@html_option(help="Write a page to look at too.")
@output_option
def compare(
    sides: tuple[str, ...],
    output: Path,
    junit: Path | None,
    html: Path | None,
    *,
    as_json: bool,
    as_markdown: bool,
    again: float,
    **asked: Any,
) -> int:
    """Is B slower than A? Each case: slower, faster, same, or cannot tell, and how sure that is.

    A side is a run (a folder, a name, `last`, `last~1`), a toolchain (openmpi@5.0.11, openmpi), a configuration, a
    system, dates (2026-11-01..2026-11-20) or several of these joined by commas, which must all hold. Where no side
    names runs, they are of the newest run that has all sides. The launch is the unit: measure with --repeat.
    Exit code 1: something is slower.
    """
    from mpi_campaign.verdicts import comparing  # noqa: PLC0415

    form, files = forms_of(junit, html, as_json=as_json, as_markdown=as_markdown)
    request = comparing.ComparisonRequest(words=sides, **asked)
    if again:
        from mpi_campaign.running import again as measuring  # noqa: PLC0415

        words = ["./campaign", *sys.argv[1:]]
        request = comparing.pinned(request, output.resolve())
        request = replace(request, again=measuring.measure(request, output.resolve(), again, words))
    return comparing.run(request, output.resolve(), form, files)


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option(
    "--criteria", type=click.Path(path_type=Path, dir_okay=False), required=True, help="What a machine must do: YAML."
)
@json_option(help="One object, for programs.")
@junit_option
@html_option(help="Write a page to print and sign too.")
@output_option
def accept(
    runs: tuple[str, ...], criteria: Path, output: Path, junit: Path | None, html: Path | None, *, as_json: bool
) -> int:
    """Hold RUNS against written criteria: PASS, FAIL or NOT TESTED for each, with evidence.

    Several runs are one acceptance, such as one of each node.
    docs/acceptance.md says how criteria are written. Exit code 1: not all of them pass.
    """
    from mpi_campaign.verdicts import accepting  # noqa: PLC0415

    files = {kind: path for kind, path in (("junit", junit), ("html", html)) if path is not None}
    folders = [run_folders.readable(run, output.resolve()) for run in runs]
    return accepting.run(folders, criteria, files, as_json=as_json)


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--paper", default="", metavar="NAME", help="Of this paper alone, such as denis2022.")
@click.option("--all", "every", is_flag=True, help="Those that were not measured too, and how they can be.")
@click.option("--commands", is_flag=True, help="Only the commands that measure what was not measured and can be here.")
@click.option("--why", is_flag=True, help="With what decides each of them, and why some cannot be told.")
@json_option(help="One object, for programs.")
@click.option(
    "--markdown",
    "pages",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write a page for each paper, as in docs/papers.",
)
@html_option(help="Write a page to look at too.")
@output_option
def findings(
    runs: tuple[str, ...],
    paper: str,
    output: Path,
    html: Path | None,
    pages: Path | None,
    *,
    every: bool,
    why: bool,
    commands: bool,
    as_json: bool,
) -> int:
    """What the papers found: whether it holds in RUNS, for each library, with the paper's value beside it.

    docs/adding.md says how a finding is written.
    """
    from mpi_campaign.verdicts import finding  # noqa: PLC0415

    forms = {"json": as_json, "commands": commands, "why": why}
    asked = [name for name, is_asked in forms.items() if is_asked]
    if len(asked) > 1:
        raise CampaignError(f"{in_words([f'--{name}' for name in asked], 'and')}: ask for one of them")
    folders = [run_folders.readable(run, output.resolve()) for run in runs]
    form = "".join(asked)
    return finding.run(folders, paper, html, pages, form, every=every)


@click.command()
@click.argument("library")
@click.argument("runs", nargs=-1)
@click.option("--since", default="", metavar="VERSION", help="Releases from this one on.")
@click.option("--case", "words", default="", metavar="WORDS", help="Cases with these words in their names.")
@click.option("--new", is_flag=True, help="Measure the newest release, if no run has it yet, beside the one before it.")
@metrics_option
@click.option("--all", "every", is_flag=True, help="Every case, not only those with a step.")
@json_option(help="One object, for programs.")
@click.option(
    "--markdown", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a page of docs."
)
@html_option(help="Write a page to look at too.")
@output_option
def versions(
    library: str,
    runs: tuple[str, ...],
    since: str,
    words: str,
    metrics: tuple[str, ...],
    output: Path,
    html: Path | None,
    markdown: Path | None,
    *,
    new: bool,
    every: bool,
    as_json: bool,
) -> int:
    """The releases of LIBRARY in RUNS (the last one), each against the one before it: which of them changed what.

    campaign run --toolchain 'LIBRARY@*' --suite nightly measures them in turn.
    """
    from mpi_campaign.verdicts import comparing, versioning  # noqa: PLC0415

    if new and markdown is not None:
        raise CampaignError("--markdown is of runs that are there: give it without --new")
    if new:
        from mpi_campaign.running import judged  # noqa: PLC0415
        from mpi_campaign.verdicts import judging  # noqa: PLC0415

        typed = ["./campaign", *sys.argv[1:]]
        folder = judged.newest(library, tuple(comparing.metrics(metrics)), output.resolve(), typed)
        if folder is None:
            print(f"{library}: no newer release than those that runs have was measured")
            return EXIT_GOOD
        return judging.answer(folder, "json" if as_json else "", {"html": html} if html else {})
    folders = [run_folders.readable(run, output.resolve()) for run in runs or ("last",)]
    form = "json" if as_json else "all" if every else ""
    files = {kind: path for kind, path in (("html", html), ("markdown", markdown)) if path is not None}
    return versioning.run(library, folders, since, metrics, files, form=form, words=words)


@click.command()
@click.argument("runs", nargs=-1, required=True)
@output_option
def baseline(runs: tuple[str, ...], output: Path) -> int:
    """Make the references of a system from RUNS: what later runs are held against.

    Writes systems/SYSTEM/references.yaml, which ReFrame's tests read. Nothing oversubscribed, unreliable or incomplete
    becomes a reference, and nothing that was launched fewer than three times. One good night is enough; with three or
    more, references also know how much nights differ.
    """
    from mpi_campaign.verdicts import baseline as making  # noqa: PLC0415

    folders = list(dict.fromkeys(run_folders.find(run, output.resolve()) for run in runs))
    made = making.make(folders)
    written = making.write(folders[0].system, made)
    for line in made.left_out:
        print(f"left out: {line}")
    print(f"{made.references} references from {len(folders)} runs: {written}")
    return EXIT_GOOD


@click.command()
@click.argument("side", default="")
@metric_option(help="As of `compare`. May be repeated.")
@limits_options(Limits(rate=HISTORY_RATE))
@json_option(help="One object, for programs.")
@click.option("--acknowledge", "names", multiple=True, metavar="ALARM", help="Keep an alarm quiet. May be repeated.")
@click.option("--because", default="", help="Why the alarm is acknowledged; is stored with it.")
@html_option(help="Write a page with plots too.")
@output_option
def history(
    side: str, output: Path, names: tuple[str, ...], because: str, html: Path | None, *, as_json: bool, **asked: Any
) -> int:
    """Since when is a case slower or silent, and why? Over all runs, or those of a SIDE as of `compare`.

    A large change is told from the fourth night on, a smaller one from the twelfth. Exit code 1: an alarm that nobody
    acknowledged.
    With --acknowledge, the named alarms are kept quiet, and nothing else is done.
    """
    from mpi_campaign.verdicts import alarms, comparing  # noqa: PLC0415

    root = output.resolve()
    if bool(names) != bool(because):
        raise CampaignError("--acknowledge ALARM --because TEXT: one needs the other")
    if names and (as_json or html):
        raise CampaignError("--acknowledge shows nothing: leave out --json and --html")
    metrics = asked.pop("metrics")
    request = alarms.HistoryRequest(side, metrics, comparing.limits(**asked))
    if names:
        for line in alarms.acknowledge(names, because, request, root):
            print(f"acknowledged: {line}")
        return EXIT_GOOD
    return alarms.run(request, root, html, as_json=as_json)


@click.command()
@click.argument("site", type=Kept(file_okay=False))
@click.option("--system", default="", help="Publish this system of the archive only.")
@click.option("--public", is_flag=True, help="Names of hosts, users and folders are replaced, as by results export.")
@click.option("--url", "base", default="", help="The address that the site will have, for the feed of alarms.")
@click.option("--check", is_flag=True, help="Write nothing: exit code 1 if a system of SITE is silent or not well.")
@output_option
def publish(site: Path, output: Path, *, check: bool, **asked: Any) -> int:
    """Write the archive as a static SITE, a folder: nights, cases, alarms, libraries; or renew it.

    Exit code 1: an alarm rings.
    """
    from mpi_campaign.verdicts import publishing  # noqa: PLC0415

    if check:
        return publishing.check(site.resolve())
    return publishing.run(publishing.PublishRequest(**asked), output.resolve(), site.resolve())
