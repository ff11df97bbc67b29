"""The report in a real browser: it asks nothing of anyone, complains of nothing, and shows what a reader chooses."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait

from postprocess.drawing.colour import PALETTES, contrast
from postprocess.records.run import load_run
from postprocess.report.html import render_report
from tests.postprocess import synthetic, synthetic_impact
from tests.postprocess.pages import contrast_of, log, open_at, requests
from tests.postprocess.synthetic_cpu_overhead import Messages, messages_record
from tests.postprocess.synthetic_impact import slowed
from tests.postprocess.test_postprocess_report import hostile_run

pytestmark = [pytest.mark.needs("browser")]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    runs = {"smoke": synthetic.smoke_run(folder / "smoke"), "hostile": hostile_run(folder / "hostile")}
    runs["wide"] = synthetic.run_folder(folder / "wide", [synthetic.sweep(synthetic.NEGATIVE, grid=(1, 16, 256))])
    synthetic.write(folder / "idle" / "records" / "a.jsonl", synthetic_impact.synthetic(6, slowed(1.27)))
    runs["idle"] = folder / "idle"
    for number in range(12):
        toolchain, launch = ("openmpi@5.0.11", "mpich@5.0.2")[number % 2], number // 2 + 1
        truth = Messages(latency=-400.0 - number, waiting_bytes=200_000)
        lines = messages_record(truth, toolchain=toolchain, metadata={"case": {"repeat": launch}})
        synthetic.write(folder / "messages" / "records" / f"{number}.jsonl", lines)
    runs["messages"] = folder / "messages"
    pages = {name: folder / f"{name}.html" for name in runs}
    for name, run in runs.items():
        pages[name].write_text(render_report(load_run(run)), encoding="utf-8")
    return pages


CELL = ".map td > a"


def tip(browser: webdriver.Chrome) -> WebElement:
    return browser.find_element(By.ID, "tip")


def shown_cells(browser: webdriver.Chrome) -> list[WebElement]:
    return [cell for cell in browser.find_elements(By.CSS_SELECTOR, CELL) if cell.is_displayed()]


def captions(browser: webdriver.Chrome) -> set[str]:
    return {c.text for c in browser.find_elements(By.TAG_NAME, "caption") if c.is_displayed()}


def pixels(png: bytes) -> Any:
    return matplotlib.image.imread(io.BytesIO(png))


@pytest.mark.parametrize("name", ["smoke", "hostile"])
def test_no_request_no_complaint_one_script(browser: webdriver.Chrome, reports: dict[str, Path], name: str) -> None:
    browser.get(reports[name].as_uri())
    assert requests(browser) == [reports[name].as_uri()]
    assert browser.execute_script("return document.scripts.length") == 1
    assert browser.find_element(By.TAG_NAME, "h1").text == "Overlap of nonblocking collectives"
    # Style and script are those that the policy allows: without them cells had no colour, and nothing to choose.
    cell = shown_cells(browser)[0]
    assert cell.value_of_css_property("background-color") != "rgba(0, 0, 0, 0)"
    assert browser.find_element(By.ID, "choose").is_displayed()
    browser.execute_script("arguments[0].focus()", cell)
    assert tip(browser).is_displayed()
    for kind in ("library", "configuration", "collective"):
        for box in browser.find_elements(By.CSS_SELECTOR, f"fieldset[data-kind={kind}] input"):
            box.click()
    assert log(browser, "browser") == []


def test_a_report_without_a_map_complains_of_nothing(browser: webdriver.Chrome, reports: dict[str, Path]) -> None:
    browser.get(reports["idle"].as_uri())
    fold = browser.find_element(By.CSS_SELECTOR, "#found details")
    assert "slower by +27" not in fold.text
    browser.find_element(By.CSS_SELECTOR, "nav a[href='#found']").click()
    WebDriverWait(browser, 10).until(lambda _: "slower by +27" in fold.text)
    assert log(browser, "browser") == []


def test_details_on_hover_focus_and_tap(browser: webdriver.Chrome, reports: dict[str, Path]) -> None:
    browser.get(reports["smoke"].as_uri())
    assert not tip(browser).is_displayed()
    cells = shown_cells(browser)
    ActionChains(browser).scroll_to_element(cells[4]).move_to_element(cells[4]).perform()
    for expected in ("r_overhead [95 %]", "t_comm_ref", "16 ms", "MiB", "11; interval reached"):
        assert expected in tip(browser).text
    ActionChains(browser).move_to_element(browser.find_element(By.CSS_SELECTOR, "#maps h2")).perform()
    assert not tip(browser).is_displayed()

    # However low on the screen a cell is, the details do not come between it and the pointer.
    cells[1].click()
    assert tip(browser).is_displayed()
    assert browser.current_url == reports["smoke"].as_uri()
    ActionChains(browser).move_to_element(browser.find_element(By.CSS_SELECTOR, "#maps h2")).perform()
    assert tip(browser).is_displayed()
    tip(browser).find_element(By.TAG_NAME, "a").click()
    assert not tip(browser).is_displayed()
    assert browser.current_url.endswith(str(cells[1].get_attribute("hash")))


def test_keys_move_within_a_map_and_between_maps(browser: webdriver.Chrome, reports: dict[str, Path]) -> None:
    browser.get(reports["smoke"].as_uri())
    cells = shown_cells(browser)
    browser.execute_script("arguments[0].focus()", cells[0])
    for key, expected in ((Keys.ARROW_RIGHT, 1), (Keys.ARROW_DOWN, 4), (Keys.ARROW_LEFT, 3), (Keys.ARROW_LEFT, 3)):
        browser.switch_to.active_element.send_keys(key)
        assert browser.switch_to.active_element == cells[expected]
    assert browser.switch_to.active_element.get_attribute("aria-describedby") == "tip"
    assert tip(browser).is_displayed()
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not tip(browser).is_displayed()
    browser.switch_to.active_element.send_keys(Keys.TAB)
    while browser.switch_to.active_element.tag_name != "a" or browser.switch_to.active_element not in cells:
        browser.switch_to.active_element.send_keys(Keys.TAB)  # links to the pictures of the first map
    assert browser.switch_to.active_element == cells[9]


def test_screen_readers_are_given_the_details(browser: webdriver.Chrome, reports: dict[str, Path]) -> None:
    """Chromium's own accessibility tree: name, description, and the headers' roles of a cell."""
    browser.get(reports["smoke"].as_uri())
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    links = [n for n in nodes if n.get("role", {}).get("value") == "link"]
    unreliable = next(n for n in links if n["name"]["value"].startswith("0.50"))
    assert unreliable["name"]["value"].replace(" ", "") == "0.50,unreliable,sharedcore"
    assert "interval too wide" in unreliable["description"]["value"]
    roles = {n.get("role", {}).get("value") for n in nodes}
    assert {"rowheader", "columnheader", "table", "main", "navigation", "checkbox", "combobox", "status"} <= roles


def test_a_reader_chooses_and_the_address_keeps_it(browser: webdriver.Chrome, reports: dict[str, Path]) -> None:
    open_at(browser, reports["smoke"])
    assert captions(browser) == {"r_overhead, own references", "r_overhead, basic's references"}
    everything = len(shown_cells(browser))
    colour = shown_cells(browser)[0].value_of_css_property("background-color")

    Select(browser.find_element(By.ID, "view")).select_by_value("concurrency")
    assert captions(browser) == {"r_comm", "r_comp_slowdown"}
    left, right = (m for m in browser.find_elements(By.CSS_SELECTOR, "#s1 [data-views]") if m.is_displayed())
    assert left.location["y"] == right.location["y"]
    assert left.location["x"] < right.location["x"]

    Select(browser.find_element(By.ID, "palette")).select_by_value("safe")
    browser.find_element(By.ID, "dim").click()
    browser.find_element(By.CSS_SELECTOR, "fieldset[data-kind=library] input[value^=mpich]").click()
    browser.find_element(By.CSS_SELECTOR, "fieldset[data-kind=collective] input[value=ireduce]").click()
    assert browser.find_element(By.ID, "shown").text == "3 of 8 cases shown."
    rows = [row for row in browser.find_elements(By.CSS_SELECTOR, "#points tbody tr") if row.is_displayed()]
    assert {row.find_elements(By.TAG_NAME, "td")[0].text for row in rows} == {"openmpi@5.0.11"}
    assert {row.find_elements(By.TAG_NAME, "td")[3].text for row in rows} == {"ibcast"}
    address = browser.current_url
    cells = len(shown_cells(browser))
    shown_colour = shown_cells(browser)[0].value_of_css_property("background-color")

    open_at(browser, reports["smoke"], address.partition("#")[2])
    assert browser.find_element(By.ID, "shown").text == "3 of 8 cases shown."
    assert captions(browser) == {"r_comm", "r_comp_slowdown"}
    assert len(shown_cells(browser)) == cells
    assert shown_cells(browser)[0].value_of_css_property("background-color") == shown_colour != colour
    assert browser.find_element(By.ID, "dim").is_selected()

    browser.find_element(By.ID, "reset").click()
    assert browser.current_url == reports["smoke"].as_uri()
    assert len(shown_cells(browser)) == everything
    assert shown_cells(browser)[0].value_of_css_property("background-color") == colour


@pytest.mark.parametrize(
    "fragment",
    [
        "view=<img src=x onerror=alert(1)>&palette=*&dim=7",
        "library=</script><script>alert(1)</script>",
        "view=__proto__&palette=constructor&collective=%00%FF",
        "=&&==%",
    ],
)
def test_nonsense_in_the_address_does_nothing(
    browser: webdriver.Chrome, reports: dict[str, Path], fragment: str
) -> None:
    open_at(browser, reports["smoke"], fragment)
    assert captions(browser) <= {"r_overhead, own references", "r_overhead, basic's references"}
    assert browser.execute_script("return document.documentElement.dataset.palette") == "paper"
    assert browser.find_elements(By.TAG_NAME, "img") == []
    assert browser.execute_script("return document.scripts.length") == 1
    assert log(browser, "browser") == []


def test_all_is_there_without_a_script(browser: webdriver.Chrome, reports: dict[str, Path]) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    open_at(browser, reports["smoke"])
    assert not browser.find_element(By.ID, "choose").is_displayed()
    assert {
        "r_overhead, own references",
        "r_comm",
        "r_comp_slowdown",
        "speed against basic, by the work done",
    } <= captions(browser)
    cell = shown_cells(browser)[0]
    assert cell.value_of_css_property("background-color") != "rgba(0, 0, 0, 0)"
    cell.click()
    assert browser.current_url == f"{reports['smoke'].as_uri()}#p3"
    assert "start and clock deadline" in browser.find_element(By.ID, "p3").text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_faded_cells_stay_readable(browser: webdriver.Chrome, reports: dict[str, Path], scheme: str) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    for palette in PALETTES:
        open_at(browser, reports["wide"], f"view=everything&palette={palette}&dim=1")
        far = [cell for cell in shown_cells(browser) if "far" in str(cell.get_attribute("class"))]
        assert len(far) == 2 * 3
        assert min(contrast_of(browser, cell) for cell in shown_cells(browser)) >= 4.5


def test_what_is_doubtful_side_by_side_is_seen_and_heard(browser: webdriver.Chrome, reports: dict[str, Path]) -> None:
    for palette in PALETTES:
        open_at(browser, reports["smoke"], f"palette={palette}")
        stroke, *_ = browser.find_elements(By.CSS_SELECTOR, ".tiles .doubt")
        level = str(stroke.get_attribute("class")).split()[0]
        same = stroke.find_element(By.XPATH, f"../*[@class='{level}']")
        ink, paper = (
            [float(part) / 255 for part in re.findall(r"\d+", one.value_of_css_property(name))[:3]]
            for one, name in ((stroke, "stroke"), (same, "fill"))
        )
        assert contrast((ink[0], ink[1], ink[2]), (paper[0], paper[1], paper[2])) >= 4.5
        assert stroke.value_of_css_property("fill") == "none"
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    links = {n.get("name", {}).get("value", "") for n in nodes if n.get("role", {}).get("value") == "link"}
    for expected in ("ibcast, openmpi@5.0.11, as it comes: ", "ibcast, openmpi@5.0.11, progress thread: "):
        (said,) = [name for name in links if name.startswith(expected)]
        assert said.endswith("/9")


@pytest.mark.parametrize("width", [390, 768, 1300, 2560])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_looks(browser: webdriver.Chrome, reports: dict[str, Path], scheme: str, width: int) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(reports["smoke"].as_uri())
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    matrix = browser.find_element(By.CSS_SELECTOR, "table.matrix")
    assert matrix.find_element(By.CSS_SELECTOR, "svg").rect["y"] < 900, "the first picture is below the first screen"
    cut_off = """
        return [...arguments[0].querySelectorAll("*")]
            .filter((one) => one.clientWidth && one.scrollWidth > one.clientWidth + 1).length"""
    assert browser.execute_script(cut_off, matrix) == 0
    words, page = matrix.find_elements(By.CSS_SELECTOR, ".word"), browser.find_element(By.TAG_NAME, "body")
    assert min(contrast_of(browser, word, page) for word in words) >= 4.5
    picture = pixels(browser.get_screenshot_as_png())
    assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 50
    corner = float(np.mean(picture[2, 2, :3]))
    assert corner > 0.9 if scheme == "light" else corner < 0.2


def test_print_shows_all_points_and_no_panel(browser: webdriver.Chrome, reports: dict[str, Path]) -> None:
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    a4_landscape = {"width": 1030, "height": 700, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", a4_landscape)
    browser.get(reports["smoke"].as_uri())
    region = browser.find_element(By.CSS_SELECTOR, "#points .tall")
    assert browser.execute_script("return arguments[0].scrollHeight - arguments[0].clientHeight", region) <= 1
    assert region.size["width"] >= region.find_element(By.TAG_NAME, "table").size["width"]
    assert not browser.find_element(By.TAG_NAME, "nav").is_displayed()
    assert len(browser.print_page()) > 10_000


def test_the_parameters_of_messages_fit_into_a_window(browser: webdriver.Chrome, reports: dict[str, Path]) -> None:
    window = {"width": 1300, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
    browser.get(reports["messages"].as_uri())
    region = browser.find_element(By.CSS_SELECTOR, "[aria-label='Parameters of the LogGP model']")
    assert browser.execute_script("return arguments[0].scrollWidth - arguments[0].clientWidth", region) <= 0
    assert len(region.find_elements(By.CSS_SELECTOR, "tbody tr")) == 2
    assert browser.find_elements(By.CSS_SELECTOR, "#cpu-overhead figure") == []
