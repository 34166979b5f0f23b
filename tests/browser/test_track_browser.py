"""The tracker's report in a real browser: no messages, no overflow, marks that open their evidence."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.browser.test_report_browser import WIDTHS, browser, pytestmark, visit  # noqa: F401
from tests.report.test_track_report import hostile_track

from bayou.report import write_track


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("track") / "track.html"
    write_track(path, hostile_track())
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_messages_no_requests_and_no_overflow(visit, report, tmp_path, width, scheme):  # noqa: F811
    page = visit(width, scheme)
    folder = Path(os.environ.get("BAYOU_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"track-{width}-{scheme}.png", full_page=True)
    assert page.said == []
    assert page.asked == [report.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("typeof window.hacked") == "undefined"
    shown = page.locator("#rivers .fit > svg:visible").count()
    assert shown == 1
    assert page.locator("#lineage .fit > svg:visible").count() == 1


def test_a_mark_opens_its_evidence_by_mouse_and_by_key(visit):  # noqa: F811
    page = visit()
    mark = page.locator("#rivers svg:visible a").first
    aim = mark.get_attribute("href")
    assert not page.locator(f"{aim} .evidence").is_visible()
    mark.focus()
    page.keyboard.press("Enter")
    page.locator(f"{aim} .evidence").wait_for(state="visible")
    assert page.evaluate("location.hash") == aim
    assert page.locator(f"{aim} .docs li").count() >= 1
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 23, 25)"
    assert page.said == []


def test_complete_without_scripts(visit):  # noqa: F811
    page = visit(scripts=False)
    assert page.locator(".change").count() >= 1
    page.locator(".change summary").first.click()
    assert page.locator(".change .evidence").first.is_visible()
    assert page.locator("button, input").count() == 0


def test_changes_are_found_by_word_and_a_mark_opens_one_that_was_hidden(visit, tmp_path):  # noqa: F811
    data = hostile_track()
    one = data.changes[0]
    changes = tuple(replace(one, number=n, date=f"{1950 + n}") for n in range(1, 11))
    write_track(tmp_path / "many.html", replace(data, changes=changes))
    page = visit(path=tmp_path / "many.html")
    field = page.get_by_label("Find a change by word or date")
    field.fill("1953")
    assert page.locator(".change:visible").count() == 1
    assert page.locator(".tools output").first.inner_text() == "1 of 10 changes"
    field.fill("no such thing")
    assert page.locator(".change:visible").count() == 0
    page.locator("#rivers svg:visible a").first.focus()
    page.keyboard.press("Enter")
    page.locator(".change:visible").first.wait_for()
    assert page.locator(".change:visible").count() == 1
    assert page.said == []


def test_the_marks_can_be_skipped_on_the_way_to_the_search_field(visit, tmp_path):  # noqa: F811
    data = hostile_track()
    changes = tuple(replace(data.changes[0], number=n) for n in range(1, 11))
    write_track(tmp_path / "many.html", replace(data, changes=changes))
    page = visit(path=tmp_path / "many.html")
    skip = page.get_by_role("link", name="Skip the chart and its marks")
    skip.focus()
    assert skip.bounding_box()["x"] >= 0, "it is seen while it has the focus"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.type") == "search"


def test_printed_within_the_page_and_folded_again(visit):  # noqa: F811
    page = visit(718)
    page.locator(".change summary").first.click()
    before = page.locator("details[open]").count()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    edges = "[...document.querySelectorAll('main *')].map(e => e.getBoundingClientRect().right)"
    assert max(page.evaluate(edges)) <= 719
    chart = page.locator("#rivers .fit > svg:visible").bounding_box()
    assert chart["y"] + chart["height"] < 980, "on the first page"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == before == 1
