"""Models of other kinds: what they say in process is what the server says."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from running import softquery
from serving import in_thread

from softquery.answers import generated_record
from softquery.decoding import Beam
from softquery.errors import BundleError, InputError
from softquery.runtime import GenerateRequest, load_generator, load_reader
from softquery.serve import Settings
from softquery.serve.catalogue import Catalogue, open_index, open_model, served_model
from softquery.serve.handlers import GenerateHandler, GenerationRequest
from softquery.text.couplets import tone_of


@dataclass(frozen=True)
class Said:
    """An answer of a kind of model that the runtime may not have yet."""

    text: str
    score: float

    @property
    def probabilities(self) -> dict[str, float]:
        return {"good": self.score, "bad": 1 - self.score}

    def record(self, *asked: str) -> dict[str, Any]:
        return {"asked": list(asked), "said": self.text, "score": self.score}


class Model:
    """Answers in capitals, and refuses what is not a letter."""

    def __init__(self, kind: str) -> None:
        config = SimpleNamespace(
            kind=kind, model={"name": kind}, task={"name": "classify"}, text={"unit": "characters"}
        )
        self.bundle = SimpleNamespace(config=config, path=Path("models") / kind, metrics={})

    def predict(self, texts: list[Any]) -> list[Said]:
        for text in texts:
            if "!" in str(text):
                raise InputError("the rules leave no text", source="the texts", row=1)
        return [Said(str(text).upper(), 0.75) for text in texts]


@pytest.fixture(scope="module")
def kinds(catalogue):
    models = [served_model("classifier", Model("classifier"))]
    models += [open_model(name, name) for name in ("read-en", "translate-de-en", "couplet-zh")]
    with in_thread(Settings(models=("x",)), Catalogue([*catalogue.models, *models])) as client:
        yield client


def test_classify(kinds):
    found = kinds.ask("/v1/classify", {"texts": ["fine", ""]}).json()
    assert found == {
        "model": "classifier",
        "answers": [
            {"asked": ["fine"], "said": "FINE", "score": 0.75},
            {"asked": [""], "said": "", "score": 0.75},
        ],
    }


def test_predict_takes_texts_and_pairs_where_there_are_models_for_both(kinds):
    labels = [{"label": "good", "score": 0.75}, {"label": "bad", "score": 0.25}]
    assert kinds.ask("/predict", {"inputs": "fine"}).json() == labels
    assert kinds.ask("/predict", {"inputs": ["fine"]}).json() == labels
    assert kinds.ask("/predict", {"inputs": [["fine"], ["bad"]]}).json() == [labels, labels]
    pair = kinds.ask("/predict", {"inputs": ["a dog", "a dog"]}).json()
    assert [each["label"] for each in pair] == ["1", "0"]


def test_predict_without_a_matcher():
    alone = Catalogue([served_model("classifier", Model("classifier"))])
    with in_thread(Settings(models=("x",)), alone) as client:
        assert client.ask("/predict", {"inputs": "fine"}).json()[0]["label"] == "good"
        assert client.ask("/predict", {"inputs": ["a", "b"]}).status == 422
        assert client.ask("/rerank", {"query": "a", "texts": ["b"]}).status == 424
        assert client.ask("/info").json()["model_id"] == "classifier"


def test_read(kinds):
    """Also from a context of several windows, from none, and from one that two questions share."""
    long = " ".join(["Nobody else was there."] * 150 + ["Ada Lovelace slept in London."])
    pairs = [
        ("Who slept?", "Ada slept, and Grace did not."),
        ("Who slept?", " "),
        ("Who slept in London?", long),
        ("Where did Ada sleep?", long),
    ]
    asked = [{"question": question, "context": context} for question, context in pairs]
    found = kinds.ask("/v1/read", {"questions": asked}).json()
    answers = load_reader("read-en", threads=1).predict(pairs)
    expected = [answer.record(*pair) for answer, pair in zip(answers, pairs, strict=True)]
    assert found["model"] == "read-en"
    assert [each.pop("score") for each in found["answers"]] == pytest.approx(
        [each.pop("score") for each in expected], abs=1e-5
    )
    assert found["answers"] == expected


def test_generate(kinds):
    generator = load_generator("translate-de-en", threads=1)
    texts = ["Ein Hund läuft.", "Wo ist der Bahnhof?"]
    found = kinds.ask("/v1/generate", {"texts": texts}).json()
    expected = [
        generated_record(*each) for each in zip(texts, generator.generate(texts), strict=True)
    ]
    assert found == {"model": "translate-de-en", "answers": expected}
    printed = softquery("generate", *texts, "--model", "translate-de-en", "--threads", 1, "--json")
    assert json.loads(printed.out) == expected


def test_generate_keeps_to_what_is_asked(kinds):
    asked = {"texts": ["一帆风顺年年好", "山高月小"], "model": "couplet-zh", "n_best": 3,
             "rules": ["form", "repeats", "tones"], "prefix": "万", "ban": ["象"]}  # fmt: skip
    answers = kinds.ask("/v1/generate", asked).json()["answers"]
    assert [each["source"] for each in answers] == asked["texts"]
    for each in answers:
        lines = [candidate["text"] for candidate in each["candidates"]]
        assert len(set(lines)) == 3
        assert each["text"] == lines[0]
        assert {len(line) for line in lines} == {len(each["source"])}
        assert all(line[0] == "万" and "象" not in line for line in lines)
        ends = {tone_of(line[-1]) for line in lines}
        assert ends == {"oblique" if tone_of(each["source"][-1]) == "level" else "level"}


def test_candidates_by_both_ways(kinds):
    how = GenerateRequest(strategy=Beam(size=8, num_best=2), rank="both_ways")
    lines = ["山高月小", "国泰民安"]
    expected = load_generator("couplet-zh", threads=1).generate(lines, how)
    asked = {"texts": lines, "model": "couplet-zh", "n_best": 2, "beam": 8, "rank": "both_ways"}
    found = kinds.ask("/v1/generate", asked).json()["answers"]
    assert found == [generated_record(*each) for each in zip(lines, expected, strict=True)]
    assert kinds.ask("/v1/generate", {"texts": ["Ja."], "rank": "both_ways"}).status == 400


@pytest.mark.parametrize(("banned", "required", "times"), [(0, 0, 1), (1000, 0, 5), (99, 20, 3)])
def test_words_to_look_out_for_cost_more(banned, required, times):
    how = GenerateRequest(ban=("a",) * banned, require=("b",) * required)
    plain, rich = (
        next(GenerateHandler("poet", None).split(GenerationRequest(["春风又绿"], each))).costs
        for each in (GenerateRequest(), how)
    )
    assert list(rich) == [times * plain[0]]


@pytest.mark.parametrize(
    ("beam", "rank", "cost"), [(1, "likelihood", 2), (5, "likelihood", 10), (5, "both_ways", 20)]
)
def test_a_wider_search_costs_more(beam, rank, cost):
    how = GenerateRequest(strategy=Beam(size=beam), rank=rank)
    (split,) = GenerateHandler("poet", None).split(GenerationRequest(["春风又绿", "山"], how))
    assert list(split.costs) == [cost, cost // 2]
    assert split.num_tokens == 3


def test_what_a_model_refuses_is_the_clients_fault_and_nobody_elses(kinds):
    reply = kinds.ask("/v1/generate", {"texts": ["春风"], "model": "couplet-zh", "prefix": "春"})
    assert reply.status == 400
    assert reply.json()["error"]["message"] == "the prefix '春' breaks the rules at its token '春'"
    long = kinds.ask("/v1/generate", {"texts": ["春风"], "ban": ["a" * 100_000]})
    assert long.json()["error"]["message"] == "a text is longer than 20,000 characters"


def test_a_kind_that_cannot_be_served_is_named():
    with pytest.raises(
        BundleError,
        match=r"models/clock: a bundle of kind 'clock' cannot be served \(known: matcher, ",
    ):
        served_model("x", Model("clock"))


def test_an_encoder_and_word_vectors_give_vectors_of_texts(tmp_path):
    """Bundles that only embed: what an index recalls by is what clients get."""
    pytest.importorskip("torch")
    from bert_cases import write_bert
    from softquery.files import VectorTable, write_vectors
    from softquery.runtime import load_matcher
    from softquery.runtime.vectors.convert import import_vectors
    from softquery.runtime.vectors.text_vectors import open_vectors

    words = VectorTable(["the", "cat", "sat"], np.eye(3, dtype=np.float32))
    write_vectors(tmp_path / "words.txt", words, form="glove")
    sources = {"bert": write_bert(tmp_path / "bert"),
               "words": import_vectors(tmp_path / "words.txt", tmp_path / "words")}  # fmt: skip
    served = Catalogue([open_model(name, str(folder)) for name, folder in sources.items()])
    texts, matcher = ["the cat sat", "cat", ""], load_matcher("match-en", threads=1)
    with in_thread(Settings(models=("x",)), served) as client:
        for name, folder in sources.items():
            expected = open_vectors(str(folder), matcher, threads=1).of(texts, [])
            found = client.ask("/v1/embeddings", {"input": texts, "model": name}).json()
            vectors = [each["embedding"] for each in found["data"]]
            np.testing.assert_allclose(vectors, expected, atol=1e-6)
            assert found["usage"]["prompt_tokens"] > 0
            asked = {"inputs": ["cat", "cat cat"], "model": name, "normalize": False}
            once, twice = client.ask("/embed", asked).json()
            assert name == "bert" or once == pytest.approx(twice)  # a mean, not a sum
            plain = client.ask("/embed", {"inputs": texts, "model": name}).json()
            np.testing.assert_allclose(plain, expected, atol=1e-6)
        described = client.ask("/info").json()["models"]
    assert [each["vector_size"] for each in described] == [8, 3]
    assert [each["kind"] for each in described] == ["encoder", "vectors"]
    assert described[0]["max_tokens"] == 16


def test_an_encoder_fills_masks(tmp_path):
    pytest.importorskip("torch")
    from bert_cases import BertCase, write_bert
    from softquery.answers import filled_record
    from softquery.runtime import open_filler

    folder = write_bert(tmp_path / "bert", BertCase().build(std=0.3))
    bare = write_bert(tmp_path / "bare", BertCase(settings={"heads": "none"}).build())
    served = Catalogue([open_model(each.name, str(each)) for each in (bare, folder)])
    filler, texts = open_filler(folder, threads=1), ["the [MASK] sat", "[MASK] [MASK]"]
    with in_thread(Settings(models=("x",)), served) as client:
        assert [each["can"] for each in client.ask("/info").json()["models"]] == [
            ["embed"], ["embed", "fill"],
        ]  # fmt: skip
        found = client.ask("/v1/fill", {"texts": texts, "top_k": 2}).json()
        assert found["model"] == "bert"
        for text, answer in zip(texts, found["answers"], strict=True):
            assert answer == filled_record(text, filler.fill(text, top_k=2))
        words = ["cat", "cxy"]
        found = client.ask("/v1/fill", {"texts": texts, "candidates": words}).json()
        expected = filler.fill(texts[0], candidates=words)
        assert found["answers"][0] == filled_record(texts[0], expected)
        refused = {
            "texts, row 2: no mask in it; write [MASK] where a word is asked for": {
                "texts": ["[MASK]", "a"]
            },
            "the candidate 'Ω' cannot be spelt with the pieces of this model": {
                "texts": ["[MASK]"], "candidates": ["Ω"],
            },
            "a text is longer than 20,000 characters": {"texts": ["[MASK]" * 5000]},
            "no model of that name can fill (known: bert)": {"texts": ["a"], "model": "bare"},
        }  # fmt: skip
        for said, body in refused.items():
            reply = client.ask("/v1/fill", body)
            assert reply.json()["error"]["message"] == said
        blank = client.ask("/v1/fill", {"texts": ["[MASK]"], "candidates": [" "]})
        assert blank.status == 400
        many = client.ask("/v1/fill", {"texts": ["[MASK]"], "candidates": ["a"] * 1001})
        assert many.status == 400


def test_addresses_are_those_of_the_kinds_at_hand(client, kinds):
    both = [set(each.ask("/openapi.json").json()["paths"]) for each in (client, kinds)]
    tasks = ("text-classification", "question-answering",
             "translation", "summarization", "text-generation")  # fmt: skip
    assert both[1] - both[0] == {
        "/v1/classify", "/v1/read", "/v1/generate", *(f"/pipeline/{task}" for task in tasks)
    }  # fmt: skip


def test_a_folder_without_an_index_is_refused(tmp_path):
    with pytest.raises(InputError, match="none: no such index"):
        open_index("none", str(tmp_path / "none"), matchers=[])


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    """A real one with random weights, on torch."""
    torch = pytest.importorskip("torch", reason="taggers run on torch")
    from registered import registered
    from softquery.answers import TagSet
    from softquery.bundle import BundleConfig, write_bundle
    from softquery.models import SpellingConfig
    from softquery.runtime.torch_models import config_of
    from softquery.tasks import Tagging
    from softquery.text import TextConfig, pipeline_from_words

    pipeline = pipeline_from_words(["the", "cat", "sat"], TextConfig())
    task = Tagging(tags=TagSet(labels=("O", "B-X", "I-X"), scheme="iob2", written="iob2"))
    config, model_class = registered("tagger")["tagger"]
    torch.manual_seed(1)
    model = model_class(
        config(
            vocab_size=pipeline.vocab_size, output_size=task.output_size, embedding_size=5,
            spelling=SpellingConfig(size=4, output_size=6), hidden_sizes=(5, 4),
        )
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("tagger") / "tiny-tagger"
    write_bundle(
        folder,
        config=BundleConfig(
            kind="tagger", model={"name": "tagger", "config": config_of(model)},
            task=task.to_dict(), text=pipeline.config.to_dict(), library_version="0.1.0",
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={name: value.numpy() for name, value in model.state_dict().items()},
        metrics={"n": 0},
        card="# a tagger\n",
    )  # fmt: skip
    return folder


def test_tag(tagger):
    import softquery

    model = softquery.load(tagger)
    with in_thread(Settings(models=(str(tagger),))) as client:
        limit = model.pipeline.config.max_tokens
        texts = ["The cat sat.", ["a", "cat"], "", "The cat sat. " * limit, ["cat"] * (limit + 1)]
        found = client.ask("/v1/tag", {"texts": texts}).json()
        assert found["model"] == "tiny-tagger"
        assert found["answers"] == [answer.record() for answer in model.predict(texts)]
        assert client.ask("/v1/tag", {"texts": [[]]}).status == 400
