"""Take screenshots of the page: `python docs/screens/take.py`.

It needs Playwright, Pillow and Chromium. The script starts a server with shipped models and the
FAQ of a shop.
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

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from softquery.search import Index

HERE = Path(__file__).parent
MODELS = (
    "match-en", "match-zh", "sentiment-en", "tagger-en", "read-en", "translate-de-en", "couplet-zh",
    "bert-mini-en", "embed-en",
)  # fmt: skip
FAQ = HERE.parents[1] / "examples" / "shop_faq.csv"
DESKTOP = {"viewport": {"width": 1120, "height": 1200}, "color_scheme": "light", "locale": "en-GB"}
NARROW = {"viewport": {"width": 600, "height": 760}, "color_scheme": "light", "locale": "en-GB"}
PHONE: dict[str, Any] = {
    "viewport": {"width": 360, "height": 800}, "color_scheme": "dark", "locale": "zh-CN",
    "has_touch": True, "is_mobile": True, "device_scale_factor": 1.5,
}  # fmt: skip


def index(place: Path) -> None:
    """Build an index of the shop's questions in English."""
    Index.build(FAQ, place, columns={"question": "question_en", "answer": "answer_en"})


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


def opened(browser: Browser, address: str, settings: dict[str, Any], panel: str) -> Page:
    """Open a panel of the page."""
    page = browser.new_page(**settings)
    page.goto(f"{address}/#{panel}")
    page.locator(f"#{panel}").wait_for()
    return page


def answered(page: Page, panel: str) -> Locator:
    """Press the panel's button and wait for the answer; the panel."""
    page.locator(f"#{panel}-form button[type=submit]").click()
    page.locator(f"#{panel}-results .result").first.wait_for()
    page.wait_for_timeout(300)
    return page.locator(f"#{panel}")


def take(browser: Browser, address: str, folder: Path) -> None:
    """Save a question, a pair, and four panels in light mode, and two on a phone in dark mode."""
    page = opened(browser, address, DESKTOP, "ask")
    page.fill("#question", "How can I get a new password?")
    answered(page, "ask")
    page.locator("#ask .more summary").first.click()
    page.locator("#ask .sentence.first .chip", has_text="password").hover()
    page.wait_for_timeout(300)
    page.screenshot(path=folder / "faq.png", full_page=True)
    page = opened(browser, address, DESKTOP, "pair")
    answered(page, "pair")
    page.locator("#pair .sentence.first .chip", has_text="guitar").hover()
    page.wait_for_timeout(300)
    page.screenshot(path=folder / "page.png")
    for panel in ("classify", "tag", "read", "generate"):
        page = opened(browser, address, NARROW, panel)
        answered(page, panel).screenshot(path=folder / f"{panel}.png")
    for panel, name in (("pair", "phone"), ("generate", "couplet")):
        page = opened(browser, address, PHONE, panel)
        answered(page, panel)
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=folder / f"{name}.png", full_page=True)


def reduce(folder: Path) -> None:
    """Write the pictures again with 128 colours each, which takes a third of the bytes."""
    for path in folder.glob("*.png"):
        with Image.open(path) as picture:
            small = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
        small.save(path, optimize=True)


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
                reduce(folder)
        finally:
            process.terminate()
            process.wait(20)


if __name__ == "__main__":
    main()
