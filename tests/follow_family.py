"""Follows a family of benchmarks through the project and prints, as JSON, what each part of it makes of the family.

    python tests/follow_family.py FOLDER

Run in a copy of the project that has `one_more_family` beside the others.
"""

import json
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from mpi_campaign.archive import run_folders, store
from mpi_campaign.commands.cli import campaign
from postprocess.families import registry
from postprocess.records.run import load_run
from postprocess.verdicts.history import series_of
from postprocess.verdicts.launches import launch_table
from tests.archives import archived, name_of, rewrite
from tests.postprocess import synthetic

FAMILY = "barrier_time"
TIME = "t_barriers_ns"


def record(time_ns: int, repeat: int) -> list[dict[str, Any]]:
    """A launch in which one barrier, and two in a row, take about so long."""
    plan = {**synthetic.header()["plan"], "parameters": {"barriers": [1, 2]}, "points": 2}
    head = synthetic.header(family=FAMILY, benchmark=FAMILY, plan=plan, metadata={"case": {"repeat": repeat}})
    points = [
        {
            **synthetic.sweep(grid=(16,))[1], "index": index, "parameters": {"barriers": index + 1}, "repetitions": 7,
            "series": {TIME: [time_ns + repeat + i for i in range(7)], "start_imbalance_ns": [0] * 7}, "warmup": {},
            "warmup_repetitions": 0, "spreads": {}, "rank_medians": {}, "own": {},
        }
        for index in range(2)
    ]  # fmt: skip
    for point in points:
        point.pop("rank_samples", None)
        point.pop("thread_medians", None)
    return [head, *points, synthetic.footer(2)]


def with_barriers(root: Path, day: int, time_ns: int) -> Path:
    """An archived run that has them beside its overlap."""
    folder = archived(root, name_of(day), launches=3)
    for repeat in (1, 2, 3):
        synthetic.write(folder.records_folder / f"mpich.{FAMILY}.r{repeat}.jsonl", record(time_ns, repeat))
    registry.write_tables(load_run(folder.path))
    manifest = run_folders.read_manifest(folder)
    manifest.pop("checksums")
    rewrite(folder, manifest)
    return folder.path


def said(*words: str) -> str:
    """What a command prints."""
    done = CliRunner().invoke(campaign, list(words), catch_exceptions=False, standalone_mode=False)
    return str(done.output)


def main(folder: Path) -> None:
    root = folder / "results"
    before, after = (with_barriers(root, day, time) for day, time in ((1, 1_000_000), (2, 1_500_000)))
    compared = json.loads(said("compare", str(before), str(after), "--json", "--output", str(root)))
    said("report", str(after), "-o", str(folder / "report.html"))
    table, problems = launch_table([before, after])
    series = series_of(table, [TIME])
    found = {
        "shown": said("show", str(after)), "alone": said("show", str(after), "--benchmark", FAMILY),
        "json": json.loads(said("show", str(after), "--benchmark", FAMILY, "--json")),
        "files": sorted(path.name for path in after.glob("*.parquet")),
        "report": (folder / "report.html").read_text(encoding="utf-8"),
        "cases": [case for case in compared["cases"] if case["metric"] == TIME],
        "others": [case for case in compared["cases"] if case["metric"] == "t_measured_ns"],
        "text": said("compare", str(before), str(after), "--output", str(root)), "problems": problems,
        "keys": [one.key for one in series], "old keys": [one.key for one in series_of(table, ["t_measured_ns"])],
        "faults": list(store.faults(run_folders.find(str(after), root))),
    }  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
