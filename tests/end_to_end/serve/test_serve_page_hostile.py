"""The page where texts are hostile or a key is needed; and the page of addresses."""

import re
from types import SimpleNamespace

import pytest
from one_step import OneStepSearch
from page_driving import (
    FITS,
    OBJECTIONS,
    WITHOUT_CHROMIUM,
    Opener,
    chips,
    chromium,
    expect,
    run,
    show,
)
from serving import in_thread

from softquery.answers import Generated
from softquery.search import SearchResult
from softquery.serve import Settings
from softquery.serve.catalogue import Catalogue, ServedModel, served_index
from softquery.serve.handlers import GenerateHandler
from softquery.serve.keys import add_key

pytestmark = WITHOUT_CHROMIUM
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
        return SearchResult(query, hits[:top_k], [], note=ATTACK)


class _Poet:
    """Answers as many lines as are asked for, none of which is harmless."""

    def generate(self, texts, request):
        lines = [f"{ATTACK}下联", *(f"{ATTACK}{number}" for number in range(9))]
        answers = [Generated(text=line, score=-1.0, log_probability=-1.0) for line in lines]
        return [answers[: request.strategy.num_best] for _ in texts]


@pytest.fixture(scope="module")
def hostile(catalogue):
    """A server whose index and generator answer with attacks."""
    generator = ServedModel(
        name="couplet-zh", kind="generator", model=SimpleNamespace(is_couplet=True),
        handlers={"generate": GenerateHandler("couplet-zh", _Poet())},
    )  # fmt: skip
    index = served_index("faq", Faq(catalogue.models[0].model))
    both = Catalogue([*catalogue.models, generator], [index])
    with in_thread(Settings(models=("match-en",), threads=2), both) as client:
        yield client


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def opened(browser, hostile):
    opener = Opener(browser, hostile)
    yield opener
    opener.close()


def test_a_script_tag_is_shown_as_text_everywhere(opened):
    page = opened()
    page.fill("#question", ATTACK)
    expect(page.locator("#ask .hits > li")).to_have_count(2)
    expect(page.locator("#ask .asked").nth(1)).to_have_text(ATTACK)
    expect(page.locator("#ask .note")).to_contain_text("<script>")
    for word in ("Why this answer?", "More of this row"):
        page.get_by_text(word).nth(1).click()
    expect(page.locator("#ask dd").nth(1)).to_have_text(ATTACK)
    expect(chips(page.locator("#ask"), "first").filter(has_text="script").first).to_be_visible()
    show(page, "pair")
    page.fill("#first", ATTACK)
    page.fill("#second", f"{ATTACK} </textarea><svg onload=alert(2)>")
    expect(chips(page.locator("#pair"), "first").filter(has_text="script").first).to_be_visible()
    page.locator("#pair .chip").nth(3).hover()
    show(page, "generate")
    page.fill("#generate-source", ATTACK)
    result = run(page, "generate")
    expect(result.locator(".couplet bdi")).to_have_text([ATTACK, f"{ATTACK}下联"])
    expect(result.locator(".others li bdi")).to_have_text([f"{ATTACK}0", f"{ATTACK}1"])
    assert page.title() == "softquery"
    assert page.locator("img, main script, svg[onload]").count() == 0


def test_files_are_taken_only_where_the_server_says_so(opened, hostile):
    page = opened()
    expect(page.locator("#tasks a").first).to_be_visible()
    assert page.locator("#upload").count() == 0
    assert hostile.ask("/v1/indexes", {"name": "a.csv", "content": "question\na"}).status == 404


def test_the_policy_forbids_what_is_not_ours(opened, hostile):
    headers = hostile.ask("/").headers
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


def test_keys_are_asked_for(opened, catalogue, tmp_path):
    key = add_key(tmp_path / "keys.txt", "ada")
    settings = Settings(models=("match-en",), keys=str(tmp_path / "keys.txt"))
    with in_thread(settings, catalogue) as client:
        page = opened(client=client, expected="401")
        page.fill("#key", "sq-wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_text("The server does not know this key.")).to_be_visible()
        page.fill("#key", key)
        page.keyboard.press("Enter")
        expect(page.locator("#key-form")).to_be_hidden()
        expect(page.locator("#pair-title")).to_be_focused()
        expect(run(page, "pair")).to_contain_text("same meaning")
        withdrawn = {"status": 401, "json": {"error": {"message": "unknown key"}}}
        page.route("**/v1/explain", lambda asked: asked.fulfill(**withdrawn), times=1)
        page.fill("#second", "What is a guitar?")
        expect(page.locator("#key")).to_be_focused()
        page.keyboard.press("Enter")  # what was refused is asked again
        expect(page.locator("#pair .headline")).to_contain_text("different meaning")


def test_the_addresses_are_shown_and_can_be_tried(opened):
    page = opened("/docs")
    entry = page.locator("details", has=page.locator("code", has_text=re.compile("^/rerank$")))
    entry.locator("summary").click()
    expect(entry.get_by_text("The queue is full")).to_be_visible()
    entry.get_by_role("button", name="Try it").click()
    expect(entry.locator("pre")).to_contain_text('"score"')
    assert page.locator("details").count() > 15
    assert page.locator("summary, caption, td", has_text="`").count() == 0


def test_an_address_with_a_name_is_tried_with_the_first(opened):
    page = opened("/docs")
    for path, said in (("/models/{name}", "0."), ("/v1/models/{name}", '"match-en"')):
        found = page.locator("code", has_text=re.compile(f"^{re.escape(path)}$"))
        entry = page.locator("details", has=found)
        entry.locator("summary").click()
        entry.get_by_role("button", name="Try it").click()
        expect(entry.locator("pre")).to_contain_text(said)


def test_the_page_of_addresses_fits_a_phone_and_axe_has_no_objection(opened, axe):
    page = opened("/docs", viewport={"width": 360, "height": 740}, bypass_csp=True)
    page.evaluate(axe)
    expect(page.locator("details").first).to_be_visible()
    page.evaluate("document.querySelectorAll('details:nth-of-type(2)').forEach(e => e.open = true)")
    assert page.evaluate(FITS)
    assert page.evaluate(OBJECTIONS) == []
