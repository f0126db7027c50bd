"""A browser for tests of the page, which never complains, asks elsewhere, or shows a dialog."""

import re
import shutil
from contextlib import contextmanager

import pytest

playwright = pytest.importorskip(
    "playwright.sync_api", reason="the page is driven by Playwright (pip install playwright)"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WITHOUT_CHROMIUM = pytest.mark.skipif(
    CHROMIUM is None, reason="the page is tried in Chromium (apt-get install chromium)"
)
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FITS = "document.documentElement.scrollWidth <= innerWidth"
OBJECTIONS = (
    "axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations"
    ".filter(({impact}) => ['serious', 'critical'].includes(impact))"
    ".map(({id, nodes}) => [id, nodes.map(({html}) => html)]))"
)
expect = playwright.expect


@contextmanager
def chromium():
    """The browser, for all pages of a module."""
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


class Opener:
    """Opens pages, and notes what none of them may do.

    Args:
        browser: The browser.
        client: The server.
    """

    def __init__(self, browser, client):
        self.browser, self.client = browser, client
        self.pages, self.faults, self.requests = [], [], []

    def __call__(self, path="/", *, client=None, expected=r"$^", **settings):
        url = (client or self.client).url
        page = self.browser.new_page(**{"locale": "en-GB", **settings})
        page.set_default_timeout(15_000)
        self.pages.append(page)

        def note(text):
            if not re.search(expected, text):
                self.faults.append(text)

        page.on("console", lambda message: note(message.text))
        page.on("pageerror", lambda error: note(str(error)))
        page.on("dialog", lambda dialog: note(dialog.message) or dialog.dismiss())
        page.on("request", lambda asked: self.requests.append(asked))
        page.on("request", lambda asked: asked.url.startswith(url) or note(asked.url))
        page.goto(url + path)
        return page

    def close(self):
        for page in self.pages:
            page.close()
        assert self.faults == []


def show(page, panel):
    """Go to a panel by its link."""
    page.locator(f"#tasks a[href='#{panel}']").click()
    expect(page.locator(f"#{panel}")).to_be_visible()


FOCUSED = """(found) => {
    const each = document.activeElement;
    // Of a switch, the label is drawn in place of its button.
    const drawn = each.matches('.switch input') ? each.nextElementSibling : each;
    if (each !== document.body && getComputedStyle(drawn).outlineStyle === 'none') return null;
    return each.matches(found);
}"""


def tab_to(page, found, most=60):
    """Press Tab until an element has the focus, which every element on the way shows."""
    for _ in range(most):
        page.keyboard.press("Tab")
        is_there = page.evaluate(FOCUSED, found)
        assert is_there is not None, page.evaluate("document.activeElement.outerHTML")
        if is_there:
            return
    raise AssertionError(f"no way to {found}")


def show_by_keyboard(page, panel):
    """Go to a panel by its link, from the beginning of the page."""
    page.evaluate("document.activeElement.blur(); document.querySelector('.skip').focus()")
    tab_to(page, f"#tasks a[href='#{panel}']")
    page.keyboard.press("Enter")
    expect(page.locator(f"#{panel}-title")).to_be_focused()


def run_by_keyboard(page, panel):
    """Go to the panel's button, press it, and wait for an answer."""
    tab_to(page, f"#{panel}-form button[type=submit]")
    page.keyboard.press("Enter")
    return answer_of(page, panel)


def run(page, panel):
    """Press the panel's button, and wait for an answer."""
    page.locator(f"#{panel}-form button[type=submit]").click()
    return answer_of(page, panel)


def answer_of(page, panel):
    """What a panel shows, once it does."""
    result = page.locator(f"#{panel}-results .result").first
    expect(result).to_be_visible()
    return result


def chips(place, side):
    """The words of one side of an alignment."""
    return place.locator(f".sentence.{side} .chip .token")
