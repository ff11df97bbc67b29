"""The examples of docs/nightly.md: they are what their programs read, and the command in them works."""

import itertools
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from mpi_campaign import ROOT
from mpi_campaign.commands import judge
from mpi_campaign.toolchains import resolving

EXAMPLES = ROOT / "docs" / "nightly"
SCRIPT = EXAMPLES / "nightly.sh"
COMMAND = "docs/nightly/nightly.sh public --suite nightly"
STEPS = ("run", "compare", "versions", "publish")
BEFORE, RUN = "20261031T020000Z-00000b", "20261101T020000Z-00000a"
# A stand-in for `campaign`: it writes the pages that it is asked for, names its run, and ends as CODE_<command> says.
STAND_IN = f"""#!/bin/sh
echo "$@" >>calls
if [ "$1" = run ]; then
    mkdir -p results/local/{RUN}
    echo ' "suite": "nightly",' >results/local/{RUN}/manifest.json
    echo "run: $PWD/results/local/{RUN}"
fi
if [ "$1" = publish ]; then
    mkdir -p "$2/local/runs"
    echo page | tee "$2/index.html" "$2/local/alarms.html" >"$2/local/runs/{RUN}.html"
fi
eval code=\\${{CODE_$1:-0}}
while [ $# -gt 0 ]; do
    case $1 in -o | --html | --junit) echo page >"$2" ;; esac
    shift
done
exit "$code"
"""


def read(name: str) -> dict[Any, Any]:
    found = yaml.safe_load((EXAMPLES / name).read_text())
    assert isinstance(found, dict)
    return found


def clone(folder: Path, *, baseline: bool) -> Path:
    """The script beside a stand-in for `campaign`."""
    (folder / "docs" / "nightly").mkdir(parents=True)
    shutil.copy(SCRIPT, folder / "docs" / "nightly")
    (folder / "campaign").write_text(STAND_IN)
    (folder / "campaign").chmod(0o755)
    if baseline:
        (folder / "systems" / "local").mkdir(parents=True)
        (folder / "systems" / "local" / "references.yaml").touch()
    return folder


def night(folder: Path, *words: str, **codes: int) -> subprocess.CompletedProcess[str]:
    """A night in a clone, called from elsewhere, where each of these commands ends with its code."""
    variables = {"PATH": os.environ["PATH"], **{f"CODE_{name}": str(code) for name, code in codes.items()}}
    line = [str(folder / "docs" / "nightly" / "nightly.sh"), *words]
    return subprocess.run(line, cwd=folder.parent, env=variables, capture_output=True, text=True, check=False)


def called(folder: Path) -> list[str]:
    names = [line.split()[0] for line in (folder / "calls").read_text().splitlines()]
    return [name for name, _ in itertools.groupby(names)]


def test_gitlab_measures_on_a_schedule_and_publishes_a_bad_night_too() -> None:
    found = read("gitlab-ci.yml")
    assert found["nightly"]["script"] == [COMMAND]
    assert found["nightly"]["artifacts"]["when"] == "always"
    assert found["pages"]["rules"][0]["when"] == "always"
    for job in ("nightly", "pages"):
        assert found[job]["stage"] in found["stages"]
        assert found[job]["artifacts"]["paths"] == ["public"]


def test_github_measures_on_the_machine_and_publishes_a_bad_night_too() -> None:
    found = read("github.yml")
    assert set(found[True]) == {"schedule", "workflow_dispatch"}  # YAML 1.1 reads `on` as true
    measure, publish = found["jobs"]["measure"], found["jobs"]["publish"]
    assert "self-hosted" in measure["runs-on"]
    assert [step["run"] for step in measure["steps"] if "run" in step] == [COMMAND]
    assert measure["steps"][-1]["with"]["path"] == "public"
    assert measure["steps"][-1]["if"] == publish["if"] == "${{ !cancelled() }}"
    assert publish["needs"] == "measure"


def test_pull_requests_are_judged_with_options_that_there_are() -> None:
    steps = read("github-judge.yml")["jobs"]["judge"]["steps"]
    lines = [*(step["run"] for step in steps if "run" in step), *read("gitlab-judge.yml")["judge"]["script"]]
    options = {option for parameter in judge.command.params for option in parameter.opts}
    for line in lines:
        assert " judge " in line
        assert set(re.findall(r"--[a-z]+", line)) <= options


def test_cron_runs_the_script_and_says_something_only_after_a_bad_night(tmp_path: Path) -> None:
    lines = [line for line in (EXAMPLES / "crontab").read_text().splitlines() if line and line[0] != "#"]
    variables = dict(line.split("=", 1) for line in lines[:-1])
    assert set(variables) == {"SHELL", "MAILTO", "CLONE", "PAGES", "LOG"}
    assert not Path(variables["LOG"]).is_relative_to(variables["CLONE"])  # a run in it would be one with changes
    assert not Path(variables["LOG"]).is_relative_to(variables["PAGES"])
    found = re.fullmatch(r"(?:(?:\d+|\*) ){5}(?P<command>.+)", lines[-1])
    assert found is not None
    assert "%" not in found["command"]  # for cron, the end of the line
    folder, pages = clone(tmp_path / "a clone", baseline=True), tmp_path / "pages"
    files, log = {*folder.iterdir(), folder / "calls", folder / "results"}, tmp_path / "a log"
    places = {"CLONE": str(folder), "PAGES": str(pages), "LOG": str(log)}
    for code in (0, 1):
        environment = {"PATH": os.environ["PATH"], **places, "CODE_run": str(code)}
        done = subprocess.run(
            [variables["SHELL"], "-c", found["command"]], env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (code, "")
        assert (pages / "index.html").is_file()
        assert log.is_file()
        assert set(folder.iterdir()) == files
    assert called(folder) == [*STEPS, *STEPS]


@pytest.mark.parametrize("bad", STEPS)
def test_the_exit_code_is_the_worst_of_all_steps(tmp_path: Path, bad: str) -> None:
    folder = clone(tmp_path / "clone", baseline=True)
    done = night(folder, "pages", "--suite", "nightly", **{bad: 1})
    assert done.returncode == 1, done.stderr
    assert called(folder) == list(STEPS)
    judged = [shlex.split(line) for line in (folder / "calls").read_text().splitlines() if f" {RUN} " in line]
    assert [line[0] for line in judged] == ["compare"]  # not whatever run is the archive's newest
    assert "A case failed" in (tmp_path / "pages" / "index.html").read_text()


@pytest.mark.parametrize("code", [2, 130])
def test_no_page_of_another_night_passes_for_one_where_nothing_was_measured(tmp_path: Path, code: int) -> None:
    folder = clone(tmp_path / "clone", baseline=True)
    assert night(folder, "pages").returncode == 0
    assert night(folder, "pages", run=code).returncode == code
    page = tmp_path / "pages" / "index.html"
    assert {2: "Nothing was measured: see the log", 130: "Interrupted: see the log"}[code] in page.read_text()
    assert re.findall('href="([^"]*)"', page.read_text()) == ["nights/local/alarms.html", "nights/index.html"]
    assert not (tmp_path / "pages" / "compare.html").exists()
    assert called(folder) == [*STEPS, "run"]


def test_a_night_that_is_ended_has_a_page_that_says_so(tmp_path: Path) -> None:
    folder = clone(tmp_path / "clone", baseline=True)
    (folder / "campaign").write_text("#!/bin/sh\necho $1 >>calls\nkill -TERM $PPID\n")
    assert night(folder, "pages").returncode == 130
    assert "Interrupted" in (tmp_path / "pages" / "index.html").read_text()
    assert called(folder) == ["run"]


def test_the_first_night_says_what_tomorrows_is_compared_with(tmp_path: Path) -> None:
    folder = clone(tmp_path / "clone", baseline=False)
    other = folder / "results" / "local" / "20261031T120000Z-00000c"
    other.mkdir(parents=True)
    (other / "manifest.json").write_text(' "suite": "smoke",\n')  # by hand, of another suite
    done = night(folder, "pages")
    assert done.returncode == 0
    assert called(folder) == ["run", "versions", "publish"]
    assert f"tomorrow's is compared with {RUN}" in done.stdout
    assert f"./campaign baseline {RUN} --output results" in done.stdout
    index = (tmp_path / "pages" / "index.html").read_text()
    assert f"nights/local/runs/{RUN}.html" in index
    assert "compare.html" not in index


def test_the_second_night_is_compared_with_the_first(tmp_path: Path) -> None:
    folder = clone(tmp_path / "clone", baseline=False)
    before = folder / "results" / "local" / BEFORE
    before.mkdir(parents=True)
    (before / "manifest.json").write_text(' "suite": "nightly",\n')
    done = night(folder, "pages", compare=1)
    assert done.returncode == 1
    assert called(folder) == list(STEPS)
    assert f"compare {BEFORE} {RUN} " in (folder / "calls").read_text()
    assert "slower than the night before" in (tmp_path / "pages" / "index.html").read_text()


def test_it_needs_a_folder(tmp_path: Path) -> None:
    done = night(clone(tmp_path / "clone", baseline=False))
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")


@pytest.mark.beside_others
@pytest.mark.rare
@pytest.mark.slow
@pytest.mark.needs("mpi")
def test_a_real_night(tmp_path: Path) -> None:
    """The command of the example for GitLab, with a small run in place of the suite."""
    program, folder, *_ = shlex.split(COMMAND)
    run = ("--toolchain", resolving.DEFAULT_TOOLCHAINS[0], "--configuration", "basic", "--collective", "ibcast")
    small = ("--comm-time", "8ms", "--comp-time", "8ms", "--network", "shm", "--budget-seconds", "120")
    environment: Mapping[str, str] = {**os.environ, "NIGHTLY_ARCHIVE": str(tmp_path / "archive")}
    pages = tmp_path / folder
    done = subprocess.run(
        [str(ROOT / program), str(pages), *run, *small],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = (pages / "nights" / "local" / "runs").glob("*.html")
    assert "ibcast" in report.read_text()
    assert f'href="nights/local/runs/{report.name}"' in (pages / "index.html").read_text()
