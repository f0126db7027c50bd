"""The shipped models, of both packages: complete, small, carded, and answering as they promise."""

import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import softquery as run_softquery

import softquery
from softquery.bundle import read_bundle
from softquery.bundle.layer_weights import learnt_layers, with_layers
from softquery.zoo import IN_MODELS_PACKAGE, packaged, shipped

LARGEST_MB = {
    "bert-mini-en": 5.5,
    "couplet-zh": 3.5,
    "elmo-en": 8.5,
    "embed-en": 9.0,
    "embed-zh": 9.0,
    "match-en": 8.5,
    "match-zh": 5.5,
    "ner-en": 6.0,
    "ner-zh": 11.0,
    "nli-en": 7.5,
    "read-en": 2.0,
    "sentiment-en": 1.5,
    "sentiment-zh": 11.0,
    "tagger-en": 4.0,
    "topic-zh": 11.0,
    "translate-de-en": 3.0,
}
"""All that is shipped, and how large it may be; what else is asked of it is in `PROMISES`."""
NAMES = ("match-en", "match-zh", "nli-en")
"""The matchers."""
ASKED = {
    "match-en": [
        (
            "How can I learn to play the guitar?",
            "What is the best way to start playing guitar?",
            "1",
        ),
        ("Where can I buy cheap flights to Paris?", "How tall is the Eiffel tower?", "0"),
    ],
    "match-zh": [
        ("花呗怎么提额", "如何提高花呗额度", "1"),
        ("花呗怎么提额", "今天天气怎么样", "0"),
    ],
    "nli-en": [
        ("Two dogs are running through a field.", "Some animals are outdoors.", "entailment"),
        ("Two dogs are running through a field.", "The dogs are asleep.", "contradiction"),
    ],
}


def nearest(encoder: Any, query: str, rows: list[str]) -> int:
    """The number of the row that an encoder puts first."""
    return int(encoder.rank(query, rows, top_k=1)[0]["corpus_id"])


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What a model that matches no pairs must do, once it is among `LARGEST_MB`."""

    kind: str
    answers: Callable[[Any], object]
    """Asks it something plain."""
    right: object
    figures: Mapping[str, float] = field(default_factory=dict)
    """The least it was to reach on its first set of dev, by measure."""


PROMISES = {
    "bert-mini-en": Promise(
        kind="encoder",
        answers=lambda model: model.embed(["A man plays the guitar."])[0].shape[-1],
        right=256,
    ),
    "couplet-zh": Promise(
        kind="generator",
        answers=lambda model: len(model.predict(["春风又绿江南岸"])[0].text),
        right=7,
        figures={
            "same_length": 1.0,
            "same_signs": 1.0,
            "repeats_rightly": 0.99,
            "ranked_first": 0.9,
        },
    ),
    "embed-en": Promise(
        kind="sentence-encoder",
        answers=lambda model: nearest(
            model,
            "I forgot my password",
            ["How do I change my address?", "How can I reset my password?", "Do you ship abroad?"],
        ),
        right=1,
    ),
    "embed-zh": Promise(
        kind="sentence-encoder",
        answers=lambda model: nearest(
            model, "密码忘了", ["怎么修改收货地址", "如何重置登录密码", "可以寄到国外吗"]
        ),
        right=1,
    ),
    "ner-en": Promise(
        kind="tagger",
        answers=lambda model: model.predict(["Ada Lovelace lived in London."])[0].spans,
        right=(("PER", 0, 2), ("LOC", 4, 5)),
        figures={"f1": 0.92},
    ),
    "ner-zh": Promise(
        kind="tagger",
        answers=lambda model: [
            span["text"]
            for span in model.predict(["马云在杭州创立了阿里巴巴集团。"])[0].record()["spans"]
        ],
        right=["马云", "杭州", "阿里巴巴集团"],
        figures={"f1": 0.9},
    ),
    "read-en": Promise(
        kind="reader",
        answers=lambda model: (
            model.predict([("When was the tower built?", "The tower was built in 1889.")])[0].text
        ),
        right="1889",
        figures={"f1": 0.65},
    ),
    "sentiment-en": Promise(
        kind="classifier",
        answers=lambda model: [
            answer.label
            for answer in model.predict(["A warm, funny, moving film.", "A dull, lifeless mess."])
        ],
        right=["positive", "negative"],
        figures={"accuracy": 0.84},
    ),
    "sentiment-zh": Promise(
        kind="classifier",
        answers=lambda model: [
            answer.label
            for answer in model.predict(["房间很干净，下次还来。", "服务态度太差了，再也不来了。"])
        ],
        right=["positive", "negative"],
        figures={"accuracy": 0.88},
    ),
    "tagger-en": Promise(
        kind="tagger",
        answers=lambda model: model.predict(["They can fish."])[0].tags,
        right=("PRON", "AUX", "VERB", "PUNCT"),
    ),
    "topic-zh": Promise(
        kind="classifier",
        answers=lambda model: [
            answer.label for answer in model.predict(["国足主场战平对手", "苹果发布新款手机"])
        ],
        right=["sports", "tech"],
        figures={"accuracy": 0.52},
    ),
    "translate-de-en": Promise(
        kind="generator",
        answers=lambda model: model.predict(["Ein Hund läuft."])[0].text,
        right="A dog runs.",
        figures={"bleu": 45.0},
    ),
}
KEPT = [name for name in PROMISES if name in LARGEST_MB]


def test_these_are_shipped():
    apart = [entry for entry in packaged() if entry.package.startswith("softquery-models ")]
    assert [entry.name for entry in shipped()] == sorted(set(LARGEST_MB) - set(IN_MODELS_PACKAGE))
    assert [entry.name for entry in apart] == sorted(IN_MODELS_PACKAGE)
    entries = [*shipped(), *apart]
    assert {entry.name for entry in entries} == set(LARGEST_MB)
    assert [entry.problem for entry in entries] == [None] * len(entries)
    sizes = {entry.name: entry.size_bytes / 1e6 for entry in entries}
    assert {name: size for name, size in sizes.items() if size >= LARGEST_MB[name]} == {}
    assert set(LARGEST_MB) == {"elmo-en", *NAMES, *KEPT}  # nothing comes without a promise


@pytest.mark.parametrize("name", KEPT)
def test_promises_are_kept(name):
    promise, model = PROMISES[name], softquery.load(name)
    bundle = read_bundle(model.bundle.path)
    assert bundle.config.kind == promise.kind
    assert promise.answers(model) == promise.right
    measured = next(iter(bundle.metrics["sets"].values())) if promise.figures else {}
    assert {name for name, least in promise.figures.items() if measured[name] < least} == set()
    assert bundle.metrics["export"]["precision"] == "int8"
    assert bundle.metrics["export"]["gate"]["accepted"]
    for title in ("Data", "Training", "Numbers", "Limits", "Licence"):
        assert f"\n## {title}\n" in bundle.card
    assert not list(bundle.path.rglob("tensorboard"))


@pytest.mark.parametrize("name", NAMES)
def test_they_answer(name):
    matcher = softquery.load(name)
    for first, second, label in ASKED[name]:
        [answer] = matcher.predict([(first, second)])
        assert answer.label == label
        assert sum(answer.probabilities.values()) == pytest.approx(1)


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_answers_with_the_contracts_keys(name):
    first, second, label = ASKED[name][0]
    told = json.loads(run_softquery("match", first, second, "--model", name, "--json").out)
    assert list(told) == ["sentence1", "sentence2", "label", "score", "probabilities"]
    assert (told["sentence1"], told["sentence2"], told["label"]) == (first, second, label)


@pytest.mark.parametrize("name", NAMES)
def test_the_measured_figures_are_those_that_were_promised(name):
    metrics = read_bundle(softquery.load(name).bundle.path).metrics
    assert metrics["export"]["precision"] == "int8"
    assert metrics["export"]["gate"]["lost_points"] <= 0.5
    assert metrics["calibration"]["ece_after"] <= 0.02
    assert len(metrics["seeds"]["runs"]) == 3
    sources = metrics["sources"]
    least = {
        "nli-en": {"snli_100k": 0.835},
        "match-en": {"qqp_20k": 0.78},
        "match-zh": {"lcqmc": 0.82, "bq": 0.80},
    }[name]
    for source, bar in least.items():
        assert sources[source]["shipped"]["accuracy"] >= bar
        assert sources[source]["second_half"]["accuracy"] >= bar
        assert sources[source]["seeds"]["mean"] >= bar


@pytest.mark.parametrize("name", NAMES)
def test_the_card_tells_data_licence_numbers_and_limits(name):
    card = softquery.load(name).bundle.card
    for title in ("Data", "Training", "Numbers", "Calibration", "Limits", "Licence"):
        assert f"\n## {title}\n" in card
    assert ("research-only" in card) == (name != "nli-en")
    for kind in ("Negation", "Antonyms", "Numbers, units", "Long texts"):
        assert kind in card


@pytest.mark.parametrize("name", NAMES)
def test_company_and_length_change_nothing(name):
    draw = random.Random(1)
    texts = [text for *pair, _ in ASKED[name] for text in pair]
    space = "" if name.endswith("zh") else " "
    pairs = [
        (
            space.join(draw.choices(texts, k=draw.choice([1, 1, 1, 2, 9]))),
            space.join(draw.choices(texts, k=draw.choice([1, 1, 1, 3, 20]))),
        )
        for _ in range(120)
    ]
    together = softquery.load(name).probabilities(pairs)
    matcher = softquery.load(name, threads=1)
    alone = np.concatenate([matcher.probabilities([pair]) for pair in pairs])
    assert np.abs(together - alone).max() < 0.02
    assert (together.argmax(axis=1) == alone.argmax(axis=1)).mean() >= 0.997


@pytest.mark.parametrize("name", ["match-en", "match-zh"])
def test_order_hardly_matters_to_a_matcher(name):
    matcher = softquery.load(name)
    for first, second, _ in ASKED[name]:
        one, other = matcher.predict([(first, second), (second, first)])
        assert one.label == other.label
        assert one.score == pytest.approx(other.score, abs=0.1)


def test_torch_answers_alike_from_the_same_weights():
    pytest.importorskip("torch")
    pairs = [(first, second) for first, second, _ in ASKED["nli-en"]]
    on_torch, on_onnx = (softquery.load("nli-en", backend=name) for name in ("torch", "onnx"))
    difference = np.abs(on_torch.probabilities(pairs) - on_onnx.probabilities(pairs))
    assert difference.max() < 0.05


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("embed-en", {"stsb_en": ("spearman", 0.84), "qqp_20k": ("accuracy", 0.74)}),
        ("embed-zh", {"lcqmc": ("auc", 0.841), "bq": ("auc", 0.765), "afqmc": ("auc", 0.619),
                      "chinese_stsb": ("spearman", 0.755)}),
    ],
)  # fmt: skip
def test_sentence_encoders_are_measured_whole_and_cut(name, least):
    """Above SimBERT-tiny in Chinese; the first 128 numbers lose at most a point."""
    encoder = softquery.load(name)
    quality = encoder.bundle.metrics["quality"]
    whole, cut = (quality[str(width)]["pairs"] for width in (encoder.output_size, 128))
    for source, (metric, bar) in least.items():
        assert whole[source][metric] >= bar
    lost = [whole[source][metric] - cut[source][metric] for source, (metric, _) in least.items()]
    assert sum(lost) / len(lost) <= 0.01
    assert 128 in encoder.prefixes
    assert "research-only" not in encoder.bundle.card


def test_elmo_en_tells_banks_apart():
    """Two banks of rivers are nearer to each other than to one that lends."""
    texts = [
        "They walked along the bank of the river.",
        "The boat lay on the muddy bank of the stream.",
        "The bank lent the company three million dollars.",
        "Customers of the bank can open a savings account.",
    ]
    embedder = softquery.load("elmo-en")
    vectors = {0: [], 2: []}
    for words, layers in zip(embedder.tokens(texts), embedder.embed(texts), strict=True):
        assert layers.shape == (3, len(words), 384)
        for layer, found in vectors.items():
            vector = layers[layer, words.index("bank")]
            found.append(vector / np.linalg.norm(vector))
    alone, known = (np.array(vectors[layer]) @ np.array(vectors[layer]).T for layer in (0, 2))
    assert alone.min() == pytest.approx(1, abs=1e-5)
    assert min(known[0, 1], known[2, 3]) > max(known[:2, 2:].flatten())


def test_elmo_en_says_how_well_it_predicts():
    metrics = softquery.load("elmo-en").bundle.metrics
    for way in ("forwards", "backwards"):
        assert metrics["dev"][f"perplexity_{way}"] <= 0.75 * 168.8
    assert metrics["export"]["gate"]["lost_points"] <= 0.5
    assert "Kneser–Ney" in softquery.load("elmo-en").bundle.card


def test_elmo_en_is_the_same_on_torch():
    pytest.importorskip("torch")
    text = ["A man plays the guitar."]
    one, other = (softquery.load("elmo-en", backend=name).embed(text)[0] for name in
                  ("torch", "onnx"))  # fmt: skip
    np.testing.assert_allclose(one, other, atol=1e-4)


def test_tagger_en_reads_the_words_around():
    """`can` and `fish` are verbs in one sentence and nouns in the other."""
    tagger = softquery.load("tagger-en")
    told = tagger.predict(["They can fish.", "Open the can of fish."])
    assert [answer.tags for answer in told] == [
        ("PRON", "AUX", "VERB", "PUNCT"),
        ("VERB", "DET", "NOUN", "ADP", "NOUN", "PUNCT"),
    ]


def test_tagger_en_stands_on_elmo_en():
    bundle = read_bundle(softquery.load("tagger-en").bundle.path)
    assert bundle.config.base == "elmo-en"
    assert bundle.metrics["export"]["gate"]["lost_points"] <= 0.2
    assert softquery.load("tagger-en").bundle.card.count("0.96") >= 2


ROOT = Path(__file__).resolve().parents[2]
SEEDS = {"one": 1, "two": 2, "three": 3}
SEED_FIGURES = ("shipped", "mean", "min", "max", "spread")


def test_the_page_says_how_many_seeds_each_was_trained_with():
    if not (page := ROOT / "docs/shipped-models.md").is_file():
        pytest.skip("the documentation is not here")
    (told,) = re.findall(r"Seeds: (.*?);", page.read_text("utf-8"), re.DOTALL)
    groups = re.findall(r"((?:`[a-z-]+`[, and\n]*)+)[\w\s]*? with (one|two|three)", told)
    said = {name: SEEDS[count] for names, count in groups for name in re.findall("`(.+?)`", names)}
    assert said.keys() == {entry.name for entry in (*shipped(), *packaged())}
    for name, count in said.items():
        bundle = softquery.load(name).bundle
        found = bundle.metrics.get("seeds", {})
        runs = found.get("runs", [key for key in found if key not in SEED_FIGURES])
        tried = re.search(r"seeds tried \| (\d)", bundle.card)
        assert count == (int(tried[1]) if tried else len(runs) or 1), name


@pytest.mark.parametrize("name", ["sentiment-en", "tagger-en"])
def test_the_card_says_what_is_read_of_each_layer(name):
    bundle = softquery.load(name).bundle
    [mix] = learnt_layers(bundle)
    assert len(mix.shares) == 3
    assert with_layers(bundle.card, [mix]) == bundle.card


def test_the_tagger_reads_most_of_the_layer_that_knows_syntax():
    [mix] = learnt_layers(softquery.load("tagger-en").bundle)
    assert max(mix.shares) == mix.shares[1] > 0.6


def test_softquery_tag_works_out_of_the_box():
    told = run_softquery("tag", "Ada Lovelace lived in London.").out
    words = "Ada/PROPN Lovelace/PROPN lived/VERB in/ADP London/PROPN ./PUNCT"
    assert told.split() == words.split()
