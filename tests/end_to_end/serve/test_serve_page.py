"""The page at `/`, driven by pointer, finger and keyboard in a real browser."""

import re
import shutil
from types import SimpleNamespace

import pytest
from one_step import OneStepSearch
from serving import in_thread

from softquery.answers import Generated
from softquery.search import SearchResult
from softquery.serve import Settings
from softquery.serve.catalogue import Catalogue, ServedModel, open_model, served_index
from softquery.serve.handlers import GenerateHandler
from softquery.serve.keys import add_key

playwright = pytest.importorskip(
    "playwright.sync_api", reason="the page is driven by Playwright (pip install playwright)"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="the page is tried in Chromium (apt-get install chromium)"
)
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ATTACK = "<script>document.title='broken'</script><img src=x onerror=alert(1)>"


class Faq:
    """Two questions, with an attack in every column."""

    def __init__(self, matcher):
        self.matcher = matcher

    def refresh(self):
        return False

    def steps(self, query, **options):
        return OneStepSearch(lambda: self.find(query, **options))

    def find(self, query, *, top_k, explain, **options):
        rows = [
            ("How do I reset my password?", f"Open Settings. {ATTACK}", 0.93),
            (ATTACK, ATTACK, 0.2),
        ]
        hits = [{"question": q, "answer": a, "score": s, "x": ATTACK} for q, a, s in rows]
        if explain:
            for hit in hits:
                hit["alignment"] = self.matcher.explain(query, hit["question"]).to_dict()
        others = hits if "close" in query else []
        note = "the query is in a note" if "close" in query else None
        found = [] if "nothing" in query else hits[:top_k]
        return SearchResult(query, found, others, note=note)


@pytest.fixture(scope="module")
def everything(catalogue):
    """A server with matchers, an index and a generator."""
    answers = GenerateHandler("couplet-zh", _Poet())
    generator = ServedModel(
        name="couplet-zh", kind="generator", model=SimpleNamespace(is_couplet=True),
        handlers={"generate": answers},
    )  # fmt: skip
    index = served_index("faq", Faq(catalogue.models[0].model))
    both = Catalogue([*catalogue.models, generator], [index])
    with in_thread(Settings(models=("match-en",), threads=2), both) as client:
        yield client


class _Poet:
    """Answers as many lines as are asked for, none of which is harmless."""

    def generate(self, texts, request):
        lines = [f"{ATTACK}下联", *(f"{ATTACK}{number}" for number in range(9))]
        answers = [Generated(text=line, score=-1.0, log_probability=-1.0) for line in lines]
        return [answers[: request.strategy.num_best] for _ in texts]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser, everything):
    """Opens pages; none may complain, show a dialog, or ask anybody but its own server."""
    pages, faults = [], []

    def show(path="/", *, client=everything, expected=r"$^", **settings):
        page = browser.new_page(**{"locale": "en-GB", **settings})
        page.set_default_timeout(15_000)
        pages.append(page)

        def note(text):
            if not re.search(expected, text):
                faults.append(text)

        page.on("console", lambda message: note(message.text))
        page.on("pageerror", lambda error: note(str(error)))
        page.on("dialog", lambda dialog: note(dialog.message) or dialog.dismiss())
        page.on("request", lambda asked: asked.url.startswith(client.url) or note(asked.url))
        page.goto(client.url + path)
        return page

    yield show
    for page in pages:
        page.close()
    assert faults == []


def chips(page, side, board="#pair-board"):
    return page.locator(f"{board} .sentence.{side} .chip .token")


def wait_for_words(page, side, words):
    playwright.expect(chips(page, side)).to_have_text(words)


def test_alignments_follow_what_is_typed(opened):
    page = opened()
    wait_for_words(page, "first", [
        "<bos>", "how", "can", "i", "learn", "to", "play", "the", "guitar", "?", "<eos>"
    ])  # fmt: skip
    playwright.expect(page.locator("#headline")).to_have_text("same meaning")
    page.fill("#second", "How do I cook rice?")
    wait_for_words(page, "second", ["<bos>", "how", "do", "i", "cook", "rice", "?", "<eos>"])
    playwright.expect(page.locator("#headline")).to_have_text("not the same")
    playwright.expect(page.locator("#chances li")).to_have_count(2)
    assert page.locator("#pair-board table").count() == 2
    assert page.locator("#pair-board table.first tbody tr").count() == 11
    assert page.locator("#pair-board .threads path").count() > 3


def test_only_the_newest_answer_is_shown(opened):
    page = opened()
    for text in ("a", "a dog", "a dog sleeps"):
        page.fill("#first", text)
    wait_for_words(page, "first", ["<bos>", "a", "dog", "sleeps", "<eos>"])


def test_nothing_typed_shows_nothing(opened):
    page = opened()
    playwright.expect(page.locator("#headline")).not_to_be_empty()
    page.fill("#first", " ")
    playwright.expect(page.locator("#pair-board")).to_be_hidden()
    playwright.expect(page.locator("#pair-answer")).to_be_hidden()


def test_pointer_and_keyboard_reach_every_word(opened):
    page = opened()
    page.fill("#first", "a dog")
    page.fill("#second", "a cat")
    wait_for_words(page, "second", ["<bos>", "a", "cat", "<eos>"])
    page.locator("#pair-board .sentence.first .chip").nth(2).hover()
    reading = page.locator("#pair-board .reading")
    playwright.expect(reading).to_have_text(re.compile("^“dog” asks “"))
    assert page.locator("#pair-board .sentence.second .chip.lit").count() == 4
    page.mouse.move(2, 2)
    page.locator("#pair-board .sentence.first .chip").first.focus()
    page.keyboard.press("ArrowRight")
    playwright.expect(reading).to_have_text(re.compile("^“a” asks “"))
    page.keyboard.press("End")
    playwright.expect(reading).to_have_text(re.compile("^“<eos>” asks “"))
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.side") == "second"
    page.locator("#pair-board").get_by_label("who asks it").check()
    playwright.expect(reading).to_have_text(re.compile("is asked by"))
    page.keyboard.press("Escape")


def test_sentences_and_models_can_be_changed(opened):
    page = opened()
    page.fill("#first", "a dog")
    page.fill("#second", "a cat")
    page.get_by_role("button", name="Swap the sentences").click()
    wait_for_words(page, "first", ["<bos>", "a", "cat", "<eos>"])
    page.select_option("#pair-model", "nli-en")
    playwright.expect(page.locator("#chances li")).to_have_count(3)
    assert page.input_value("#first") == "a cat"


def test_chinese_model_and_chinese_page(opened):
    page = opened(locale="zh-CN")
    playwright.expect(page.locator("#pair-title")).to_have_text("试一对句子")
    assert page.evaluate("document.documentElement.lang") == "zh"
    page.select_option("#pair-model", "match-zh")
    wait_for_words(page, "first", ["<bos>", *"花呗怎么提额", "<eos>"])
    playwright.expect(page.locator("#headline")).to_have_text("意思相同")
    page.get_by_label("English").check()
    playwright.expect(page.locator("#pair-title")).to_have_text("Try a pair")
    playwright.expect(page.locator("#headline")).to_have_text("same meaning")
    page.reload()
    playwright.expect(page.locator("#pair-title")).to_have_text("Try a pair")


def test_the_faq_answers_and_says_why(opened):
    page = opened()
    page.fill("#question", "I forgot my password")
    playwright.expect(page.locator("#hits li")).to_have_count(2)
    playwright.expect(page.locator("#hits .asked").first).to_have_text(
        "How do I reset my password?"
    )
    playwright.expect(page.locator("#ask-status")).to_have_text("2 found.")
    playwright.expect(page.get_by_text("Why the first answer won")).to_be_visible()
    assert "password" in chips(page, "first", "#ask-board").all_text_contents()
    page.fill("#question", "nothing fits")
    playwright.expect(page.locator("#ask-status")).to_have_text("No good answer.")
    playwright.expect(page.locator("#why")).to_be_hidden()
    playwright.expect(page.locator("#nearest li")).to_have_count(0)


def test_without_a_good_answer_the_nearest_questions_are_shown(opened):
    page = opened()
    page.fill("#question", "nothing fits, but some are close")
    playwright.expect(page.locator("#ask-status")).to_have_text(
        "No good answer. The nearest questions: (the query is in a note)"
    )
    playwright.expect(page.locator("#hits li")).to_have_count(0)
    near = page.locator("#nearest li")
    playwright.expect(near).to_have_count(2)
    playwright.expect(near.first.locator(".value")).to_have_text(re.compile("93"))
    playwright.expect(near.first.get_by_text("Open Settings.")).to_be_hidden()
    near.first.locator("summary").click()
    playwright.expect(near.first.get_by_text("Open Settings.")).to_be_visible()
    page.fill("#question", "I forgot my password")
    playwright.expect(near).to_have_count(0)
    assert page.title() != "broken"


def test_a_real_index_in_two_languages(opened, shop):
    indexes = (str(shop / "faq-en.sq"), str(shop / "faq-zh.sq"))
    with in_thread(Settings(indexes=indexes, threads=2)) as client:
        page = opened(client=client)
        playwright.expect(page.locator("#pair")).to_be_hidden()
        page.fill("#question", "How can I get a new password?")
        best = page.locator("#hits .asked").first
        playwright.expect(best).to_contain_text("password")
        asking = chips(page, "first", "#ask-board")
        playwright.expect(asking).to_have_text(
            ["<bos>", "how", "can", "i", "get", "a", "new", "password", "?", "<eos>"]
        )
        page.fill("#question", "How tall is the Eiffel tower?")
        playwright.expect(page.locator("#ask-status")).to_contain_text("The nearest questions")
        playwright.expect(page.locator("#nearest li")).to_have_count(5)
        page.select_option("#ask-index", "faq-zh")
        page.fill("#question", "忘记密码了怎么办")
        playwright.expect(best).to_contain_text("密码")
        playwright.expect(asking).to_have_text(["<bos>", *"忘记密码了怎么办", "<eos>"])


def test_a_line_is_answered(opened):
    page = opened()
    page.fill("#line", "上联")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#lower")).to_have_text(f"{ATTACK}下联")
    playwright.expect(page.locator("#upper")).to_have_text("上联")
    playwright.expect(page.locator("#others li")).to_have_text([f"{ATTACK}0", f"{ATTACK}1"])
    playwright.expect(page.locator("#line")).to_have_attribute("placeholder", "The upper line")


def test_a_model_that_writes_no_couplets_asks_for_a_text(opened):
    served = Catalogue([open_model("translate-de-en", "translate-de-en")])
    with in_thread(Settings(models=("x",)), served) as client:
        page = opened(client=client)
        playwright.expect(page.locator("#line")).to_have_attribute("placeholder", "The text")
        page.fill("#line", "Ein Hund läuft.")
        page.keyboard.press("Enter")
        playwright.expect(page.locator("#lower")).to_have_text("A dog runs.")
        playwright.expect(page.locator("#others li")).to_have_count(0)


def test_a_script_tag_is_shown_as_text_everywhere(opened):
    page = opened()
    page.fill("#first", ATTACK)
    page.fill("#second", f"{ATTACK} </textarea><svg onload=alert(2)>")
    page.fill("#question", ATTACK)
    page.fill("#line", ATTACK)
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#hits li")).to_have_count(2)
    playwright.expect(page.locator("#hits .asked").nth(1)).to_have_text(ATTACK)
    playwright.expect(page.locator("#hits li").first).to_contain_text("<script>")
    playwright.expect(page.locator("#upper")).to_have_text(ATTACK)
    playwright.expect(chips(page, "first").filter(has_text="script").first).to_be_visible()
    page.locator("#pair-board .chip").nth(3).hover()
    assert page.title() == "softquery"
    assert page.locator("img, main script, svg[onload]").count() == 0


def test_the_policy_forbids_what_is_not_ours(opened, everything):
    headers = everything.ask("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    page = opened(expected="Content Security Policy|Refused|404")
    tried = """() => {
        const script = document.createElement('script');
        script.textContent = "document.title = 'broken'";
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<img src="x" onerror="document.title=1">');
        return fetch('http://127.0.0.1:1/').then(() => 'asked', () => 'refused');
    }"""
    assert page.evaluate(tried) == "refused"
    assert page.title() == "softquery"


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_light_and_dark_are_followed(opened, scheme, is_dark):
    page = opened(color_scheme=scheme)
    colour = page.locator("body").evaluate("each => getComputedStyle(each).backgroundColor")
    assert (sum(int(part) for part in re.findall(r"\d+", colour)[:3]) < 100) == is_dark


def test_a_phone_shows_all_without_sideways_scrolling(opened):
    page = opened(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page.fill("#first", "word " * 40)
    page.fill("#second", "x" * 300)
    page.fill("#question", "how do I reset my password and my e-mail address as well?")
    playwright.expect(page.locator("#hits li")).to_have_count(2)
    playwright.expect(chips(page, "first")).to_have_count(42)
    page.locator("#pair-board .sentence.first .chip").nth(3).tap()
    playwright.expect(page.locator("#pair-board .reading")).to_have_text(re.compile("“word” asks"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_everything_has_a_name_for_those_who_do_not_see_it(opened):
    page = opened()
    playwright.expect(page.locator("#pair-board .chip").first).to_be_visible()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('input, textarea, select, button, [role=group]')]
        .filter(each => each.checkVisibility() && !(each.labels?.length
            || each.getAttribute('aria-label') || each.textContent.trim()))
        .map(each => each.outerHTML)"""
    )
    assert nameless == []
    for role, name in (("textbox", "First sentence"), ("searchbox", "Your question"),
                       ("combobox", "Model"), ("heading", "Try a pair")):  # fmt: skip
        assert page.get_by_role(role, name=name).count() >= 1
    assert page.locator("table caption").count() == page.locator("table").count() > 0


def test_keys_are_asked_for(opened, catalogue, tmp_path):
    key = add_key(tmp_path / "keys.txt", "ada")
    settings = Settings(models=("match-en",), keys=str(tmp_path / "keys.txt"))
    with in_thread(settings, catalogue) as client:
        page = opened(client=client, expected="401")
        page.fill("#key", "sq-wrong")
        page.keyboard.press("Enter")
        playwright.expect(page.get_by_text("The server does not know this key.")).to_be_visible()
        page.fill("#key", key)
        page.keyboard.press("Enter")
        playwright.expect(page.locator("#headline")).to_have_text("same meaning")
        playwright.expect(page.locator("#key-form")).to_be_hidden()


def test_the_addresses_are_shown_and_can_be_tried(opened):
    page = opened("/docs")
    entry = page.locator("details", has=page.locator("code", has_text=re.compile("^/rerank$")))
    entry.locator("summary").click()
    playwright.expect(entry.get_by_text("The queue is full")).to_be_visible()
    entry.get_by_role("button", name="Try it").click()
    playwright.expect(entry.locator("pre")).to_contain_text('"score"')
    assert page.locator("details").count() > 15


def test_an_address_with_a_name_is_tried_with_the_first(opened):
    page = opened("/docs")
    for path, said in (("/models/{name}", "0."), ("/v1/models/{name}", '"match-en"')):
        found = page.locator("code", has_text=re.compile(f"^{re.escape(path)}$"))
        entry = page.locator("details", has=found)
        entry.locator("summary").click()
        entry.get_by_role("button", name="Try it").click()
        playwright.expect(entry.locator("pre")).to_contain_text(said)
