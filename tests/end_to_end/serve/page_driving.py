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


def run(page, panel):
    """Press the panel's button, and wait for an answer."""
    page.locator(f"#{panel}-form button[type=submit]").click()
    result = page.locator(f"#{panel}-results .result").first
    expect(result).to_be_visible()
    return result


def chips(place, side):
    """The words of one side of an alignment."""
    return place.locator(f".sentence.{side} .chip .token")
