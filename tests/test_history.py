"""`campaign history` and `campaign accept`, as they are typed, on archives whose truth is known."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.archives import archived, name_of
from tests.support import Command, refused


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fourteen nights; from the eighth on the kernel is another, and all times are a tenth longer."""
    root = tmp_path_factory.mktemp("nights")
    for day in range(1, 15):
        host = {"name": "node-0", "cpu": "Some CPU", "cores": 2, "kernel": "6.2" if day >= 8 else "6.1"}
        archived(root, name_of(day), factor=1.1 if day >= 8 else 1.0, launches=1, manifest={"host": host})
    return root


def test_an_alarm_names_the_run_and_what_changed_in_it(root: Path, tmp_path: Path, campaign: Command) -> None:
    page = tmp_path / "history.html"
    done = campaign("history", "--output", str(root), "--html", str(page))
    assert done.returncode == 1, done.stderr
    assert f"slower since {name_of(8)}" in done.stdout
    assert f"changed after {name_of(7)}: host kernel: 6.1 -> 6.2" in done.stdout
    assert "16 changes, 16 alarms, 0 acknowledged" in done.stdout
    assert "host kernel: 6.1 -&gt; 6.2" in page.read_text()


def test_what_somebody_has_seen_to_stays_quiet(root: Path, campaign: Command) -> None:
    found = json.loads(campaign("history", "--json", "--output", str(root)).stdout)["changes"]
    names = [word for one in found for word in ("--acknowledge", one["name"])]
    refused(campaign("history", *names, "--output", str(root)), "--because")
    refused(
        campaign("history", "--acknowledge", "nobody", "--because", "x", "--output", str(root)), "no alarm 'nobody'"
    )
    done = campaign("history", *names, "--because", "new kernel", "--output", str(root))
    assert done.returncode == 0, done.stderr
    done = campaign("history", "--output", str(root))
    assert done.returncode == 0
    assert "0 alarms, 16 acknowledged" in done.stdout
    assert "acknowledged: new kernel" in done.stdout
    (root / "here" / "acknowledged.json").write_text("[1]")
    refused(campaign("history", "--output", str(root)), "acknowledged.json is not what")
    (root / "here" / "acknowledged.json").unlink()


def test_before_the_change_there_is_none(root: Path, campaign: Command) -> None:
    done = campaign("history", "..2026-11-07", "--output", str(root))
    assert done.returncode == 0, done.stderr
    assert "0 of 24 series have the 12 runs that it takes, of 7 runs in all" in done.stdout


def test_a_run_is_accepted_or_not(root: Path, tmp_path: Path, campaign: Command) -> None:
    path = tmp_path / "criteria.yaml"
    path.write_text(
        "title: The new machine\n"
        "criteria:\n"
        "  - {name: it serialises, metric: r_overhead, at_least: 0.8}\n"
        "  - {name: it overlaps, metric: r_overhead, at_most: 0.2}\n"
        "  - {name: many nodes, metric: r_overhead, where: {nodes: 64}, at_most: 0.2}\n"
    )
    junit, page = tmp_path / "a.xml", tmp_path / "a.html"
    words = ("accept", name_of(3), "--criteria", str(path), "--output", str(root))
    done = campaign(*words, "--junit", str(junit), "--html", str(page))
    assert done.returncode == 1, done.stderr
    assert "FAIL: 1 of 3 criteria fail" in done.stdout
    suite = ElementTree.parse(junit).getroot()
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["3", "1", "1"]
    assert "for the customer" in page.read_text()
    verdicts = [one["verdict"] for one in json.loads(campaign(*words, "--json").stdout)["criteria"]]
    assert verdicts == ["PASS", "FAIL", "NOT TESTED"]
    path.write_text("criteria:\n  - {name: it serialises, metric: r_overhead, at_least: 0.8}\n")
    assert campaign(*words).returncode == 0
    path.write_text("criteria: 5")
    refused(campaign(*words), "no list 'criteria'")
    refused(campaign("accept", "last", "--criteria", str(tmp_path / "none"), "--output", str(root)), "cannot be read")
