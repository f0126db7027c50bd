"""Take screenshots of the page: `python docs/screens/take.py`, with Playwright and Chromium.

The script starts a server with shipped models and the FAQ of a shop.
"""

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from softquery.search import Index, IndexSettings

HERE = Path(__file__).parent
MODELS = ("nli-en", "match-en", "match-zh", "couplet-zh")
FAQ = HERE.parents[1] / "examples" / "shop_faq.csv"
DESKTOP = {"viewport": {"width": 1080, "height": 760}, "color_scheme": "light", "locale": "en-GB"}
PHONE: dict[str, Any] = {
    "viewport": {"width": 400, "height": 860}, "color_scheme": "dark", "locale": "zh-CN",
    "has_touch": True, "is_mobile": True, "device_scale_factor": 2,
}  # fmt: skip


def index(place: Path) -> None:
    """Build an index of the shop's questions in English."""
    Index.build(
        FAQ,
        place,
        columns={"question": "question_en", "answer": "answer_en"},
        settings=IndexSettings(min_score=0.1),
    )


def serve(faq: Path) -> tuple["subprocess.Popen[bytes]", str]:
    """Start a server at a free port; return its process and its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    named = [word for model in MODELS for word in ("--model", model)]
    command = [
        sys.executable,
        "-m",
        "softquery",
        "serve",
        *named,
        "--index",
        str(faq),
        "--port",
        port,
    ]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{address}/health", timeout=2).close()
            return process, address
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not come up")


def opened(browser: Browser, address: str, settings: dict[str, Any]) -> Page:
    """Open the page and wait for its first answer."""
    page = browser.new_page(**settings)
    page.goto(address)
    page.wait_for_selector("#pair-board .chip")
    return page


def take(browser: Browser, address: str, folder: Path) -> None:
    """Save a pair, a question and a couplet in light mode, and a pair on a phone in dark mode."""
    page = opened(browser, address, DESKTOP)
    page.locator("#pair-board .sentence.first .chip").nth(4).hover()
    page.wait_for_timeout(500)
    page.screenshot(path=folder / "page.png")
    page.fill("#question", "How can I get a new password?")
    page.locator("#ask-board .sentence.first .chip", has_text="password").hover()
    page.wait_for_timeout(500)
    page.locator("#ask").screenshot(path=folder / "faq.png")
    page.fill("#line", "一帆风顺年年好")
    page.keyboard.press("Enter")
    page.locator("#others li").first.wait_for()
    page.locator("#couplet").screenshot(path=folder / "couplet.png")
    page = opened(browser, address, PHONE)
    page.select_option("#pair-model", "match-zh")
    page.locator("#pair-board .chip", has_text="呗").first.wait_for()
    page.locator("#pair-board .sentence.first .chip").nth(5).tap()
    page.wait_for_timeout(500)
    page.screenshot(path=folder / "phone.png")


def main() -> None:
    """Take all screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=HERE, help="The folder for the screenshots.")
    folder = parser.parse_args().output
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as scratch:
        index(Path(scratch) / "faq.sq")
        process, address = serve(Path(scratch) / "faq.sq")
        try:
            with sync_playwright() as running:
                options = ["--no-sandbox", "--disable-gpu"]
                browser = running.chromium.launch(executable_path=chromium, args=options)
                take(browser, address, folder)
        finally:
            process.terminate()
            process.wait(20)


if __name__ == "__main__":
    main()
