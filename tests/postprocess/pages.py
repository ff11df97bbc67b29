"""Pages in a real browser: opened, and what it was asked for and complained of."""

import json
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.remote.webelement import WebElement

from postprocess.drawing.colour import contrast


def log(browser: webdriver.Chrome, kind: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = browser.get_log(kind)  # type: ignore[no-untyped-call]
    return entries


def requests(browser: webdriver.Chrome) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in log(browser, "performance")]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def open_at(browser: webdriver.Chrome, report: Path, fragment: str = "") -> None:
    """The page anew: a change of the fragment alone would not load it again."""
    browser.get("about:blank")
    browser.get(f"{report.as_uri()}#{fragment}" if fragment else report.as_uri())


def contrast_of(browser: webdriver.Chrome, cell: WebElement, ground: WebElement | None = None) -> float:
    """What the browser made of the colours of a cell and its text, drawn on a canvas to have them as numbers.

    ground: what has the background, where the cell has none of its own.
    """
    script = """
        const [own, ground] = [...arguments].map((one) => getComputedStyle(one));
        const pen = document.createElement("canvas").getContext("2d");
        return [own.color, ground.backgroundColor].map((colour) => {
            pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
            return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255);
        });"""
    ink, background = browser.execute_script(script, cell, ground or cell)
    return contrast(ink, background)
