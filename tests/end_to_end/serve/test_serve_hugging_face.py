"""Hugging Face's own client, unchanged: every task that a served model can answer."""

import asyncio
import json
import random
import re
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
from mutating import TASKS as SEEDS
from mutating import mutated
from serving import in_thread

import softquery
from softquery.serve import Settings
from softquery.serve.catalogue import Catalogue, open_model

hub = pytest.importorskip("huggingface_hub", reason="pip install huggingface_hub")
from huggingface_hub.errors import HfHubHTTPError, TextGenerationError  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
PRAISE = "A wonderful film, funny and warm."
GERMAN = "Ein Hund läuft im Park."
WHO = {"question": "Who slept in the garden?", "context": "In May Ada slept in the garden."}
EVERY = ("match-en", "sentiment-en", "tagger-en", "read-en", "translate-de-en")
"""One model for each task; in this order, which decides where a request does not say."""


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    """A proxy in the environment would be asked for 127.0.0.1 as well."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture(scope="module")
def opened(catalogue):
    """Models by name, opened once."""
    (matcher,) = (each for each in catalogue.models if each.name == "match-en")
    return {"match-en": matcher, **{name: open_model(name, name) for name in EVERY[1:]}}


@contextmanager
def serving(opened, *names):
    with in_thread(Settings(models=names), Catalogue([opened[name] for name in names])) as client:
        yield client


@pytest.fixture(scope="module")
def every(opened):
    """A server of all models."""
    with serving(opened, *EVERY) as client:
        yield client


def at(client, path=""):
    return hub.InferenceClient(model=f"{client.url}{path}", token="none")


def text_classification(asking):
    found = asking.text_classification(PRAISE)
    (said,) = softquery.load("sentiment-en", threads=1).predict([PRAISE])
    assert [each.label for each in found] == ["positive", "negative"]
    assert {each.label: each.score for each in found} == pytest.approx(said.probabilities, abs=1e-5)


def token_classification(asking):
    found = asking.token_classification(WHO["context"])
    (said,) = softquery.load("tagger-en", threads=1).predict([WHO["context"]])
    assert tuple(each.word for each in found) == said.tokens
    assert tuple(each.entity_group for each in found) == said.tags
    assert all(WHO["context"][each.start : each.end] == each.word for each in found)


def question_answering(asking):
    found = asking.question_answering(**WHO)
    assert found.answer == "Ada"
    assert WHO["context"][found.start : found.end] == "Ada"
    assert 0 < found.score <= 1


def translation(asking):
    ((best,),) = softquery.load("translate-de-en", threads=1).generate([GERMAN])
    assert asking.translation(GERMAN).translation_text == best.text


TASKS = [
    ("sentiment-en", "text-classification", text_classification),
    ("tagger-en", "token-classification", token_classification),
    ("read-en", "question-answering", question_answering),
    ("translate-de-en", "translation", translation),
]


@pytest.mark.parametrize(("model", "task", "holds"), TASKS, ids=[task for _, task, _ in TASKS])
class TestTasks:
    def test_alone_at_the_root(self, opened, model, task, holds):
        with serving(opened, model) as client:
            holds(at(client))

    def test_beside_a_model_with_vectors(self, opened, model, task, holds):
        with serving(opened, "match-en", model) as client:
            holds(at(client))
            assert at(client).feature_extraction(PRAISE).shape == (1, 400)

    def test_by_the_name_of_the_model(self, every, model, task, holds):
        holds(at(every, f"/models/{model}"))

    def test_by_the_name_of_the_task(self, every, model, task, holds):
        holds(at(every, f"/pipeline/{task}"))


def test_the_first_model_decides_where_the_request_does_not(every, opened):
    text_classification(at(every))
    with serving(opened, *reversed(EVERY)) as client:
        translation(at(client))
        assert at(client).feature_extraction(PRAISE).shape == (1, 400)


def test_parameters_say_which_task_is_meant(every):
    found = at(every).token_classification("Ada slept.", aggregation_strategy="none")
    assert [(each.word, each.entity) for each in found] == [
        ("Ada", "PROPN"), ("slept", "VERB"), (".", "PUNCT"),
    ]  # fmt: skip
    assert len(at(every).text_classification(PRAISE, top_k=1)) == 1


def test_labels_can_be_left_out(every):
    asking = at(every, "/models/tagger-en")
    found = asking.token_classification("Ada slept.", ignore_labels=["PUNCT"])
    assert [each.word for each in found] == ["Ada", "slept"]


def test_generated_text_under_the_name_that_each_method_reads(every):
    asking = at(every, "/models/translate-de-en")
    text = asking.translation(GERMAN).translation_text
    assert asking.text_generation(GERMAN) == text
    assert asking.summarization(GERMAN).summary_text == text
    assert at(every, "/pipeline/text-generation").text_generation(GERMAN) == text
    assert at(every, "/pipeline/summarization").summarization(GERMAN).summary_text == text


@pytest.mark.parametrize("path", ["/pipeline/feature-extraction", "/models/match-en"])
def test_vectors(every, path):
    found = at(every, path).feature_extraction([PRAISE, GERMAN], normalize=True, truncate=True)
    assert found.shape == (2, 400)


@pytest.mark.parametrize("path", ["", "/pipeline/sentence-similarity", "/models/match-en"])
def test_similarity(every, path):
    found = at(every, path).sentence_similarity(PRAISE, other_sentences=[PRAISE, GERMAN])
    assert found[0] == pytest.approx(1, abs=1e-5)
    assert found[1] < 0.9


def test_many_texts(every):
    asked = {"inputs": [PRAISE, "Dull."], "parameters": {}}
    labels = every.ask("/pipeline/text-classification", asked).json()
    assert [each[0]["label"] for each in labels] == ["positive", "negative"]
    tagged = every.ask("/pipeline/token-classification", {"inputs": ["Ada slept.", ""]}).json()
    assert [len(each) for each in tagged] == [3, 0]
    texts = every.ask("/pipeline/translation", {"inputs": [GERMAN, "Ja."]}).json()
    assert [list(each) for each in texts] == [["translation_text"]] * 2


def test_spans_are_groups():
    """A tagger whose tags stand for spans; the words of a span are one group."""
    from softquery.answers import Span, Tagged
    from softquery.serve.dialects.hugging_face import tag_elements
    from softquery.serve.dialects.hugging_face_bodies import TagParameters

    text = "In New  York New snow fell"
    answer = Tagged(
        tuple(text.split()), ("O", "B-LOC", "I-LOC", "O", "O", "O"), (Span("LOC", 1, 3),), text
    )
    assert tag_elements(answer, TagParameters()) == [
        {"entity_group": "LOC", "score": None, "word": "New  York", "start": 3, "end": 12}
    ]
    single = tag_elements(answer, TagParameters(aggregation_strategy="none"))
    assert [(each["entity"], each["word"], each["start"]) for each in single] == [
        ("B-LOC", "New", 3), ("I-LOC", "York", 8),
    ]  # fmt: skip
    kept = tag_elements(answer, TagParameters(aggregation_strategy="none", ignore_labels=[]))
    assert [each["start"] for each in kept] == [0, 3, 8, 13, 17, 22]


def test_no_answer_is_an_empty_one(every):
    found = at(every).question_answering(question="Who?", context="")
    assert (found.answer, found.start, found.end, found.score) == ("", 0, 0, 0.0)


def test_teis_form_where_no_parameters_are_sent(opened):
    with serving(opened, "sentiment-en") as client:
        found = client.ask("/", {"inputs": PRAISE}).json()
        assert found == client.ask("/predict", {"inputs": PRAISE}).json()
        assert found[0]["label"] == "positive"


@pytest.mark.parametrize("path", ["/", "/predict"])
def test_a_classifier_may_be_told_not_to_truncate(opened, path):
    with serving(opened, "sentiment-en") as client:
        for inputs in ("good " * 1000, [["good " * 1000], ["fine"]]):
            assert client.ask(path, {"inputs": inputs}).status == 200
            reply = client.ask(path, {"inputs": inputs, "truncate": False})
            assert reply.status == 413
            assert reply.json()["error"].startswith("1 text is longer than sentiment-en reads")
        assert client.ask(path, {"inputs": "fine", "truncate": False}).status == 200


def test_asynchronous_client(every):
    async def ask():
        async with hub.AsyncInferenceClient(model=every.url, token="none") as asking:
            return await asyncio.gather(
                asking.text_classification(PRAISE),
                asking.question_answering(**WHO),
                asking.feature_extraction(PRAISE),
                asking.translation(GERMAN, model=f"{every.url}/pipeline/translation"),
                asking.token_classification("Ada", model=f"{every.url}/models/tagger-en"),
            )

    labels, answer, vectors, translated, tags = asyncio.run(ask())
    assert labels[0].label == "positive"
    assert answer.answer == "Ada"
    assert vectors.shape == (1, 400)
    assert "dog" in translated.translation_text
    assert tags[0].entity_group == "PROPN"


def test_health_and_information(every):
    asking = hub.InferenceClient(model=every.url, provider="hf-inference", token="none")
    assert asking.health_check()
    assert asking.get_endpoint_info()["model_id"] == "match-en"
    for name in EVERY:
        at_model = f"{every.url}/models/{name}"
        assert asking.health_check(model=at_model)
        assert asking.get_endpoint_info(model=at_model)["model_id"] == name
    assert not asking.health_check(model=f"{every.url}/models/nobody")
    with pytest.raises(HfHubHTTPError, match="nothing of that name is served"):
        asking.get_endpoint_info(model=f"{every.url}/models/nobody")


@pytest.mark.parametrize("title", ["clients.py", "tasks.py"])
def test_what_the_page_shows(every, title):
    pytest.importorskip("cohere", reason="pip install cohere")
    pytest.importorskip("openai", reason="pip install openai")
    page = (ROOT / "docs" / "serve-clients.md").read_text(encoding="utf-8")
    (code,) = re.findall(rf'```python title="{title}"\n(.*?)```', page, re.DOTALL)
    assert code.count("http://127.0.0.1:8000") > 1
    exec(code.replace("http://127.0.0.1:8000", every.url), {})


class TestRefusals:
    """The client raises its own exception, and our message is part of it."""

    def test_what_no_model_does(self, every):
        with pytest.raises(HfHubHTTPError, match="parameters: no model takes these"):
            at(every).zero_shot_classification(PRAISE, candidate_labels=["praise", "blame"])

    @pytest.mark.parametrize(
        ("path", "ask", "said"),
        [
            ("/models/tagger-en", lambda asking: asking.token_classification("a", stride=3),
             "parameters.stride: extra inputs are not permitted"),
            ("/pipeline/translation",
             lambda asking: asking.translation(GERMAN, src_lang="de", tgt_lang="en"),
             "parameters.src_lang: extra inputs are not permitted"),
            ("", lambda asking: asking.question_answering(**WHO, max_answer_len=1),
             "parameters.max_answer_len: extra inputs are not permitted"),
            ("", lambda asking: asking.text_classification(PRAISE, top_k=0),
             "parameters.top_k: input should be greater than or equal to 1"),
            ("/models/translate-de-en",
             lambda asking: list(asking.text_generation(GERMAN, stream=True)),
             "stream: input should be False"),
            ("/models/nobody", lambda asking: asking.translation(GERMAN),
             r"nothing of that name is served \(known: match-en, sentiment-en, "),
            ("/models/read-en", lambda asking: asking.translation(GERMAN),
             r"read-en takes no text alone \(it can: read\)"),
            ("/models/tagger-en", lambda asking: asking.question_answering(**WHO),
             r"no model of that name can read \(known: read-en\)"),
            ("/pipeline/fill-mask", lambda asking: asking.fill_mask("a"), "Not Found"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_answered(self, every, path, ask, said):
        with pytest.raises((HfHubHTTPError, TextGenerationError), match=said):
            ask(at(every, path))

    def test_refusals_have_the_form_of_tei(self, every):
        for path, body, status in (
            ("/models/nobody", {"inputs": "a"}, 404),
            ("/models/tagger-en", {"inputs": 3}, 422),
            ("/models/tagger-en", b"{", 422),
            ("/pipeline/translation", {"inputs": 3}, 422),
            ("/", {"inputs": "a", "model": "nobody"}, 404),
        ):
            reply = every.ask(path, body)
            assert (reply.status, list(reply.json())) == (status, ["error", "error_type"])
        assert every.ask("/models/tagger-en", method="DELETE").status == 405

    def test_a_task_that_is_not_served(self, opened):
        with serving(opened, "sentiment-en") as client:
            with pytest.raises(HfHubHTTPError, match="no model of this server can read"):
                at(client).question_answering(**WHO)
            with pytest.raises(HfHubHTTPError, match="Not Found"):
                at(client, "/pipeline/translation").translation(GERMAN)

    @pytest.mark.parametrize(
        ("inputs", "said"),
        [
            ({"question": "a"}, "inputs.context: field required"),
            ({"source_sentence": "a"}, "inputs.sentences: field required"),
            ({}, "inputs.source_sentence: field required"),
            (3, "inputs: input should be a valid string"),
            ([], "inputs: input should be a valid string; inputs: list should have at least 1"),
            ([["a", "b", "c"]], "inputs.0: list should have at most 2 items"),
        ],
    )
    def test_only_the_form_that_was_meant_is_spoken_of(self, every, inputs, said):
        reply = every.ask("/", {"inputs": inputs})
        assert reply.status == 422
        assert reply.json()["error"].startswith(said)


def test_mutated_bodies_never_break_the_server(every):
    draw, statuses = random.Random(3), Counter()
    for _ in range(300):
        path, body = mutated(draw, SEEDS)
        reply = every.ask(path, body)
        statuses[reply.status] += 1
        assert reply.status < 500, (path, body, reply.body)
        json.loads(reply.body)
    assert statuses[200] > 50
    assert statuses[422] > 50
