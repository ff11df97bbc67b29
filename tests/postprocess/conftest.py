"""The browser in which pages are looked at."""

import os
import shutil
from collections.abc import Iterator

import pytest
from selenium import webdriver

from tests.postprocess.pages import log

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--hide-scrollbars",
)  # fmt: skip


@pytest.fixture(scope="session")
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
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    chromium.get("about:blank")
    for kind in ("browser", "performance"):
        log(chromium, kind)
    return chromium
