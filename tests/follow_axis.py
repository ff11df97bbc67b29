"""Follows an axis of nbc_overlap through the campaign and prints, as JSON, what each part of it makes of the axis.

    python tests/follow_axis.py NAME VALUE VALUE

Run in a copy of the project that has one axis more.
"""

import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner

from mpi_campaign.archive import provenance, references, run_folders
from mpi_campaign.commands import cli, listing
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.planning.benchmarks.registry import CHOICES
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.checks import check
from mpi_campaign.planning.making import make_plan
from mpi_campaign.planning.options import Options
from mpi_campaign.planning.plan import Plan
from mpi_campaign.running import run, verify
from mpi_campaign.toolchains.resolving import Toolchain
from postprocess.families import registry as families
from postprocess.families.axes import configuration_words
from postprocess.families.family import Value
from postprocess.families.nbc_overlap.points import CASE
from postprocess.records.run import load_run
from postprocess.verdicts import launches
from tests.postprocess import synthetic

ANY_CASE = {
    **dict.fromkeys(("toolchain", "provider", "environment", "network", "configuration"), ""),
    "benchmark": "nbc_overlap",
    "collective": "ibcast",
}
MPICH = Toolchain("mpich@5.0.2", "mpich", "5.0.2", "wheels", "/opt/mpich", "/opt/mpich/mpicc", "/opt/mpich/mpiexec")
RUN = ("--benchmark", "nbc_overlap", "--benchmark", "mpi_impact", "--collective", "ibcast", "--configuration", "async")


def asked_for(*words: str) -> Options:
    """What `campaign run` with these words asks for."""
    asked: list[Options] = []

    class Campaign:
        def __init__(self, options: Options, *_: Any) -> None:
            asked.append(options)

        def run(self, *, dry_run: bool) -> int:
            return int(dry_run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "Campaign", Campaign)
        done = CliRunner().invoke(cli.campaign, ["run", *RUN, *words], standalone_mode=False)
    assert done.exception is None, done.exception
    return asked[0]


def commands(plan: Plan) -> list[list[str]]:
    """ReFrame's command line of every round."""
    campaign = run.Campaign(plan.options, Path("/archive"), [])
    folder = run_folders.RunFolder(Path("/archive"), "local", "RUN")
    return [campaign._command(folder, plan, turn) for turn in plan.rounds]


def refusal(options: Options) -> str:
    """Why that cannot be asked for."""
    try:
        check(options)
    except CampaignError as error:
        return str(error)
    return ""


def in_tables(name: str, value: Value, other: Value) -> dict[str, Any]:
    """What is made of a record of the first value, of one that does not tell, and, for a case of the other value, what
    it is not."""
    lines, older = (synthetic.sweep(grid=(16,), started_utc=f"2026-01-01T00:0{minute}:00Z") for minute in range(2))
    lines[0]["plan"]["parameters"][name] = [value]
    with TemporaryDirectory() as folder:
        made = load_run(synthetic.run_folder(Path(folder) / "local" / "RUN", [lines, older]))
    table = families.found(made, families.MAIN).table.sort_values(name)
    header = made.of(families.MAIN.name)[0].header
    case = Case.from_dict({**ANY_CASE, name: other})
    return {
        "values": table[name].tolist(),
        "named": [configuration_words(row) for row in table.to_dict("records")],
        "faults": list(verify.of_axes(header, case)),
    }


def follow(name: str, *values: str) -> dict[str, Any]:
    choice = CHOICES[name]
    words = [word for value in values for word in (choice.option, value)]
    options = asked_for(*words)
    manifest = json.loads(json.dumps({"schema_version": 1, "options": options.as_dict()}))
    read = [choice.read(value) for value in values]
    unusual = next(value for value in read if value != choice.usual)
    plan = make_plan(options, [MPICH], "shm", Placement(1, 2, 1))
    told = json.loads(json.dumps([case.as_dict() for case in plan.cases]))
    younger = [{key: value for key, value in case.items() if key != name} for case in told]
    return {
        "help": CliRunner().invoke(cli.campaign, ["run", "--help"]).stdout,
        "refusal": refusal(asked_for(choice.option, "n o n e")),
        "not of mpi_impact": refusal(Options.of(benchmarks=("mpi_impact",), **{choice.key: values})),
        "options": manifest["options"], "resumed as asked": Options.from_manifest(manifest) == options,
        "typed again": provenance._run_line(options, cli.load_run()), "cases": told,
        "stems": [case.stem for case in plan.to_measure], "labels": [case.label for case in plan.to_measure],
        "read again": [Case.from_dict(one) for one in told] == list(plan.cases),
        "older": sorted({Case.from_dict(one).as_dict()[name] for one in younger}),
        "keys": [references.key(case, "smoke", 2, 1) for case in plan.to_measure],
        "commands": [shlex.join(words) for words in commands(plan)],
        "told": {str(value): choice.words(value) for value in {case[name] for case in told}},
        "listed": listing.everything().get(choice.plural), "tables": in_tables(name, unusual, choice.usual),
        "columns": [name in columns for columns in (CASE, launches.COLUMNS)],
        "axis": {key: str(value) for key, value in asdict(CHOICES[name].axis).items()},
        "compared": name in [one.name for one in families.AXES],
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(follow(*sys.argv[1:])))
