"""The report in a real browser: no messages, no requests, no code from documents."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.report.pages import SUPERVISED, hostile_data, supervised_data

from bayou import LDA
from bayou.data.synthetic import sample_lda
from bayou.report import ReportData, write

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]
WIDTHS = (390, 900, 1440)
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write(path, hostile_data())
    return path


@pytest.fixture
def visit(browser, report):
    """Open the report offline and record its messages and requests."""
    contexts = []

    def go(width=1440, scheme="light", scripts=True, path=report):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            java_script_enabled=scripts,
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("dialog", lambda dialog: page.said.append(dialog.message))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield go
    for context in contexts:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_messages_no_requests_and_no_overflow(visit, report, tmp_path, width, scheme):
    page = visit(width, scheme)
    folder = Path(os.environ.get("BAYOU_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    picture = folder / f"report-{width}-{scheme}.png"
    page.screenshot(path=picture, full_page=True)
    assert picture.stat().st_size > 20_000
    assert page.said == []
    assert page.asked == [report.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(15, 23, 25)")


@pytest.mark.parametrize("kind", SUPERVISED)
def test_a_supervised_report_at_every_width(visit, tmp_path, kind):
    path = tmp_path / f"{kind}.html"
    write(path, supervised_data(kind))
    folder = Path(os.environ.get("BAYOU_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            page = visit(width, scheme, path=path)
            section = page.locator("#targets" if kind == "regression" else "#classes")
            section.screenshot(path=folder / f"{kind}-{width}-{scheme}.png")
            assert page.said == []
            assert page.asked == [path.as_uri()]
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate("typeof window.hacked") == "undefined"
            wide = section.locator(".clouds svg").evaluate_all(
                "all => all.map(s => s.getBoundingClientRect().right)"
            )
            assert wide
            assert max(wide) <= width
    page = visit(path=path, scripts=False)
    assert page.get_by_text("did not learn from").first.is_visible()


def test_hostile_text_is_seen_and_does_nothing(visit):
    page = visit()
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.locator("main script, main img, main style").count() == 0
    assert page.locator("h1").inner_text() == "<script>window.hacked = true</script>"
    assert page.get_by_text("</style><script>window.hacked=1</script>").first.is_visible()
    right_to_left = page.locator("blockquote", has_text="שלום").first
    assert (
        page.evaluate("e => getComputedStyle(e).direction", right_to_left.element_handle()) == "rtl"
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_one_drawing_of_each_chart_is_shown_and_its_text_fits(visit, width):
    page = visit(width)
    shown = page.evaluate(
        "[...document.querySelectorAll('.fit')].map(f =>"
        " [...f.querySelectorAll(':scope > svg')].filter(s => s.getClientRects().length).length)"
    )
    assert shown
    assert set(shown) == {1}


def test_labels_on_the_map_and_words_of_clouds_do_not_touch(visit):
    for width in WIDTHS:
        page = visit(width)
        touching = page.evaluate(
            """[...document.querySelectorAll('#topics .fit > svg, .clouds svg')].flatMap(svg => {
              const boxes = [...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect())
                .filter(b => b.width)
                .map(b => [b.left + 1, b.right - 1, b.top + b.height / 4, b.bottom - b.height / 4]);
              return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b =>
                a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3]).map(b => [a, b]));
            })"""
        )
        assert touching == []


def test_complete_without_scripts(visit):
    page = visit(scripts=False)
    assert page.locator("article.topic").count() == 3
    assert page.locator("#topics .fit > svg:visible").count() == 1
    assert page.locator("button, input").count() == 0, "nothing that would do nothing"


def test_keyboard_theme_search_and_order(visit):
    page = visit()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 23, 25)"
    page.get_by_role("button", name="Topic").click()
    numbers = page.locator(".index tbody tr").evaluate_all("rows => rows.map(r => r.dataset.topic)")
    assert numbers == ["0", "1", "2"]
    page.locator("#topics svg a:visible").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash").startswith("#topic-")
    assert page.said == []


def test_many_topics_are_found_by_word_and_opened_by_link(visit, tmp_path):
    corpus, _ = sample_lda(n_docs=80, n_topics=5, n_terms=200, seed=3)
    corpus = replace(corpus, vocabulary=[f"word{v}" for v in range(200)])
    model = LDA(n_topics=60, n_sweeps=3, random_state=0).fit(corpus)
    path = tmp_path / "many.html"
    write(path, ReportData.from_model(model, corpus))
    page = visit(path=path)
    word = model.top_terms(1)[7][0]
    page.get_by_role("searchbox").fill(word)
    shown = page.locator(".index tbody tr:visible").evaluate_all("r => r.map(r => r.dataset.topic)")
    assert "7" in shown
    assert len(shown) < 60
    page.locator(".index tr[data-topic='7'] a").click()
    assert page.locator("#topic-7 .words").is_visible()
    page.get_by_role("searchbox").fill("no such word")
    assert page.get_by_text(
        "No topic has “no such word” among its most probable words."
    ).is_visible()
    assert page.said == []


def test_print_is_light(visit):
    page = visit(scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
