"""The report in a real browser: it asks nothing of anyone, complains of nothing, and shows its details."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from postprocess.report import write_report
from tests.postprocess import synthetic
from tests.postprocess.test_postprocess_report import hostile_run

pytestmark = [pytest.mark.needs("browser")]
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    runs = {"smoke": synthetic.smoke_run(folder / "smoke"), "hostile": hostile_run(folder / "hostile")}
    return {name: write_report(run, folder / f"{name}-out" / "report.html")[0] for name, run in runs.items()}


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    driver = shutil.which("chromedriver")
    if driver is None:
        required = "browser" in os.environ.get("CAMPAIGN_TEST_REQUIRE", "").split(",")
        (pytest.fail if required else pytest.skip)("browser: no chromedriver on PATH")
    options = webdriver.ChromeOptions()
    options.binary_location = str(next(path for path in map(shutil.which, CHROMIUM) if path))
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    chrome.set_window_size(1280, 900)
    try:
        yield chrome
    finally:
        chrome.quit()


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> webdriver.Chrome:
    """The one browser, on an empty page, without what the test before it set and logged."""
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.get("about:blank")
    for kind in ("browser", "performance"):
        log(chromium, kind)
    return chromium


def log(browser: webdriver.Chrome, kind: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = browser.get_log(kind)  # type: ignore[no-untyped-call]
    return entries


def requests(browser: webdriver.Chrome) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in log(browser, "performance")]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def visible_tips(browser: webdriver.Chrome) -> list[WebElement]:
    return [tip for tip in browser.find_elements(By.CLASS_NAME, "tip") if tip.is_displayed()]


def pixels(png: bytes) -> Any:
    return matplotlib.image.imread(io.BytesIO(png))


@pytest.mark.parametrize("name", ["smoke", "hostile"])
def test_no_request_no_complaint_no_script(browser: webdriver.Chrome, reports: dict[str, Path], name: str) -> None:
    browser.get(reports[name].as_uri())
    assert requests(browser) == [reports[name].as_uri()]
    assert log(browser, "browser") == []
    assert browser.execute_script("return document.scripts.length") == 0
    assert "Does MPI communicate" in browser.find_element(By.TAG_NAME, "h1").text
    # The style is the one that the policy allows: without it cells would have no colour.
    cell = browser.find_element(By.CSS_SELECTOR, ".map button")
    assert cell.value_of_css_property("background-color") not in ("rgba(0, 0, 0, 0)", "rgba(239, 239, 239, 1)")


def test_details_on_hover_and_on_focus(browser: webdriver.Chrome, reports: dict[str, Path]) -> None:
    browser.get(reports["smoke"].as_uri())
    assert visible_tips(browser) == []
    buttons = browser.find_elements(By.CSS_SELECTOR, ".map button")
    ActionChains(browser).scroll_to_element(buttons[4]).move_to_element(buttons[4]).perform()
    (tip,) = visible_tips(browser)
    for expected in ("r_overhead [95 %]", "t_comm_ref", "16 ms", "MiB", "11; interval reached"):
        assert expected in tip.text
    ActionChains(browser).move_to_element(browser.find_element(By.TAG_NAME, "h3")).perform()
    assert visible_tips(browser) == []

    browser.execute_script("arguments[0].focus()", buttons[0])
    (first,) = visible_tips(browser)
    browser.switch_to.active_element.send_keys(Keys.TAB)
    (second,) = visible_tips(browser)
    assert browser.switch_to.active_element == buttons[1]
    assert first != second
    described = browser.switch_to.active_element.get_attribute("aria-describedby")
    assert second.get_attribute("id") == described


def test_screen_readers_are_given_the_details(browser: webdriver.Chrome, reports: dict[str, Path]) -> None:
    """Chromium's own accessibility tree: name, description, and the headers' roles of a cell."""
    browser.get(reports["smoke"].as_uri())
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    buttons = [n for n in nodes if n.get("role", {}).get("value") == "button"]
    assert len(buttons) == 81
    unreliable = next(n for n in buttons if "unreliable" in n["name"]["value"])
    assert unreliable["name"]["value"].replace(" ", "") == "0.50,unreliable,sharedcore"
    assert "interval too wide" in unreliable["description"]["value"]
    roles = {n.get("role", {}).get("value") for n in nodes}
    assert {"rowheader", "columnheader", "table", "main", "navigation"} <= roles


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_looks(browser: webdriver.Chrome, reports: dict[str, Path], scheme: str, width: int) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(reports["smoke"].as_uri())
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
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
