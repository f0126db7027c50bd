"""The page while it waits, where something is missing, and where the server refuses or is down."""

import pytest
from page_driving import FITS, WITHOUT_CHROMIUM, Opener, chromium, expect, run

pytestmark = WITHOUT_CHROMIUM


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def opened(browser, client):
    opener = Opener(browser, client)
    yield opener
    opener.close()


def test_what_is_missing_is_said_and_found(opened):
    page = opened("/#pair")
    fault = page.locator("#pair .fault")
    page.fill("#second", " ")
    expect(page.locator("#pair .result")).to_have_count(0)
    expect(fault).to_be_hidden()  # who still types is not told
    page.locator("#pair-form [type=submit]").click()
    expect(fault).to_have_text("Fill in this field first.")
    expect(page.locator("#second")).to_be_focused()
    page.fill("#second", "x" * 2_001)
    expect(fault).to_contain_text("longer than 2,000 characters")
    page.fill("#second", "I would like to play the guitar.")
    expect(page.locator("#pair .result")).to_be_visible()
    expect(fault).to_be_hidden()
    page.goto(page.url.partition("#")[0] + "#similarity")
    page.fill("#similarity-texts", "one line")
    page.locator("#similarity-form [type=submit]").click()
    expect(page.locator("#similarity .fault")).to_contain_text("at least two texts")
    assert all(each.method == "GET" or "/v1/explain" in each.url for each in opened.requests)


REFUSALS = (
    ({"status": 502, "body": "<html>"}, "服务器返回状态码 502。"),
    ({"status": 200, "body": "<html>"}, "服务器返回状态码 200。"),
    ({"status": 422, "json": {"error": {"message": "a reason"}}}, "服务器提示：a reason"),
    ({"status": 429, "headers": {"Retry-After": "600"}}, "服务器正忙，600 秒后重试。"),
    (None, "服务器没有响应。"),
)


def refuse(page, answer):
    """Let the next request to a model get this answer, or none."""
    act = (lambda asked: asked.fulfill(**answer)) if answer else (lambda asked: asked.abort())
    page.route("**/v1/*", act, times=1)


def test_a_refusal_is_said_in_the_language_of_the_page(opened):
    page = opened("/#pair", locale="zh-CN", expected="Failed to load resource")
    fault = page.locator("#pair .fault")
    for answer, said in REFUSALS:
        expect(run(page, "pair")).to_contain_text("意思相同")
        expect(fault).to_be_hidden()
        refuse(page, answer)
        page.locator("#pair-form [type=submit]").click()
        expect(fault).to_have_text(said)
        assert fault.locator("[lang=en]").count() == ("reason" in said)
        expect(page.locator("#pair .result")).to_have_count(0)  # not beside an older answer


def test_waiting_is_shown_and_said(opened, client):
    held = []
    page = opened("/docs")
    page.route("**/info", lambda asked: held.append(asked))
    page.goto(client.url)
    expect(page.locator("#loading")).to_be_visible()
    held.pop().continue_()
    expect(page.locator("#tasks a").first).to_be_visible()
    expect(page.locator("#loading")).to_be_hidden()
    page.route("**/v1/explain", lambda asked: held.append(asked))
    page.locator("#pair-form [type=submit]").click()
    said = page.locator("#pair [role=status].unseen")
    expect(said).to_have_text("Working …")
    expect(page.locator("#pair-results")).to_have_attribute("aria-busy", "true")
    held.pop().continue_()
    expect(said).to_contain_text("same meaning")
    expect(page.locator("#pair-results")).to_have_attribute("aria-busy", "false")


def test_a_text_in_another_language_gets_a_note(opened):
    page = opened("/#pair", locale="zh-CN")
    page.select_option("#pair-model", "match-en")
    page.fill("#first", "怎么重置密码")
    page.fill("#second", "忘记密码了怎么办")
    expect(page.locator("#pair .note")).to_contain_text("match-en 只懂英语")
    page.select_option("#pair-model", "match-zh")
    expect(page.locator("#pair .note")).to_have_count(0)
    page.fill("#first", "How do I reset my password?")
    page.fill("#second", "I forgot my password.")
    expect(page.locator("#pair .note")).to_contain_text("match-zh 只懂中文")


def test_letters_of_an_input_method_are_no_question_yet(opened):
    page = opened("/#pair", locale="zh-CN")
    method = page.context.new_cdp_session(page)
    page.fill("#first", "")
    page.locator("#first").focus()
    typed = {"text": "zenme", "selectionStart": 5, "selectionEnd": 5}
    method.send("Input.imeSetComposition", typed)
    expect(page.locator("#first")).to_have_value("zenme")
    page.wait_for_timeout(400)  # longer than the page waits for more
    assert [each for each in opened.requests if each.method == "POST"] == []
    method.send("Input.insertText", {"text": "怎么提额"})
    expect(page.locator("#pair .first .token")).to_have_text([*"怎么提额"])


def test_nothing_overflows_with_large_letters_or_forced_colours(opened):
    page = opened("/#pair", viewport={"width": 640, "height": 800}, bypass_csp=True)
    run(page, "pair")
    page.add_style_tag(content="html { font-size: 200% }")
    assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") == 32
    assert page.evaluate(FITS)
    chosen = "getComputedStyle(document.querySelector('.switch :checked + span')).backgroundColor"
    other = chosen.replace(":checked", "input:not(:checked)")
    page.emulate_media(forced_colors="active")
    assert page.evaluate(chosen) != page.evaluate(other)
