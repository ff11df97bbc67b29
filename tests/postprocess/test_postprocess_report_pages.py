"""The report of a large run: a page of it at a time, the rest packed, and nothing of it lost."""

from __future__ import annotations

import gzip
import html
import json
import re
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from postprocess.drawing.look import Room
from postprocess.families.nbc_overlap.points import points_of
from postprocess.families.nbc_overlap.report_points import COLUMNS
from postprocess.records.parquet import write_table
from postprocess.records.run import load_run
from postprocess.report.html import render_report
from tests.postprocess import synthetic
from tests.postprocess.pages import log, open_at, requests
from tests.postprocess.synthetic import Behaviour
from tests.postprocess.test_postprocess_report import Page, hostile_run

POINTS, ROWS, CASES, DRAWN = 288, 50, 8, 2
SMALL = Room(whole=100, rows=ROWS, drawn=DRAWN * 36, light=0)
LARGE = Room(whole=POINTS, light=10**9)
GRID = (1, 2, 4, 8, 16, 32)


def run_of(folder: Path, collectives: tuple[str, ...]) -> Path:
    """Two configurations of two libraries, with 36 points of each collective, each case unlike the others."""
    cases = [
        (toolchain, collective, configuration)
        for toolchain in ("openmpi@5.0.11", "mpich@5.0.2")
        for collective in collectives
        for configuration in ("basic", "async")
    ]
    records = [
        synthetic.sweep(
            Behaviour(0.1 * number, comm=0.1, noise=0.01 + 0.02 * number),
            GRID, toolchain=toolchain, collective=collective, configuration=configuration,
        )
        for number, (toolchain, collective, configuration) in enumerate(cases)
    ]  # fmt: skip
    return synthetic.run_folder(folder, records)


def source_of(run_dir: Path, room: Room = SMALL) -> str:
    run = load_run(run_dir)
    return render_report(run, room=room)


def packed(source: str) -> dict[str, Any]:
    """What the page's script reads."""
    (text,) = re.findall(r'<script type="application/gzip" id="rest">([A-Za-z0-9+/=]*)</script>', source)
    rest: dict[str, Any] = json.loads(gzip.decompress(b64decode(text)))
    return rest


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The report of a run as a large one, as an ordinary one, and of half of the run as a large one."""
    folder = tmp_path_factory.mktemp("large")
    run_dir = run_of(folder / "run", ("ibcast", "ireduce"))
    half = source_of(run_of(folder / "half", ("ibcast",)))
    return {"large": source_of(run_dir), "whole": source_of(run_dir, LARGE), "half": half}


def cells_of(source: str) -> list[str]:
    body = source.split('<table class="list points">')[1].partition("</tbody>")[0]
    return [html.unescape(text) for text in re.findall(r"<td[^>]*>([^<]*)</td>", body)]


def test_a_large_report_has_a_page_and_says_where_the_rest_is(sources: dict[str, str]) -> None:
    page = Page(sources["large"])
    assert page.open == []
    assert len([a for a in page.all("tr") if a.get("id", "").startswith("p")]) == ROWS
    assert len([a for a in page.all("td") if "headers" in a]) == 36 * (3 + 5)
    assert len([a for a in page.all("section") if a.get("class") == "panel"]) == CASES
    assert f"1 to {ROWS} of {POINTS} points are shown." in page.text
    assert "./campaign show 20261121T010203Z-ab12cd --json prints all of them." in page.text
    assert f"1 to {DRAWN} of {CASES} cases are drawn. All are above ." in page.text
    assert page.text.count("On paper are those that are") == 2
    assert page.text.count("Where the page's script may run, the others are") == 2
    ids = {a["id"] for _, a in page.elements if "id" in a}
    assert {a["href"][1:] for a in page.all("a") if a.get("href", "").startswith("#")} <= ids


def test_page_and_rest_are_the_whole(sources: dict[str, str]) -> None:
    rest = packed(sources["large"])
    assert len(rest["rows"]) == POINTS - ROWS
    told = [text for _, cells in rest["rows"] for text in cells]
    assert cells_of(sources["large"]) + told == cells_of(sources["whole"])
    assert sorted(map(int, rest["maps"])) == list(range(1 + DRAWN, 1 + CASES))


def test_what_is_folded_is_packed_whole(sources: dict[str, str], tmp_path: Path) -> None:
    kept = source_of(run_of(tmp_path / "run", ("ibcast", "ireduce")), replace(SMALL, light=LARGE.light))
    folded = packed(sources["large"])["folded"]
    assert len(folded) > 2 and min(map(len, folded)) > 1000
    put_back = re.sub(r'<div data-folded="(\d+)">.*?</div>', lambda found: str(folded[int(found[1])]), sources["large"])
    assert put_back.partition("<script")[0] == kept.partition("<script")[0]
    assert "data-unscripted>" in sources["large"].partition('<section id="provenance">')[2]


def test_an_ordinary_report_has_no_pages(sources: dict[str, str]) -> None:
    whole = sources["whole"]
    assert len([a for a in Page(whole).all("tr") if a.get("id", "").startswith("p")]) == POINTS
    assert [attributes for tag, attributes in Page(whole).elements if tag == "script"] == [{}]
    marked = {name for _, attributes in Page(whole).elements for name in attributes}
    assert not marked & {"data-pages", "data-href", "data-unscripted"}
    assert "On paper" not in Page(whole).text


def test_a_point_that_is_not_on_the_first_page_costs_little(sources: dict[str, str]) -> None:
    """A run of 13,000 points is to have a report of less than 10 MB, of which each may take some 750 bytes."""
    more = len(sources["large"].encode()) - len(sources["half"].encode())
    assert more / (POINTS / 2) < 400
    assert len(sources["large"]) < len(sources["whole"]) / 2


def test_the_table_is_named_where_there_is_one(tmp_path: Path) -> None:
    run_dir = synthetic.run_folder(tmp_path / "run", [synthetic.sweep(grid=(8, 16))])
    words = "<code>points.parquet</code> in the run's folder"
    room = Room(1, 1, 1)
    assert words not in source_of(run_dir, room)
    write_table(points_of(load_run(run_dir)), run_dir / "points.parquet")
    assert words in source_of(run_dir, room)


def test_hostile_names_stay_packed(tmp_path: Path) -> None:
    source = source_of(hostile_run(tmp_path / "run"), Room(1, 1, 1))
    page = Page(source)
    assert page.open == []
    assert [sorted(a) for a in page.all("script")] == [["id", "type"], []]
    assert "alert(1)" not in html.unescape(re.sub(r"<style>.*?</style>|&lt;script&gt;alert\(1\)", "", source))
    told = json.dumps(packed(source), ensure_ascii=False)
    assert "<script>alert(1)</script>" in told  # as text, which the script sets as text
    assert told.isprintable()
    assert "\\u" not in told


def parts_of(browser: webdriver.Chrome, selector: str) -> dict[str, Any]:
    """Elements with their attributes, and text, of what stands in the page, by the number of the point or case."""
    script = "return [...document.querySelectorAll(arguments[0])].map((one) => [one.id, one.outerHTML])"
    parts = {name: Page(markup) for name, markup in browser.execute_script(script, selector)}
    return {name: (part.elements, part.text) for name, part in parts.items()}


@pytest.fixture(scope="module")
def files(sources: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    room = Room(1, 1, 1)
    pages = {**sources, "hostile": source_of(hostile_run(folder / "hostile-run"), room)}
    for name, source in pages.items():
        (folder / f"{name}.html").write_text(source, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


def ready(browser: webdriver.Chrome, page: Path, fragment: str = "") -> None:
    """The page opened, its rest unpacked."""
    open_at(browser, page, fragment)
    WebDriverWait(browser, 60).until(lambda _: browser.find_element(By.ID, "choose").is_displayed())


def rows(browser: webdriver.Chrome) -> list[int]:
    found = browser.find_elements(By.CSS_SELECTOR, "#points tbody tr")
    assert all(row.is_displayed() for row in found)
    return [int(str(row.get_attribute("id"))[1:]) for row in found]


def cases(browser: webdriver.Chrome) -> list[int]:
    found = browser.find_elements(By.CSS_SELECTOR, ".panel:not([hidden])")
    return [int(str(panel.get_attribute("id"))[1:]) for panel in found]


def said(browser: webdriver.Chrome, name: str) -> str:
    return browser.find_element(By.ID, f"{name}-shown").text


def control(browser: webdriver.Chrome, name: str, what: str) -> WebElement:
    return browser.find_element(By.CSS_SELECTOR, f"[data-pages={name}] {what}")


NEXT, BACK, NUMBER = "[data-step='1']", "[data-step='-1']", "input"
browsing = pytest.mark.needs("browser")


@browsing
def test_what_the_script_makes_is_what_the_template_makes(browser: webdriver.Chrome, files: dict[str, Path]) -> None:
    ready(browser, files["whole"], "view=everything")
    expected = parts_of(browser, "#points tbody tr, .panel")
    ready(browser, files["large"], "view=everything")
    found: dict[str, Any] = {}
    for _ in range(6):
        found |= parts_of(browser, "#points tbody tr, .panel:not([hidden])")
        for name in ("points", "maps"):
            control(browser, name, NEXT).send_keys(Keys.ENTER)
    assert len(expected) == POINTS + CASES
    assert found == expected
    assert {url.partition("#")[0] for url in requests(browser)} == {files[n].as_uri() for n in ("whole", "large")}
    assert log(browser, "browser") == []


@browsing
def test_pages_by_keyboard_and_in_the_address(browser: webdriver.Chrome, files: dict[str, Path]) -> None:
    ready(browser, files["large"])
    assert browser.find_elements(By.CSS_SELECTOR, "[data-folded]") == []
    assert "checksums" in str(browser.find_element(By.ID, "provenance").get_attribute("textContent"))
    assert (rows(browser), cases(browser)) == (list(range(1, 51)), [1, 2])
    assert control(browser, "points", BACK).get_attribute("aria-disabled") == "true"
    control(browser, "points", BACK).send_keys(Keys.ENTER)
    assert rows(browser)[0] == 1
    control(browser, "points", NEXT).send_keys(Keys.SPACE)
    assert rows(browser) == list(range(51, 101))
    assert said(browser, "points") == "51 to 100 of 288 points are shown."
    assert browser.switch_to.active_element == control(browser, "points", NEXT)
    control(browser, "points", NUMBER).send_keys(Keys.BACKSPACE, "6", Keys.ENTER)
    assert rows(browser) == list(range(251, 289))
    assert control(browser, "points", NEXT).get_attribute("aria-disabled") == "true"
    control(browser, "maps", NEXT).send_keys(Keys.ENTER)
    assert said(browser, "maps") == "3 to 4 of 8 cases are drawn."
    assert rows(browser)[0] == 251

    address = browser.current_url
    assert address == f"{files['large'].as_uri()}#maps=2&points=6"
    ready(browser, files["large"], address.partition("#")[2])
    assert (rows(browser)[0], cases(browser)) == (251, [3, 4])
    browser.find_element(By.ID, "reset").click()
    assert (rows(browser)[0], cases(browser)) == (1, [1, 2])
    assert browser.current_url == files["large"].as_uri()


@browsing
def test_the_lower_controls_lead_back_to_the_first_map(browser: webdriver.Chrome, files: dict[str, Path]) -> None:
    ready(browser, files["large"])
    upper, lower = browser.find_elements(By.CSS_SELECTOR, "[data-pages=maps]")
    lower.find_element(By.CSS_SELECTOR, NEXT).send_keys(Keys.ENTER)
    assert cases(browser) == [3, 4]
    assert -1 < browser.execute_script("return arguments[0].getBoundingClientRect().top", upper) < 100


@browsing
def test_a_choice_is_of_all_pages(browser: webdriver.Chrome, files: dict[str, Path]) -> None:
    ready(browser, files["large"], "points=4&maps=3")
    browser.find_element(By.CSS_SELECTOR, "fieldset[data-kind=configuration] input[value=basic]").click()
    browser.find_element(By.CSS_SELECTOR, "fieldset[data-kind=collective] input[value=ibcast]").click()
    assert browser.find_element(By.ID, "shown").text == "2 of 8 cases chosen."
    assert said(browser, "points") == "1 to 50 of 72 chosen points, of 288, are shown."
    assert said(browser, "maps") == "1 to 2 of 2 chosen cases, of 8, are drawn."
    control(browser, "points", NEXT).send_keys(Keys.ENTER)
    shown = browser.find_elements(By.CSS_SELECTOR, "#points tbody tr")
    assert len(shown) == 22
    assert {row.find_elements(By.TAG_NAME, "td")[3].text for row in shown} == {"ireduce"}
    assert not control(browser, "maps", NUMBER).is_displayed()
    address = browser.current_url
    ready(browser, files["large"], address.partition("#")[2])
    assert len(rows(browser)) == 22
    assert browser.current_url == address
    browser.find_element(By.CSS_SELECTOR, "fieldset[data-kind=collective] input[value=ireduce]").click()
    assert said(browser, "points") == "0 to 0 of 0 chosen points, of 288, are shown."
    assert log(browser, "browser") == []


def target(browser: webdriver.Chrome) -> str:
    found = browser.find_element(By.CSS_SELECTOR, ":target")
    top = browser.execute_script("return arguments[0].getBoundingClientRect().top", found)
    assert 0 <= top < browser.execute_script("return innerHeight")
    return str(found.get_attribute("id"))


@browsing
def test_links_lead_to_other_pages(browser: webdriver.Chrome, files: dict[str, Path]) -> None:
    ready(browser, files["large"], "p288")
    assert target(browser) == "p288"
    ready(browser, files["large"])
    leads_to = "return document.getElementById(arguments[0].hash.slice(1)).closest('.panel').id"
    links = browser.find_elements(By.CSS_SELECTOR, ".matrix td a")
    of_panel = {browser.execute_script(leads_to, one): one for one in links}
    assert len(of_panel) == 8
    of_panel["s7"].click()
    WebDriverWait(browser, 10).until(lambda _: target(browser) == str(of_panel["s7"].get_attribute("hash"))[1:])
    cell = next(c for c in browser.find_elements(By.CSS_SELECTOR, "#s7 .map td > a") if c.is_displayed())
    browser.execute_script("arguments[0].focus()", cell)
    tip = browser.find_element(By.ID, "tip")
    assert "11; interval reached" in tip.text
    tip.find_element(By.TAG_NAME, "a").click()
    WebDriverWait(browser, 10).until(lambda _: target(browser) == str(cell.get_attribute("hash"))[1:])
    browser.execute_script("location.hash = 'p1'")
    WebDriverWait(browser, 10).until(lambda _: rows(browser)[0] == 1)
    assert target(browser) == "p1"


@browsing
@pytest.mark.parametrize(
    ("fragment", "first"), [("points=99", 251), ("points=-3", 1), ("points=2.7", 51), ("points=__proto__&maps=", 1)]
)
def test_nonsense_for_a_page_is_a_page(
    browser: webdriver.Chrome, files: dict[str, Path], fragment: str, first: int
) -> None:
    ready(browser, files["large"], fragment)
    assert rows(browser)[0] == first
    assert cases(browser) == [1, 2]
    assert log(browser, "browser") == []


@browsing
def test_hostile_names_stay_text_on_every_page(browser: webdriver.Chrome, files: dict[str, Path]) -> None:
    ready(browser, files["hostile"])
    for _ in range(8):
        assert "<script>alert(1)</script>" in browser.find_element(By.CSS_SELECTOR, "#points tbody").text
        browser.execute_script("arguments[0].focus()", browser.find_element(By.CSS_SELECTOR, ".map td > a"))
        control(browser, "points", NEXT).send_keys(Keys.ENTER)
        control(browser, "maps", NEXT).send_keys(Keys.ENTER)
    assert browser.execute_script("return document.scripts.length") == 2
    assert log(browser, "browser") == []


@browsing
def test_the_first_page_is_there_without_a_script(browser: webdriver.Chrome, files: dict[str, Path]) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    open_at(browser, files["large"])
    assert len(rows(browser)) == ROWS
    assert len(cases(browser)) == CASES
    assert not any(nav.is_displayed() for nav in browser.find_elements(By.CSS_SELECTOR, "[data-pages]"))
    assert "Where the page's script may run" in browser.find_element(By.ID, "points").text


@browsing
def test_a_browser_that_cannot_unpack_shows_the_first_page(browser: webdriver.Chrome, files: dict[str, Path]) -> None:
    old = browser.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument", {"source": "delete window.DecompressionStream"}
    )
    try:
        open_at(browser, files["large"])
        assert len(rows(browser)) == ROWS
        assert not browser.find_element(By.ID, "choose").is_displayed()
        assert "Where the page's script may run" in browser.find_element(By.ID, "points").text
        assert log(browser, "browser") == []
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", old)


@browsing
def test_on_paper_is_what_is_shown_and_it_says_so(browser: webdriver.Chrome, files: dict[str, Path]) -> None:
    ready(browser, files["large"], "points=2")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert rows(browser) == list(range(51, 101))
    words = browser.find_element(By.ID, "points").text
    assert words.startswith("All points\n51 to 100 of 288 points are shown. ./campaign show")
    assert "On paper are those that are shown." in words
    assert "script" not in words.partition("\n#")[0]
    assert not control(browser, "points", NEXT).is_displayed()


@browsing
@pytest.mark.parametrize("width", [1280, 390])
def test_controls_are_named_and_fit(browser: webdriver.Chrome, files: dict[str, Path], width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    ready(browser, files["large"])
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = {(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if "role" in n}
    assert {
        ("navigation", "Pages of points"), ("navigation", "Pages of cases"), ("spinbutton", "page of 6"),
        ("button", "Previous"), ("button", "Next"),
    } <= named  # fmt: skip


def test_every_column_is_in_the_model_of_a_row(sources: dict[str, str]) -> None:
    """The script makes rows like the first one: the columns of all of them are those that any point has."""
    heads = re.findall(r'<th scope="col">([^<]*)</th>', sources["large"].split('<table class="list points">')[1])
    rest = packed(sources["large"])
    assert {len(cells) for _, cells in rest["rows"]} == {len([head for head in heads if head in COLUMNS])}
