"""Libraries that take turns: launched in order, on the sizes of the system, compared, and held against references."""

import csv
import json
import math
import os
import re
import shutil
import subprocess
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT, STATE
from tests.archives import archived, name_of
from tests.support import Command, run_path
from tests.test_live import points

pytestmark = [pytest.mark.slow, pytest.mark.rare, pytest.mark.needs("mpi"), pytest.mark.timeout(900)]

# A map of two points.
LINE = ("--comm-time", "8ms", "--comp-time", "8ms", "--comp-time", "16ms")


@pytest.mark.parametrize("configurations", [("basic",), pytest.param(("basic", "async"), id="async too")])
def test_sides_take_turns_on_the_same_sizes_and_are_compared(
    configurations: tuple[str, ...], tmp_path: Path, campaign: Command
) -> None:
    sides = ("openmpi@5.0.11", "mpich@5.0.2")  # and MPICH's async; Open MPI has none over shared memory
    cases_of_a_turn = [(side, "basic") for side in sides] + [("mpich@5.0.2", name) for name in configurations[1:]]
    words = [word for side in sides for word in ("--toolchain", side)]
    words += [word for name in configurations for word in ("--configuration", name)]
    began = time.time()
    done = campaign(
        "run", *words, "--network", "shm", "--collective", "ibcast", *LINE, "--repeat", "2",
        "--budget-seconds", str(8 * len(cases_of_a_turn)), "--output", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    run = run_path(done.stdout)
    rows = points(run)
    for cell in {(row["comm_target_ns"], row["comp_target_ns"]) for row in rows}:
        same = [row for row in rows if (row["comm_target_ns"], row["comp_target_ns"]) == cell]
        assert len(same) == 2 * len(cases_of_a_turn)
        assert len({(row["message_bytes"], row["work_size"]) for row in same}) == 1
    assert len(json.loads((run / "manifest.json").read_text())["sessions"]) == 2 * len(sides)
    _took_turns_and_say_how_they_were_launched(run, cases_of_a_turn)
    compared = campaign("compare", *sides, "--json", "--metric", "t_comm_ref_ns", "--output", str(tmp_path))
    assert compared.returncode in (0, 1), compared.stderr
    cases = json.loads(compared.stdout)["cases"]
    assert {case["configuration"] for case in cases} == {"basic"}
    if all(row["valid"] for row in rows):  # a crowded machine leaves a point too few repetitions
        assert {(case["launches_a"], case["launches_b"]) for case in cases} == {(2, 2)}
    _in_reframes_own_stores(began, {side.replace("@", "-").replace(".", "_") for side in sides})
    _worse_than_its_reference(tmp_path, run, {row["message_bytes"] for row in rows}, campaign)


def _took_turns_and_say_how_they_were_launched(run: Path, cases_of_a_turn: list[tuple[str, str]]) -> None:
    headers = {path: json.loads(path.read_text().partition("\n")[0]) for path in (run / "records").glob("*.jsonl")}
    turns = sorted(headers, key=lambda path: str(headers[path]["started_utc"]))
    order = [(headers[path]["toolchain"], headers[path]["configuration"]) for path in turns]
    assert order == [*cases_of_a_turn, *sorted(cases_of_a_turn, key=lambda case: case[0])]  # MPICH first
    for path in turns:
        script = (run / "logs" / f"{path.stem}.sh").read_text()
        assert "mpiexec" in script, script  # the launcher, not the copy of an earlier record


def _in_reframes_own_stores(began: float, environments: set[str]) -> None:
    """The session database, by ReFrame's own command, and the performance logs, whose header stays."""
    since = datetime.fromtimestamp(began - 1, timezone.utc)
    logged = set()
    log = STATE / "reframe" / "perflogs" / "local" / "shm" / "nbc_overlap_basic.log"
    for row in csv.DictReader(log.read_text().splitlines(), delimiter="|"):
        if datetime.fromisoformat(row["job_completion_time"]) >= since and row["perf_var"] == "r_overhead":
            assert float(row["perf_value"]) > 0
            logged.add(row["environ"])
    assert logged == environments
    minutes = math.ceil((time.time() - began) / 60) + 1
    period = f"now-{minutes}m:now"
    done = subprocess.run(
        [
            ROOT / ".venv" / "bin" / "reframe", "-C", "systems/local/settings.py", "--nocolor",
            f"--performance-compare={period}/{period}/mean:/",
        ],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line for line in done.stdout.splitlines() if "nbc_overlap_basic" in line and "r_overhead" in line]
    assert all(any(environment in row for row in rows) for environment in environments), done.stdout


def _worse_than_its_reference(archive_: Path, earlier: Path, sizes: set[int], campaign: Command) -> None:
    """On the sizes of an earlier run, with references of a library that overlaps: it fails, and says why."""
    name = f"tmp-reference-{os.getpid()}"
    folder = ROOT / "systems" / name
    overlaps: dict[str, Any] = {"toolchains": ("mpich@5.0.2",), "network": "shm", "overhead": 0.0, "launches": 1}
    line = {"options": {"comm_times": ["8ms"], "comp_times": ["8ms", "16ms"]}}
    try:
        folder.mkdir()
        settings = (ROOT / "systems" / "local" / "settings.py").read_text()
        (folder / "settings.py").write_text(settings.replace('name="local"', f'name="{name}"'))
        runs = [archived(archive_, name_of(day), system=name, manifest=line, **overlaps).run for day in (1, 2, 3)]
        made = campaign("baseline", *runs, "--output", str(archive_))
        assert made.returncode == 0, made.stderr
        assert (
            "comm_8000000_comp_8000000-16000000_ns.2x1.mpich-5_0_2.shm.basic.nbc_overlap.ibcast"
            in (folder / "references.yaml").read_text()
        )
        done = campaign(
            "run", "--system", name, "--toolchain", "mpich@5.0.2", "--configuration", "basic", "--network", "shm",
            "--collective", "ibcast", *LINE, "--sizes-of", earlier.name, "--budget-seconds", "24",
            "--output", str(archive_),
        )  # fmt: skip
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 1, done.stdout + done.stderr
    (failed,) = [line for line in done.stdout.splitlines() if line.startswith("FAIL ")]
    assert "r_overhead" in failed
    run = run_path(done.stdout)
    assert json.loads((run / "manifest.json").read_text())["status"] == "complete"
    assert {row["message_bytes"] for row in points(run)} == sizes


def _sizes(run: Path) -> dict[str, tuple[int, int, bool]]:
    """By library: the sizes of the only point of each record, and whether they were given."""
    found = {}
    for path in (run / "records").glob("*.jsonl"):
        header, point, *_ = map(json.loads, path.read_text().splitlines())
        sizes, status = point["parameters"], point["own"]["comm_calibration"]["status"]
        found[header["toolchain"]] = (sizes["message_bytes"], sizes["work_size"], status == "given")
    return found


def test_all_libraries_and_runs_take_the_sizes_of_the_system(tmp_path: Path, campaign: Command) -> None:
    mpich, openmpi = "mpich@5.0.2", "openmpi@5.0.11"

    def run(*words: str) -> dict[str, tuple[int, int, bool]]:
        point = ("--comm-time", "2ms", "--comp-time", "2ms", "--budget-seconds", "8")
        where = ("--network", "shm", "--collective", "ibcast", "--configuration", "basic", "--output", str(tmp_path))
        done = campaign("run", *where, *point, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return _sizes(run_path(done.stdout))

    first = run("--toolchain", mpich, "--toolchain", openmpi)
    assert first[mpich][2] is False
    assert first[openmpi] == (*first[mpich][:2], True)
    assert run("--toolchain", openmpi) == {openmpi: first[openmpi]}
    assert run("--toolchain", openmpi, "--calibrate", "own")[openmpi][2] is False
    assert run("--toolchain", openmpi) == {openmpi: first[openmpi]}
    anew = run("--toolchain", openmpi, "--calibrate", "anew")
    assert anew[openmpi][2] is False
    assert run("--toolchain", mpich) == {mpich: (*anew[openmpi][:2], True)}
    store = tmp_path / "local" / "sizes.yaml"
    (cpu,) = set(re.findall(r"cpu: (.*)", store.read_text()))
    store.write_text(store.read_text().replace(cpu, "another CPU"))
    assert run("--toolchain", mpich)[mpich][2] is False
