"""`campaign publish`: an archive as a static site, and what is written when a night is added."""

import functools
import json
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from mpi_campaign import ROOT
from mpi_campaign.verdicts import publishing
from postprocess.verdicts import published
from tests.archives import archived, name_of
from tests.postprocess.test_postprocess_history import nights
from tests.support import Command, refused

LARGEST_PAGE_BYTES = 500 << 10
HOST = "secret-node-0"


def night(root: Path, day: int, launches: int = 1) -> None:
    """A night of two libraries; from the eighth on all times are a tenth longer, and the kernel is another."""
    host = {"name": HOST, "cpu": "Some CPU", "cores": 2, "kernel": "6.2" if day >= 8 else "6.1"}
    archived(
        root, name_of(day), factor=1.1 if day >= 8 else 1.0, toolchains=("openmpi@5.0.11", "mpich@5.0.2"),
        launches=launches, manifest={"host": host},
    )  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fourteen nights."""
    root = tmp_path_factory.mktemp("nights")
    for day in range(1, 15):
        night(root, day)
    return root


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the fourteen nights. An alarm rings."""
    site = tmp_path_factory.mktemp("published") / "site"
    assert publishing.run(publishing.PublishRequest(base="https://example.org/nights"), root, site) == 1
    return site


class Links(HTMLParser):
    """The addresses that a page leads to, and its ids."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, _tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.addresses.append(value)
            if name == "id" and value:
                self.ids.add(value)


@functools.cache
def links(page: Path) -> Links:
    found = Links()
    found.feed(page.read_text(encoding="utf-8"))
    return found


def content(site: Path) -> dict[Path, int]:
    """When each file of a site was written."""
    files = [path for path in site.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {path.relative_to(site): path.stat().st_mtime_ns for path in files}


def test_a_site_leads_from_its_first_page_to_every_night_case_and_alarm(site: Path, inside: Command) -> None:
    reached, ahead = {site / "index.html"}, [site / "index.html"]
    while ahead:
        page = ahead.pop()
        assert page.stat().st_size <= LARGEST_PAGE_BYTES
        for address in set(links(page).addresses):
            path, _, anchor = address.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.is_file(), f"{page}: {address}"
            assert not anchor or anchor in links(target).ids
            if target not in reached:
                reached.add(target)
                ahead.append(target)
    assert reached == set(site.rglob("*.html"))
    assert {path.stem for path in (site / "here" / "runs").iterdir()} == {name_of(day) for day in range(1, 15)}
    assert len(list((site / "here" / "cases").iterdir())) == 4  # two libraries, two collectives
    (system,) = json.loads((site / "index.json").read_text())["systems"]
    assert (system["newest_run"], system["state"], system["nights"]) == (name_of(14), "bad", 14)
    assert system["ringing"] > 0
    feed = ElementTree.parse(site / "alarms.atom")
    (entry,) = feed.iter("{http://www.w3.org/2005/Atom}entry")
    assert "kernel: 6.1 -> 6.2" in "".join(entry.itertext())
    assert [link.get("href") for link in entry.iter("{http://www.w3.org/2005/Atom}link")] == [
        "https://example.org/nights/here/alarms.html"
    ]
    ElementTree.parse(site / "here" / "badge.svg")
    assert inside("publish", str(site), "--check").returncode == 1
    document = {"systems": [system], "silent_hours": published.SILENT_HOURS}
    began = pd.Timestamp(system["newest_utc"])
    silent = [published.silent(document, began + pd.Timedelta(hours=published.SILENT_HOURS + more)) for more in (-1, 1)]
    assert list(map(len, silent)) == [0, 1]


def test_one_more_night_writes_what_it_changes(tmp_path: Path, inside: Command) -> None:
    root, site = tmp_path / "nights", tmp_path / "site"
    words = ("publish", str(site), "--output", str(root))
    for day in (1, 2):
        night(root, day)
    assert inside(*words).returncode == 0
    before = content(site)
    assert inside(*words).returncode == 0
    assert content(site) == before
    night(root, 3)
    assert inside(*words).returncode == 0
    after = content(site)
    assert Path("here/runs", f"{name_of(3)}.html") in after.keys() - before.keys()
    unchanged = Path("here/runs", f"{name_of(1)}.html")
    assert after[unchanged] == before[unchanged]
    assert after[Path("index.html")] != before[Path("index.html")]


def test_a_public_site_names_no_host(tmp_path: Path, inside: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpi_campaign.archive.run_folders.PUBLIC_COPIES", tmp_path / "copies")
    root, site = tmp_path / "nights", tmp_path / "site"
    for day in (1, 2):
        night(root, day)
    done = inside("publish", str(site), "--public", "--output", str(root))
    assert done.returncode == 0, done.stderr
    files = [path for path in site.rglob("*") if path.is_file() and path.suffix]
    assert len(files) > 10
    private = (HOST, str(tmp_path), str(ROOT))
    assert not [path for path in files if any(word in path.read_text(encoding="utf-8") for word in private)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--system", "nowhere"), "there are: here"),
        (("--url", "example.org"), "https://"),
    ],
)
def test_wrong_use_is_refused(root: Path, tmp_path: Path, inside: Command, words: tuple[str, ...], says: str) -> None:
    refused(inside("publish", str(tmp_path / "site"), *words, "--output", str(root)), says)


def test_a_folder_that_is_no_site_stays_as_it_is(root: Path, tmp_path: Path, inside: Command) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    refused(inside("publish", str(tmp_path), "--output", str(root)), "other files")
    refused(inside("publish", str(tmp_path), "--check"), "index.json")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_trend_is_relative_to_what_is_usual() -> None:
    """Two points of very different size, both a fifth slower in the last of seven nights."""
    series = [nights({0: size, 6: 1.2 * size}, count=7, noise=1e-6) for size in (1e3, 1e9)]
    runs, values = published.trend(series)
    assert runs == list(series[0].runs)
    assert values == pytest.approx([1.0] * 6 + [1.2], rel=1e-4)
