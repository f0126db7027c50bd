"""The page that explains a pair, driven by pointer, finger and keyboard in a real browser."""

import shutil

import numpy as np
import pytest

from softquery.explain import PairAlignment

playwright = pytest.importorskip(
    "playwright.sync_api", reason="the page is driven by Playwright (pip install playwright)"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="the page is tried in Chromium (apt-get install chromium)"
)

OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FIRST, SECOND = ("a", "man", "eats"), ("someone", "eats")
FORTH = [[0.6, 0.4], [0.95, 0.05], [0.02, 0.98]]
BACK = [[0.2, 0.7, 0.1], [0.0, 0.1, 0.9]]


def explained(path, first=FIRST, second=SECOND, forth=FORTH, back=BACK):
    alignment = PairAlignment(
        first=" ".join(first),
        second=" ".join(second),
        first_tokens=first,
        second_tokens=second,
        first_to_second=np.array(forth),
        second_to_first=np.array(back),
        label="entailment",
        score=0.9,
        probabilities={"entailment": 0.9, "neutral": 0.1},
        model="nli-en",
    )
    return alignment.plot(path).as_uri()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens pages; afterwards, none may have complained, asked for anything, or shown a dialog."""
    pages, faults, requests = [], [], []

    def show(address=None, **settings):
        page = browser.new_page(**settings)
        page.set_default_timeout(10_000)
        pages.append(page)
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(dialog.message) or dialog.dismiss())
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address or explained(tmp_path / "why.html"))
        return page

    yield show
    for page in pages:
        page.close()
    assert faults == []
    assert len(requests) == len(pages)


def chip(page, side, index):
    return page.locator(f".sentence.{side} .chip").nth(index)


def colours(page, side):
    """How bright each chip of a sentence is, from 0 to 765, once its transition has ended."""
    page.wait_for_timeout(250)
    return page.locator(f".sentence.{side} .chip").evaluate_all(
        """chips => chips.map(chip => getComputedStyle(chip).backgroundColor
            .match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0))"""
    )


def weights(page, side):
    return page.locator(f".sentence.{side} .chip .weight").all_text_contents()


def reading(page):
    return page.locator(".reading").text_content()


def focused(page):
    return page.evaluate("Object.values({...document.activeElement.dataset})")


def test_pointing_at_a_word_lights_up_the_words_it_asks(opened):
    page = opened()
    before = colours(page, "second")
    chip(page, "first", 1).hover()
    assert weights(page, "second") == ["0.95", "0.05"]
    assert weights(page, "first") == ["", "", ""]
    after = colours(page, "second")
    assert after[0] < after[1] - 200
    assert after[0] < before[0] - 200
    assert reading(page) == "“man” asks “someone” 0.95, “eats” 0.05"
    assert page.locator(".threads path").count() == 2


def test_words_of_the_second_sentence_ask_the_first(opened):
    page = opened()
    chip(page, "second", 1).hover()
    assert weights(page, "first") == ["0.00", "0.10", "0.90"]
    light = colours(page, "first")
    assert light[0] > light[1] > light[2]
    assert reading(page) == "“eats” asks “eats” 0.90, “man” 0.10"


def test_leaving_puts_the_light_out(opened):
    page = opened()
    at_rest, hint = colours(page, "second"), reading(page)
    chip(page, "first", 1).hover()
    assert reading(page) != hint
    page.mouse.move(2, 2)
    assert colours(page, "second") == at_rest
    assert weights(page, "second") == ["", ""]
    assert reading(page) == hint


def test_the_switch_shows_who_asks_a_word(opened):
    page = opened()
    page.get_by_label("who asks it").check()
    chip(page, "first", 1).hover()
    assert weights(page, "second") == ["0.70", "0.10"]
    assert reading(page) == "“man” is asked by “someone” 0.70, “eats” 0.10"


def test_a_clicked_word_stays_lit_until_escape(opened):
    page = opened()
    chip(page, "first", 2).click()
    page.mouse.move(2, 2)
    assert weights(page, "second") == ["0.02", "0.98"]
    page.keyboard.press("Escape")
    assert weights(page, "second") == ["", ""]


def test_the_keyboard_reaches_every_word(opened):
    page = opened()
    for _ in range(5):
        page.keyboard.press("Tab")
        if focused(page)[:1] == ["first"]:
            break
    assert focused(page) == ["first", "0"]
    assert weights(page, "second") == ["0.60", "0.40"]
    page.keyboard.press("ArrowRight")
    assert focused(page) == ["first", "1"]
    page.keyboard.press("End")
    assert focused(page) == ["first", "2"]
    page.keyboard.press("ArrowRight")
    assert focused(page) == ["first", "2"]
    page.keyboard.press("ArrowDown")  # to the word that it asks most
    assert focused(page) == ["second", "1"]
    assert weights(page, "first") == ["0.00", "0.10", "0.90"]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    assert focused(page) == ["second", "0"]


def test_pointing_at_a_row_of_a_map_lights_up_its_word(opened):
    page = opened()
    page.locator('.row[data-side="second"][data-index="0"] rect').first.hover()
    assert weights(page, "first") == ["0.20", "0.70", "0.10"]
    faded = page.locator('.row[data-side="second"][data-index="1"]')
    page.wait_for_timeout(250)
    assert float(faded.evaluate("row => getComputedStyle(row).opacity")) < 0.5


def test_a_finger_works_on_a_phone_and_nothing_overflows(opened, tmp_path):
    tokens = tuple(f"word{place}" for place in range(30))
    even = np.full((30, 30), 1 / 30)
    address = explained(tmp_path / "why.html", tokens, tokens, even, even)
    page = opened(address, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    chip(page, "first", 3).tap()
    assert weights(page, "second") == ["0.03"] * 30
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
@pytest.mark.parametrize("ending", ["html", "svg"])
def test_light_and_dark_are_followed(opened, tmp_path, scheme, is_dark, ending):
    page = opened(explained(tmp_path / f"why.{ending}"), color_scheme=scheme)
    where, what = {"html": ("body", "backgroundColor"), "svg": (".card", "fill")}[ending]
    colour = page.locator(where).evaluate(f"each => getComputedStyle(each).{what}")
    brightness = sum(int(part) for part in colour[4:-1].split(","))
    assert (brightness < 100) == is_dark


def test_chinese_is_shown_and_lit(opened, tmp_path):
    address = explained(tmp_path / "why.html", ("多", "少", "钱"), ("价", "格"), FORTH, BACK)
    page = opened(address)
    chip(page, "first", 2).hover()
    assert reading(page) == "“钱” asks “格” 0.98, “价” 0.02"
    assert page.locator('.chips[lang="zh"]').count() == 2


@pytest.mark.parametrize("ending", ["html", "svg"])
def test_hostile_words_run_nothing(opened, tmp_path, ending):
    attack = "</script></title></style></svg><script>alert(1)</script><img src=x onerror=alert(2)>"
    address = explained(
        tmp_path / f"why.{ending}", (attack, "\x00", "$maps"), (attack, "-->"), FORTH, BACK
    )
    page = opened(address)
    assert page.locator("img").count() == 0
    if ending == "html":
        chip(page, "first", 0).hover()
        assert weights(page, "second") == ["0.60", "0.40"]
    else:
        assert page.locator(".row").count() == 5
