"""The commands about a run: `show`, `report`, `reproduce`, `cancel`."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from mpi_campaign.archive import run_folders
from mpi_campaign.commands.options import Kept, MetricOption, in_words, json_option, metric_option, output_option
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, CampaignError

SHORT_FORMS = {"peers": "peers", "impact": "mpi_impact"}
"""Options of `show`, and the `--benchmark` that each stands for."""


@click.command()
@click.argument("run")
@json_option(help="A list of objects, one per point.")
@click.option("--csv", "as_csv", is_flag=True, help="The same as comma-separated values.")
@click.option("--points", is_flag=True, help="Every point with its metrics and validity.")
@click.option("--benchmark", default="", metavar="NAME", help="A single benchmark, or a family of benchmarks, in full.")
@click.option("--collective", default="", metavar="NAME", help="The points of this collective alone.")
@click.option("--peers", is_flag=True, help="Results of other benchmarks beside ours: --benchmark peers.")
@click.option("--impact", is_flag=True, help="Cost of an idle library to a computation: --benchmark mpi_impact.")
@click.option("--provenance", is_flag=True, help="Machine, libraries, builds and commits of the run.")
@output_option
def show(run: str, output: Path, *, as_json: bool, as_csv: bool, points: bool, collective: str, **asked: Any) -> int:
    """What RUN (its folder, its name, `last` or SYSTEM/last) found, on one screen: what each library does in each
    configuration, a sentence for each, and what must be known of it.

    Exit code 1: a record cannot be read, or is not what was archived. A line names it.
    """
    folder = run_folders.readable(run, output.resolve())
    from mpi_campaign.archive import first_screen, window  # noqa: PLC0415

    _check_formats(as_csv=as_csv, as_json=as_json, points=points, provenance=asked["provenance"])
    chosen = [name for name, is_chosen in asked.items() if is_chosen]
    if len(chosen) > 1:
        raise CampaignError(f"{' and '.join(f'--{name}' for name in chosen)}: ask for one of them")
    if not (chosen or as_json or as_csv or points or collective):
        screen = first_screen.read(folder, window.window())
        print("\n".join([*screen.lines, *first_screen.next_words(folder)]))
        _complain((*screen.problems, *screen.failures))
        return _code(folder, screen.problems)
    from mpi_campaign.archive import matrices, rendering  # noqa: PLC0415 - pandas takes a second to load

    loaded = rendering.load(folder)
    benchmark = str(asked["benchmark"]) or next((SHORT_FORMS[name] for name in chosen if name in SHORT_FORMS), "")
    problems, failures = rendering.problems(folder, loaded), rendering.failures(loaded)
    if asked["provenance"]:
        print(rendering.provenance_as_json(folder) if as_json else rendering.provenance_text(folder, loaded))
    else:
        family = rendering.family_named(benchmark, loaded) if benchmark else None
        if family and not rendering.has(loaded, family, benchmark):
            _complain((*problems, *failures))
            raise CampaignError(rendering.lacks_words(loaded, benchmark))
        chosen_points = rendering.Points(loaded, family, benchmark, collective)
        text = chosen_points.as_json() if as_json else chosen_points.as_csv() if as_csv else chosen_points.text()
        on = window.window()
        print("\n".join(matrices.fitted(text, on.width)) if on.is_terminal and not (as_json or as_csv) else text)
    _complain((*problems, *failures))
    return _code(folder, problems)


def _check_formats(*, as_csv: bool, as_json: bool, points: bool, provenance: bool) -> None:
    """Raises CampaignError for options that do not go together."""
    formats = [name for name, given in (("--csv", as_csv), ("--json", as_json)) if given]
    if len(formats) > 1:
        raise CampaignError(f"{' and '.join(formats)}: ask for one of them")
    if provenance and (as_csv or points):
        raise CampaignError(f"--provenance has no {'--csv' if as_csv else '--points'}: give --json, or neither")


def _drawn() -> list[str]:
    """The metrics that the report can draw."""
    from postprocess.families import registry  # noqa: PLC0415

    return [name for family in registry.FAMILIES for section in family.sections for name in section.drawn]


def _complain(lines: Iterable[str]) -> None:
    for line in lines:
        print(f"campaign: {line}", file=sys.stderr)


def _code(folder: run_folders.RunFolder, problems: Sequence[str]) -> int:
    """The exit code of a command that shows a run: 1 where a complete one is not what was archived, or a record of it
    cannot be read, so that what is shown lacks something that was measured."""
    return EXIT_FAILED if problems and folder.archived.is_dir() else EXIT_GOOD


@click.command()
@click.argument("run")
@click.option("-o", "target", type=Kept(dir_okay=False), help="Where to write the HTML file.")
@click.option(
    "--maps",
    type=Kept(file_okay=False),
    help="Draw pictures for papers, too, into this folder.",
)
@metric_option(
    words=lambda: f"Draw {in_words(_drawn(), 'or')}. May be repeated. Default, with --maps: all but the last.",
    cls=MetricOption,
)
@click.option(
    "--palette", default="paper", show_default=True, help="paper: blue, green, yellow, red; safe: for the colour-blind."
)
@click.option("--dim", is_flag=True, help="Fade cells whose two times differ by orders of magnitude.")
@click.option(
    "--format", "formats", metavar="LIST", default="", help="Of svg, png, pdf. Default, with --maps: svg,png."
)
@output_option
def report(run: str, output: Path, target: Path | None, maps: Path | None, *, dim: bool, **asked: Any) -> int:
    """Write the report of RUN again. Its maps are drawn by the page.

    With --maps, --metric or --format, they are drawn as pictures, too: without --maps into `maps` beside the run's
    report, or `NAME-maps` beside NAME.html of -o.
    Exit code 1: a record cannot be read, or is not what was archived. A line names it.
    """
    folder = run_folders.readable(run, output.resolve())
    from mpi_campaign.archive import rendering  # noqa: PLC0415
    from mpi_campaign.verdicts import answering  # noqa: PLC0415
    from postprocess.drawing.look import USUAL_KINDS  # noqa: PLC0415

    formats = asked["formats"].split(",") if asked["formats"] else USUAL_KINDS * bool(maps or asked["metrics"])
    kinds = tuple(dict.fromkeys(formats))
    look = rendering.look(asked["palette"], tuple(dict.fromkeys(asked["metrics"])), kinds, dim=dim)
    loaded = rendering.load(folder)
    answers = answering.of_run(folder, loaded)
    written = rendering.write_report(
        folder, loaded, answers, target and target.absolute(), maps and maps.absolute(), look
    )
    print(f"report: {written}")
    _complain(problems := rendering.problems(folder, loaded))
    return _code(folder, problems)


@click.command()
@click.argument("run")
@click.option(
    "--standalone",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write a C program that shows one case without this project, a script that starts it, and a README.",
)
@click.option("--case", "words", default="", metavar="WORDS", help="With --standalone: the case, by words of its name.")
@click.option(
    "--against",
    default="",
    metavar="LIBRARY",
    help="With --standalone: a library of the run that is better there. The bound is in the middle between both.",
)
@output_option
def reproduce(run: str, output: Path, standalone: Path | None, words: str, against: str) -> int:
    """Print the commands that build the toolchains of RUN again and repeat the run.

    With --standalone, write a C program that measures the clearest point of a case and prints PASS or FAIL.
    """
    from mpi_campaign.archive import provenance  # noqa: PLC0415
    from mpi_campaign.commands import run as run_command  # noqa: PLC0415

    folder = run_folders.find(run, output.resolve())
    if standalone is None:
        if words or against:
            raise CampaignError("--case and --against are for --standalone DIR: add it")
        print("\n".join(provenance.steps(folder, run_command.command)))
        return EXIT_GOOD
    from mpi_campaign.archive import rendering  # noqa: PLC0415 - pandas takes a second to load
    from mpi_campaign.standalone import choosing, writing  # noqa: PLC0415
    from postprocess.verdicts.acceptance import FAIL  # noqa: PLC0415

    loaded = rendering.load(folder)
    case = choosing.case_of(loaded, words)
    source = writing.source_of_wrong_data(case, folder)
    if source and against:
        raise CampaignError(f"{case.name} found wrong data, and is no slower: give no --against")
    if source:
        written, expected = writing.write_wrong_data(case, source, folder, loaded.manifest, standalone), FAIL
    else:
        shown = choosing.clearest(loaded, case, against)
        written, expected = writing.write(shown, folder, loaded.manifest, standalone), shown.expected
    print(*written, f"{case.name}: {expected} in this run", sep="\n")
    return EXIT_GOOD


@click.command()
@click.argument("run")
@output_option
def cancel(run: str, output: Path) -> int:
    """Cancel the jobs of RUN that wait or run. What they measured is kept: go on with `run --resume`."""
    from mpi_campaign.running import batch  # noqa: PLC0415

    folder = run_folders.find(run, output.resolve())
    jobs = batch.cancel(folder)
    print(f"cancelled: {', '.join(jobs)}" if jobs else "no job of it waits or runs")
    return EXIT_GOOD
