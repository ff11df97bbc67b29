"""The commands `results`: the archive."""

import math
import sys
from pathlib import Path

import click

from mpi_campaign.archive import run_folders
from mpi_campaign.commands.options import Kept, json_option, output_option
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, EXIT_WRONG_USE, CampaignError
from postprocess.drawing.text import plural


@click.group()
def results() -> None:
    """The archive: list and verify its runs, export and import runs, delete old ones."""


@results.command("list")
@json_option(help="A list of objects, for programs.")
@output_option
def results_list(output: Path, *, as_json: bool) -> int:
    """List every run: system, suite, whether it is complete, toolchains, cases that passed, size."""
    from mpi_campaign.archive import store  # noqa: PLC0415

    entries = store.entries(output.resolve())
    print(store.list_json(entries) if as_json else store.list_text(entries))
    return EXIT_GOOD


@results.command("verify")
@click.argument("runs", nargs=-1)
@output_option
def results_verify(runs: tuple[str, ...], output: Path) -> int:
    """Check that RUNS (default: all complete ones) are as they were archived, by checksums and by record schemas.

    Exit code 1: a run is not. Copies, clocks that were set back and systems of several machines are named too.
    """
    from mpi_campaign.archive import consistency, store  # noqa: PLC0415
    from mpi_campaign.processes.progress import Progress  # noqa: PLC0415

    root = output.resolve()
    folders = [run_folders.find(run, root) for run in runs] or [
        run for run in run_folders.runs(root) if run.is_complete
    ]
    bad = 0
    progress = Progress(len(folders))
    for number, folder in enumerate(folders, 1):
        name = f"{folder.system}/{folder.run}, {number} of {len(folders)}"

        def tell(done: int, of: int, name: str = name) -> None:
            progress.status(f"{name}: {done} of {of} records")

        faults = list(store.faults(folder, tell))
        progress.status("")
        bad += bool(faults)
        print(f"{'FAULT' if faults else 'good '} {folder.system}/{folder.run}")
        for fault in faults:
            print(f"      {fault}")
    for remark in consistency.together(folders)[1]:
        print(f"NOTE  {remark}")
    print(f"{len(folders) - bad} of {len(folders)} runs are what was archived")
    return EXIT_FAILED if bad else EXIT_GOOD


@results.command("export")
@click.argument("run")
@click.option("-o", "target", type=Kept(dir_okay=False), help="Default: RUN.tar.xz here.")
@click.option(
    "--public", is_flag=True, help="Names of hosts, users and folders are replaced; default: RUN.public.tar.xz here."
)
@click.option("--incomplete", is_flag=True, help="Also what there is of a run that is not complete.")
@output_option
def results_export(run: str, target: Path | None, output: Path, *, public: bool, incomplete: bool) -> int:
    """Pack RUN into one file, for `results import` on another machine.

    A public copy says in its manifest which kinds of names were replaced, and which files were left out of it.
    """
    from mpi_campaign.archive import packs, store  # noqa: PLC0415

    folder = run_folders.find(run, output.resolve())
    usual = f"{folder.run}{'.public' * public}{packs.ENDING}"
    print(store.export(folder, (target or Path(usual)).absolute(), public=public, incomplete=incomplete))
    return EXIT_GOOD


@results.command("import")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--system", default="", help="Keep the runs under this name of a system. Default: their own.")
@output_option
def results_import(sources: tuple[Path, ...], system: str, output: Path) -> int:
    """Take runs of another machine into the archive: files of `results export`, runs' folders, another archive's.

    They are verified first. Nothing of them is executed, nothing in the archive is overwritten. A run that is refused
    does not keep others out.
    """
    from mpi_campaign.archive import store  # noqa: PLC0415

    root = output.resolve()
    refused = 0
    for source in (source_ for given in sources for source_ in store.sources_of(given, root)):
        try:
            folder, new = store.take_in(source, root, system)
            print(f"{'imported' if new else 'was there already'}: {folder.path}", flush=True)
        except CampaignError as error:
            refused += 1
            print(f"campaign: {error}", file=sys.stderr)
    return EXIT_WRONG_USE if refused else EXIT_GOOD


@results.command("prune")
@click.option("--system", default="", help="Delete only runs of this system.")
@click.option("--keep", type=click.IntRange(min=0), help="Keep the newest N runs of each system.", metavar="N")
@click.option(
    "--older-than-days",
    "days",
    type=click.FloatRange(0, 36500),
    metavar="DAYS",
    help="Delete only runs older than DAYS.",
)
@click.option("--partial", is_flag=True, help="Delete runs that were never completed, not complete ones.")
@click.option("--yes", is_flag=True, help="Delete the runs. Without --yes they are only listed.")
@output_option
def results_prune(output: Path, system: str, keep: int | None, days: float | None, *, partial: bool, yes: bool) -> int:
    """Delete old runs. Runs that references were made from stay, and runs whose sizes a run that stays took over."""
    from mpi_campaign.archive import store  # noqa: PLC0415

    if days is not None and math.isnan(days):
        raise CampaignError("--older-than-days nan: give a number of days")
    if keep is None and days is None:
        raise CampaignError("which ones? --keep N keeps the newest N of each system, --older-than-days DAYS newer ones")
    old = store.old_runs(output.resolve(), system, keep, days, partial=partial)
    for folder in old:
        stays = f" (a link: {folder.path.resolve()} stays)" if folder.path.is_symlink() else ""
        print(f"{'deleting' if yes else 'would delete'} {folder.system}/{folder.run}{stays}")
    if yes:
        store.throw_away(old)
    elif old:
        print(f"{plural(len(old), 'run')}; nothing was deleted: add --yes")
    if not old:
        print("there is nothing to delete")
    return EXIT_GOOD
