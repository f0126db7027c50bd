"""The page at `/`: every panel with the shipped models, in both languages, by every means."""

import re
import shutil
from pathlib import Path

import pytest
from page_driving import (
    FITS,
    OBJECTIONS,
    WITHOUT_CHROMIUM,
    Opener,
    chips,
    chromium,
    expect,
    run,
    run_by_keyboard,
    show,
    show_by_keyboard,
    tab_to,
)
from serving import in_thread

from softquery.search import Index
from softquery.serve import Settings
from softquery.serve.catalogue import Catalogue, open_catalogue

pytestmark = WITHOUT_CHROMIUM
FURTHER = (
    "tagger-en", "sentiment-en", "read-en", "translate-de-en", "couplet-zh", "bert-mini-en",
    "embed-en",
)  # fmt: skip
PANELS = (
    "ask", "pair", "rank", "similarity", "classify", "tag", "read", "generate", "fill"
)  # fmt: skip
SHOP = Path(__file__).resolve().parents[3] / "examples" / "shop_faq.csv"


@pytest.fixture(scope="module")
def everything(catalogue, shop, tmp_path_factory):
    """A server with a model for every panel and indexes in both languages, which takes files."""
    folder = tmp_path_factory.mktemp("page")
    indexes = [shutil.copytree(shop / name, folder / name) for name in ("faq-en.sq", "faq-zh.sq")]
    for index in indexes:
        Index.open(index).set_min_score(None)  # what is no answer by default
    settings = Settings(
        models=FURTHER,
        indexes=tuple(map(str, indexes)),
        threads=2,
        uploads=str(folder / "uploads"),
    )
    opened = open_catalogue(settings)
    both = Catalogue([*catalogue.models, *opened.models], opened.indexes)
    with in_thread(settings, both) as client:
        yield client


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def opened(browser, everything):
    opener = Opener(browser, everything)
    yield opener
    opener.close()


def asked(opened):
    return [each for each in opened.requests if each.method != "GET"]


def test_nothing_is_computed_before_somebody_asks(opened):
    page = opened()
    expect(page.locator("#tasks a")).to_have_count(len(PANELS))
    expect(page.locator(".example")).to_have_count(4)
    for panel in PANELS:
        show(page, panel)
    assert asked(opened) == []


ANSWERS = {
    "en": {
        "ask": "very likely", "pair": "same meaning", "rank": "start playing guitar",
        "similarity": "0.", "classify": "positive", "tag": "proper name", "read": "Charles Babbage",
        "generate": "A dog", "fill": "children",
    },
    "zh": {
        "ask": "重置密码", "pair": "意思相同", "rank": "重置密码", "similarity": "最接近",
        "classify": "正面", "tag": "专有名词", "read": "Charles Babbage", "generate": "得分",
        "fill": "children",
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("locale", "scheme", "widths"),
    [("en-GB", "light", (1280, 360)), ("zh-CN", "dark", (360, 1280))],
    ids=["english-light-desktop", "chinese-dark-phone"],
)
def test_every_panel_answers_the_keyboard_and_axe_has_no_objection(
    opened, axe, locale, scheme, widths
):
    language = locale[:2]
    first, then = ({"width": width, "height": 740} for width in widths)
    page = opened(locale=locale, color_scheme=scheme, viewport=first, bypass_csp=True)
    page.evaluate(axe)  # a script of the test, which the policy of the page does not allow
    for panel in PANELS:
        show_by_keyboard(page, panel)
        if panel == "ask":
            tab_to(page, "#question")
            page.keyboard.type({"en": "I forgot my password", "zh": "怎么重置密码"}[language])
        result = run_by_keyboard(page, panel)
        expect(result).to_contain_text(ANSWERS[language][panel])
        expect(page.locator(f"#{panel} [role=status].unseen")).not_to_be_empty()
        assert page.evaluate(FITS), panel
        page.wait_for_timeout(200)  # colours that change slowly have no contrast on their way
        assert page.evaluate(OBJECTIONS) == [], panel
    page.set_viewport_size(then)
    for panel in PANELS:
        show(page, panel)
        assert page.evaluate(FITS), panel


def test_an_example_is_answered_and_says_why_on_demand(opened):
    page = opened()
    example = page.locator(".example").first
    question = example.text_content()
    example.click()
    best = page.locator("#ask .hits > li").first
    expect(best.locator(".asked")).to_have_text(question)
    page.fill("#question", "How can I get a new password?")
    expect(best.locator(".asked")).to_have_text("How do I reset my password?")
    expect(best.locator(".score")).to_contain_text(re.compile(r"likely · .*%"))
    assert [each.post_data_json["explain"] for each in asked(opened)] == [False, False]
    best.get_by_text("Why this answer?").click()
    expect(chips(best, "first")).to_have_text(
        ["how", "can", "i", "get", "a", "new", "password", "?"]
    )
    assert asked(opened)[-1].post_data_json["explain"] is True
    expect(best.locator(".owed .reasons.second bdi").last).to_have_text("?")
    best.get_by_text("More of this row").click()
    expect(best.locator("dd").first).to_be_visible()


def test_without_a_good_answer_the_nearest_questions_and_a_note_are_shown(opened):
    page = opened()
    page.fill("#question", "埃菲尔铁塔有多高？")
    expect(page.locator("#ask .note")).to_contain_text("Chinese")
    near = page.locator("#ask .nearest > li")
    expect(near).to_have_count(5)
    expect(page.locator("#ask .hint")).to_have_text("No good answer. The nearest questions:")
    expect(near.first.locator(".told")).to_be_hidden()
    near.first.locator("summary").click()
    expect(near.first.locator(".told")).to_be_visible()
    page.fill("#question", " ")
    expect(near).to_have_count(0)


def test_the_chinese_page_says_in_chinese_what_an_index_does_not_read(opened):
    page = opened(locale="zh-CN")
    page.select_option("#ask-model", "faq-zh")
    page.fill("#question", "How do I reset my password?")
    expect(page.locator("#ask .note")).to_have_text(re.compile("faq-zh 只懂中文"))
    expect(page.locator("#ask [role=status].unseen")).to_contain_text("faq-zh 只懂中文")
    page.get_by_label("English").check()
    expect(page.locator("#ask .note")).to_contain_text("the query is in English")


def test_a_column_with_few_values_filters(opened):
    page = opened()
    page.fill("#question", "How do I reset my password?")
    expect(page.locator("#ask .tag")).to_contain_text(["account"])
    page.get_by_label("category").select_option("payment")
    expect(page.locator("#ask .asked").first).not_to_have_text("How do I reset my password?")
    assert asked(opened)[-1].post_data_json["where"] == {"category": "payment"}


def test_alignments_follow_what_is_typed(opened):
    page = opened("/#pair")
    page.fill("#first", "a dog sleeps")
    page.fill("#second", "a cat is sleeping")
    board = page.locator("#pair .board")
    expect(chips(board, "first")).to_have_text(["a", "dog", "sleeps"])
    expect(page.locator("#pair .headline")).to_contain_text("different meaning")
    assert board.locator(".threads path").count() >= 2
    assert board.locator("table").count() == 0
    board.get_by_text("All weights as tables").click()
    expect(board.locator("table.first tbody tr")).to_have_count(3)
    assert board.locator("table caption").count() == 2
    page.get_by_role("button", name="Swap the sentences").click()
    expect(chips(board, "second")).to_have_text(["a", "dog", "sleeps"])
    page.select_option("#pair-model", "nli-en")
    expect(page.locator("#pair .shares li")).to_have_count(3)
    expect(page.locator("#pair .headline")).to_contain_text("contradicts it")
    assert page.input_value("#first") == "a cat is sleeping"
    page.fill("#first", " ")
    expect(page.locator("#pair .result")).to_have_count(0)


def test_words_are_coloured_by_what_the_answer_owes_to_them(opened):
    page = opened("/#pair")
    page.select_option("#pair-model", "nli-en")
    page.fill("#first", "A man is eating.")
    page.fill("#second", "Someone eats.")
    owed = page.locator("#pair .owed")
    expect(owed.locator("h3")).to_have_text("What does “follows from it” owe to each word?")
    expect(owed.locator(".reasons.first bdi")).to_have_text(["A", "man", "is", "eating", "."])
    eating = owed.locator(".reason", has_text="eating")
    expect(eating.locator("small")).to_have_text(re.compile(r"^\+[56]\.\d\d$"))
    expect(eating).to_have_attribute("title", re.compile(r"^\d.*% without it$"))
    assert "p24" in eating.locator("bdi").get_attribute("class").split()
    assert owed.locator(".reasons.first bdi[class^=c]").count() >= 1  # some speak against it


def test_a_text_shows_its_words_in_three_ways(opened):
    page = opened("/#classify")
    page.fill("#classify-text", "It is not a bad movie at all.")
    owed = run(page, "classify").locator(".owed")
    strongest = owed.locator(".reasons .reason", has_text="not")
    expect(strongest.locator("bdi")).to_have_class(re.compile("^p24 "))
    if owed.get_by_label("what they add").count():  # softquery-models of an earlier build has none
        owed.get_by_label("what they add").check()
        expect(strongest.locator("bdi")).to_have_class(re.compile("^c"))
        expect(owed.locator(".quiet")).to_contain_text("with the bias, 0.01, they add up to 0.46")
    owed.get_by_label("where the model looked").check()
    expect(owed.locator(".weighted")).to_have_count(9)
    page.get_by_label("中文").check()
    expect(page.locator("#classify .owed h3")).to_have_text("为什么是这个答案？")


def test_pointer_and_keyboard_reach_every_word(opened):
    page = opened("/#pair")
    run(page, "pair")
    board = page.locator("#pair .board")
    board.locator(".first .chip", has_text="guitar").hover()
    reading = board.locator(".reading")
    expect(reading).to_contain_text("“guitar” asks “guitar”")
    assert board.locator(".second .chip.lit").count() == 10
    page.mouse.move(2, 2)
    board.locator(".first .chip").first.focus()
    page.keyboard.press("ArrowRight")
    expect(reading).to_have_text(re.compile("^“can” asks “"))
    page.keyboard.press("End")
    expect(reading).to_have_text(re.compile("^“\\?” asks “"))
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.side") == "second"
    board.get_by_label("who asks it").check()
    expect(reading).to_have_text(re.compile("is asked by"))
    board.locator(".first .chip").first.focus()
    page.keyboard.press("Escape")
    assert board.locator(".chip.asking").count() == 0


def test_two_models_answer_beside_each_other(opened):
    page = opened("/#rank")
    page.select_option("#rank-second", "match-zh")
    run(page, "rank")
    results = page.locator("#rank .result")
    expect(results).to_have_count(2)
    expect(results.locator(".by")).to_have_text(["match-en", "match-zh"])
    boxes = [each.bounding_box() for each in results.all()]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    show(page, "ask")
    page.select_option("#ask-second", "faq-zh")
    page.fill("#question", "How do I reset my password?")
    expect(page.locator("#ask .result")).to_have_count(2)
    expect(page.locator("#ask .result").nth(1).locator(".note")).to_be_visible()


def test_a_link_fills_in_a_panel_and_asks_nothing(opened):
    page = opened("/#generate")
    page.select_option("#generate-model", "couplet-zh")
    page.fill("#generate-source", "一帆风顺年年好")
    page.get_by_label("opposite tones").check()
    page.select_option("#generate-count", "2")
    page.locator("#generate").get_by_role("button", name="Copy link").click()
    expect(page.locator("#generate").get_by_text(re.compile("Copied|address bar"))).to_be_visible()
    address = page.evaluate("location.hash")
    assert "model=couplet-zh" in address
    assert asked(opened) == []
    other = opened("/" + address)
    expect(other.locator("#generate .hint")).to_contain_text("Nothing has been asked yet")
    assert other.input_value("#generate-source") == "一帆风顺年年好"
    assert other.get_by_label("opposite tones").is_checked()
    assert asked(opened) == []
    run(other, "generate")
    expect(other.locator("#generate .couplet bdi")).to_have_count(2)
    expect(other.locator("#generate .others li")).to_have_count(1)
    assert asked(opened)[-1].post_data_json["rules"] == ["form", "repeats", "tones"]


def test_every_panel_has_a_link_to_what_was_typed(opened):
    page, other = opened(), opened()
    for panel in PANELS:
        show(page, panel)
        fields = page.locator(f"#{panel} :is(textarea, input[type=text], input[type=search])")
        ids = [each.get_attribute("id") for each in fields.all()]
        for each in ids:
            page.fill(f"#{each}", f"[MASK] & 100% of {each} = #1?")
        page.locator(f"#{panel}").get_by_role("button", name="Copy link").click()
        said = page.locator(f"#{panel} .link [role=status]")
        expect(said).to_have_text(re.compile("Copied|address bar"))
        other.goto(page.url)
        expect(other.locator(f"#{panel} .hint").last).to_contain_text("Nothing has been asked yet")
        for each in ids:
            assert other.input_value(f"#{each}") == f"[MASK] & 100% of {each} = #1?"


def test_a_hostile_link_is_text(opened):
    attack = "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"
    page = opened(f"/#ask?q={attack}&model={attack}&with=..&where.__proto__=x")
    expect(page.locator("#question")).to_have_value("<img src=x onerror=alert(1)>")
    run(page, "ask")
    assert page.locator("img").count() == 0
    page.goto(page.url.partition("#")[0] + "#nothing?x=%")
    expect(page.locator("#ask")).to_be_visible()


def test_the_page_can_be_used_with_the_keyboard_alone(opened):
    page = opened()
    expect(page.locator("#tasks a").first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, "#question")
    page.keyboard.type("I forgot my password")
    page.keyboard.press("Enter")
    expect(page.locator("#ask .hits > li").first).to_be_visible()
    tab_to(page, "#ask .more summary")
    page.keyboard.press("Enter")
    expect(page.locator("#ask .board .chip").first).to_be_visible()
    show_by_keyboard(page, "tag")
    tab_to(page, "#tag-text")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#tag .tagged-word").first).to_be_visible()
    tab_to(page, "#tag .key")
    page.keyboard.press("Space")
    assert page.locator("#tag .tagged-word.faded").count() > 3
    page.evaluate("document.querySelectorAll('.tagged small').forEach(each => each.remove())")
    text = page.input_value("#tag-text")
    expect(page.locator("#tag .tagged")).to_have_text(text)  # with the text's own spaces


def test_threads_do_not_tangle_on_a_phone(opened):
    page = opened("/#pair", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    run(page, "pair")
    board = page.locator("#pair .board")
    tapped = board.locator(".first .chip", has_text="guitar")
    for act in (lambda: None, tapped.tap):
        act()
        # All threads run in the gutter between the columns, where there are no words.
        outside = board.evaluate(
            """board => {
            const box = each => each.getBoundingClientRect();
            const all = name => [...board.querySelectorAll(name)].map(box);
            const left = Math.max(...all('.first .chip').map(each => each.right));
            const right = Math.min(...all('.second .chip').map(each => each.left));
            return all('.threads path').map(each => Math.max(left - each.left, each.right - right));
        }"""
        )
        assert len(outside) >= 1
        assert max(outside) < 4
    expect(board.locator(".sentences")).to_have_class("sentences columns")
    page.fill("#first", "word " * 40)
    expect(board.locator(".sentences")).to_have_class("sentences flow")
    assert board.locator(".threads path").count() == 0
    page.fill("#second", "x" * 300)
    expect(board.locator(".second .chip")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_light_dark_and_reduced_motion_are_followed(opened):
    page = opened()
    for scheme, is_dark in (("light", False), ("dark", True)):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        colour = page.locator("body").evaluate("each => getComputedStyle(each).backgroundColor")
        assert (sum(int(part) for part in re.findall(r"\d+", colour)[:3]) < 100) == is_dark
    moving = "each => getComputedStyle(each).transitionDuration"
    assert page.locator("#ask-results").evaluate(moving) == "0s"


def test_the_language_is_chosen_by_the_browser_and_by_hand(opened):
    page = opened("/#pair", locale="zh-CN")
    expect(page.locator("#pair-title")).to_have_text("对比两个句子")
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"
    assert page.input_value("#pair-model") == "match-zh"
    run(page, "pair")
    expect(chips(page.locator("#pair"), "first")).to_have_text([*"花呗怎么提额"])
    page.get_by_label("English").check()
    expect(page.locator("#pair .headline")).to_contain_text("same meaning")
    page.reload()
    expect(page.locator("#pair-title")).to_have_text("Compare two sentences")


def chosen_file(page, name, content):
    page.locator("#upload-file").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": content}
    )


def test_a_file_becomes_an_index(opened):
    page = opened("/#tag")
    expect(page.locator("#tag")).to_be_visible()
    made = """text => {
        const dropped = new DataTransfer();
        dropped.items.add(new File([text], 'My shop.csv'));
        return dropped;
    }"""
    dropped = page.evaluate_handle(made, SHOP.read_text(encoding="utf-8"))
    page.dispatch_event("footer", "drop", {"dataTransfer": dropped})  # anywhere on the page
    expect(page.locator("#upload-question")).to_have_value("question_en")
    page.get_by_role("button", name="Index it").click()
    expect(page.locator("#ask-model")).to_have_value("My-shop")
    expect(page.locator("#question")).to_be_focused()
    expect(page.locator("#upload [role=status]")).to_contain_text("163 questions")
    page.keyboard.type("I forgot my password")
    expect(page.locator("#ask .asked").first).to_have_text("How do I reset my password?")


def test_a_hostile_file_gets_one_clear_line(opened):
    page = opened(expected="400", viewport={"width": 360, "height": 740})
    page.get_by_text("Ask questions of your own").click()
    assert page.evaluate(FITS)
    fault = page.locator("#upload [role=alert]")
    chosen_file(page, "latin.csv", "question\ncafé\n".encode("latin-1"))
    expect(fault).to_have_text("The file is not UTF-8 text; save it as “CSV UTF-8”.")
    expect(page.get_by_role("button", name="Index it")).to_be_hidden()
    for content, said in (
        (b'question,answer\n"<img src=x onerror=alert(1)>,b\n', "a quote is opened"),
        (b"question,answer\na\n", "row 2: expected 2 columns"),
    ):
        chosen_file(page, "<b>bad.csv", content)
        page.get_by_role("button", name="Index it").click()
        expect(fault).to_contain_text(said)
    chosen_file(page, "large.csv", b"question\n" + b"x" * 2_100_000)
    expect(fault).to_contain_text("larger than 2,000,000 bytes")
    assert page.locator("img").count() == 0
