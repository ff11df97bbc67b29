"""Pages of verdicts in a real browser: they ask nothing of anyone, are filtered, and keep their state."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By

from postprocess.drawing import page
from postprocess.families import registry
from postprocess.families.nbc_overlap.points import points_of
from postprocess.families.nbc_overlap.record import overlaps_of
from postprocess.records.run import load_run
from postprocess.verdicts import verdict_page
from postprocess.verdicts.acceptance import judge, read_criteria
from postprocess.verdicts.compare import compare
from postprocess.verdicts.history import changes_of
from postprocess.verdicts.silence import Silence
from tests.postprocess import synthetic
from tests.postprocess.pages import contrast_of, log, open_at, requests
from tests.postprocess.test_postprocess_compare import launches
from tests.postprocess.test_postprocess_history import nights, with_changes
from tests.postprocess.test_postprocess_report import hostile_run

pytestmark = [pytest.mark.needs("browser")]
NUMBERS = {axis.name: axis.usual for axis in registry.AXES if axis.kind != "text"}
PLACE = NUMBERS | {"comm_target_ns": 1, "comp_target_ns": 5, "oversubscribed": False}
HOSTILE = "</script><img src=x onerror=alert(1)>\u2028 & \x1b[31m"
FACTS = [(HOSTILE, HOSTILE)]
PAGES = [
    "comparison", "matrix", "history", "acceptance",
    "hostile comparison", "hostile history", "hostile acceptance",
]  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    before = pd.concat([launches(), launches(collective="ireduce", seed=3)], ignore_index=True)
    after = pd.concat([launches(1.1, seed=2), launches(collective="ireduce", seed=4)], ignore_index=True)
    hostile: dict[str, Any] = {"toolchain": HOSTILE, "collective": HOSTILE}
    series = [with_changes(nights({0: 1e7, 30: 1.2e7})), with_changes(nights({0: 1e7}, seed=2))]
    told = [(one, "ALARM", one.run, "host kernel: 6.1 -> 6.2") for one in changes_of(series)]
    criteria = folder / "criteria.yaml"
    criteria.write_text(
        "title: The new machine\ncriteria:\n"
        "  - {name: it serialises, metric: r_overhead, at_least: 0.8}\n"
        "  - {name: it overlaps, metric: r_overhead, at_most: 0.2}\n"
    )
    run = load_run(synthetic.run_folder(folder / "run", [synthetic.sweep()]))
    asked = read_criteria(criteria)
    accepted = judge(asked, {"nbc_overlap": points_of(run), "mpi_impact": pd.DataFrame()}, overlaps_of(run).records)
    stranger = replace(series[0], case=dict.fromkeys(series[0].case, HOSTILE) | PLACE)
    foreign = load_run(hostile_run(folder / "foreign"))
    evidence = judge(
        replace(asked, title=HOSTILE),
        {"nbc_overlap": points_of(foreign), "mpi_impact": pd.DataFrame()},
        overlaps_of(foreign).records,
    )
    views = {
        "comparison": verdict_page.comparisons_view(
            {("before", "after"): compare(before, after)}, [("runs of A", "r1")]
        ),
        "hostile comparison": verdict_page.comparisons_view(
            {(HOSTILE, HOSTILE): compare(launches(**hostile), launches(1.2, seed=2, **hostile))}
        ),
        "matrix": verdict_page.comparisons_view(
            {
                ("before", "after"): compare(before, after),
                ("before", HOSTILE): compare(before, before),
                ("after", HOSTILE): compare(after, before),
            }
        ),
        "history": verdict_page.history_view("Since when?", told, series, "1 change"),
        "acceptance": verdict_page.acceptance_view(asked, accepted, "r1"),
        "hostile history": verdict_page.history_view(
            HOSTILE,
            [(one, HOSTILE, HOSTILE, HOSTILE) for one in changes_of([stranger])],
            [stranger],
            HOSTILE,
            HOSTILE,
            [Silence(stranger.case, HOSTILE, HOSTILE, 3, HOSTILE)],
        ),
        "hostile acceptance": verdict_page.acceptance_view(
            replace(asked, title=HOSTILE), [*evidence, replace(accepted[0], evidence=(HOSTILE,))], HOSTILE, FACTS
        ),
    }
    return {name: page.write(folder / f"{name}.html", verdict_page.render(view)) for name, view in views.items()}


def shown(browser: webdriver.Chrome, css: str = "tbody tr[data-k]") -> int:
    return sum(row.is_displayed() for row in browser.find_elements(By.CSS_SELECTOR, css))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_sound(pages: dict[str, Path], browser: webdriver.Chrome, name: str) -> None:
    """It asks nothing of anyone, complains of nothing, has names for a screen reader, and fits a phone."""
    open_at(browser, pages[name])
    assert [url for url in requests(browser) if not url.startswith(("file:", "about:"))] == []
    assert log(browser, "browser") == []
    assert browser.find_elements(By.TAG_NAME, "img") == []
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    told = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
    used = [one for one in told if one[0] in ("link", "button", "checkbox", "searchbox", "region", "heading", "Figure")]
    assert used
    assert [role for role, words in used if not words.strip()] == []
    assert len(browser.find_elements(By.TAG_NAME, "h1")) == 1
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    open_at(browser, pages[name])
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360


def test_a_comparison_is_filtered_and_its_address_keeps_the_choice(
    pages: dict[str, Path], browser: webdriver.Chrome
) -> None:
    open_at(browser, pages["comparison"])
    assert shown(browser) == 72
    assert "24 slower, 0 faster, 0 slightly different, 48 same" in browser.find_element(By.CSS_SELECTOR, ".answer").text
    browser.find_element(By.CSS_SELECTOR, "fieldset[data-name=verdict] input[value=same]").click()
    assert shown(browser) == 24
    assert "24 of 72 rows shown" in browser.find_element(By.ID, "shown").text
    browser.find_element(By.ID, "search").send_keys("alone 12 ms")
    address = browser.current_url
    few = shown(browser)
    assert 0 < few < 24
    open_at(browser, pages["comparison"], address.partition("#")[2])
    assert shown(browser) == few
    browser.find_element(By.ID, "reset").click()
    assert shown(browser) == 72
    assert "#" not in browser.current_url


def test_a_cell_of_the_matrix_leads_to_its_pair_and_keeps_the_choice(
    pages: dict[str, Path], browser: webdriver.Chrome
) -> None:
    open_at(browser, pages["matrix"])
    assert shown(browser) == 3 * 72
    browser.find_element(By.CSS_SELECTOR, "fieldset[data-name=verdict] input[value=same]").click()
    changed = shown(browser)
    assert 0 < changed < 3 * 72
    browser.find_element(By.CSS_SELECTOR, "#matrix a[href='#pair-3']").click()
    assert browser.current_url.endswith("#pair-3")
    assert browser.find_element(By.CSS_SELECTOR, "#pair-3:target").is_displayed()
    assert shown(browser) == changed


def test_a_change_is_drawn_where_it_was(pages: dict[str, Path], browser: webdriver.Chrome) -> None:
    open_at(browser, pages["history"])
    assert shown(browser) == 1
    (figure,) = browser.find_elements(By.CSS_SELECTOR, "figure.nights")
    assert len(figure.find_elements(By.TAG_NAME, "circle")) == 60
    assert len(figure.find_elements(By.CSS_SELECTOR, ".state")) == 2
    assert len(figure.find_elements(By.CSS_SELECTOR, ".change")) == 1


def test_an_acceptance_can_be_signed(pages: dict[str, Path], browser: webdriver.Chrome) -> None:
    open_at(browser, pages["acceptance"])
    assert browser.find_element(By.CSS_SELECTOR, ".answer").text == "FAIL: 1 of 2 criteria fail"
    assert [chip.text for chip in browser.find_elements(By.CSS_SELECTOR, "tbody .chip")] == ["PASS", "FAIL"]
    assert "for the customer" in browser.find_element(By.CSS_SELECTOR, ".sign").text


def test_without_a_script_all_of_it_is_there(pages: dict[str, Path], browser: webdriver.Chrome) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    open_at(browser, pages["comparison"])
    assert shown(browser) == 72
    assert not browser.find_element(By.ID, "choose").is_displayed()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_verdicts_are_readable_by_day_and_in_the_dark(
    pages: dict[str, Path], browser: webdriver.Chrome, scheme: str
) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    for name, css in (
        ("comparison", ".grid td.bad, .chip.bad"),
        ("matrix", "#matrix .bad, #matrix .good, #matrix .same"),
        ("history", ".chip.bad"),
        ("acceptance", ".chip.bad, .chip.good"),
    ):
        open_at(browser, pages[name])
        coloured = browser.find_elements(By.CSS_SELECTOR, css)
        assert coloured
        assert min(contrast_of(browser, cell) for cell in coloured[:20]) >= 4.5


def test_a_verdict_is_told_to_those_who_see_no_colour(pages: dict[str, Path], browser: webdriver.Chrome) -> None:
    open_at(browser, pages["comparison"])
    slower = browser.find_elements(By.CSS_SELECTOR, ".grid td.bad")
    assert slower
    assert all("slower" in str(cell.get_attribute("textContent")) for cell in slower)
    assert all(cell.find_element(By.CLASS_NAME, "spoken").size["width"] <= 1 for cell in slower)


def test_keys_are_enough(pages: dict[str, Path], browser: webdriver.Chrome) -> None:
    """From the first link on: a filter is reached, switched, and reset; tables scroll by keys."""
    open_at(browser, pages["comparison"])
    before = shown(browser)
    for _ in range(60):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        focused = browser.switch_to.active_element
        if focused.get_attribute("type") == "checkbox" and focused.get_attribute("value") == "ireduce":
            break
    else:
        pytest.fail("no filter was reached")
    ActionChains(browser).send_keys(Keys.SPACE).perform()
    assert 0 < shown(browser) < before
    assert {region.get_attribute("tabindex") for region in browser.find_elements(By.CSS_SELECTOR, ".tall")} == {"0"}


@pytest.mark.parametrize("name", ["comparison", "hostile comparison", "matrix", "history", "acceptance"])
def test_every_page_fits_a_sheet_of_paper(pages: dict[str, Path], browser: webdriver.Chrome, name: str) -> None:
    """A4 less margins of 1 cm; long tables lie across it, but for the one that is signed."""
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    open_at(browser, pages[name])
    broad = browser.find_elements(By.CLASS_NAME, "broad")
    assert bool(broad) is (name != "acceptance")
    assert all(browser.execute_script("return getComputedStyle(arguments[0]).page", one) == "broad" for one in broad)
    for width, hidden in ((1047, "none"), (718, ".broad")):
        a4 = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", a4)
        browser.execute_script("document.querySelectorAll(arguments[0]).forEach(one => one.remove())", hidden)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    for choose in browser.find_elements(By.ID, "choose"):
        assert not choose.is_displayed()
    cut = (
        "return [...document.querySelectorAll('.tall, .wide')].filter(e => e.scrollHeight > e.clientHeight + 1).length"
    )
    assert browser.execute_script(cut) == 0


def test_a_large_history_draws_the_largest_changes_and_says_so() -> None:
    room = verdict_page.Room(rows=3, drawn=2)
    series = [with_changes(nights({0: 1e7, 30: 1e7 * (1.1 + n / 20)}, seed=n)) for n in range(1, 5)]
    changes = [(one, "ALARM", "", "") for one in changes_of(series)]
    view = verdict_page.history_view("Since when?", changes, series, "4", room=room)
    assert [plot.id for plot in view.series] == ["n2", "n3"]
    assert len(view.rows) == 3
    assert view.remarks == [
        "the table has 3 of 4 rows, the last; all are in --json",
        "drawn are the 2 series with the largest changes, of 4 that changed",
    ]


def test_a_large_comparison_draws_the_maps_that_changed_and_says_so() -> None:
    before = pd.concat([launches(), launches(collective="ireduce", seed=3)], ignore_index=True)
    after = pd.concat([launches(seed=2), launches(1.1, collective="ireduce", seed=4)], ignore_index=True)
    pairs = {("before", "after"): compare(before, after, metrics=["t_measured_ns"])}
    view = verdict_page.comparisons_view(pairs, room=verdict_page.Room(rows=100, drawn=1))
    (grid,) = view.grids
    assert "ireduce" in grid.title
    assert "of 2 maps the 1 with most changes are drawn" in view.remarks
