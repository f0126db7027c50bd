"""`softquery train match FILE`: pairs of a spreadsheet, by a matcher whose weights stay."""

import json
import shutil

import numpy as np
import pytest
from running import softquery

import softquery as sq
from softquery.bundle import read_bundle
from softquery.bundle.opening import weights_to_bytes
from softquery.errors import BundleError, InputError
from softquery.running.spreadsheet.pair_sheet import best_way
from softquery.zoo import resolve

ALIKE = [
    ("How do I reset my password?", "I forgot my password, how can I reset it?"),
    ("How long does delivery take?", "When will my parcel be delivered?"),
    ("How can I cancel my order?", "I want to cancel an order."),
    ("Which cards do you accept?", "What credit cards can I pay with?"),
]
OTHER = ["Is the museum open on Monday?", "Who wrote this novel?", "What is the capital of Peru?"]
PAIRS = [
    (f"{first} ({number})", second, "same") for number in range(3) for first, second in ALIKE
] + [
    (f"{first} ({number})", second, "different")
    for number, second in enumerate(OTHER)
    for first, _ in ALIKE
]


def rows_of(pairs):
    return [dict(zip(("q1", "q2", "verdict"), each, strict=True)) for each in pairs]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("pairs")
    lines = [
        "No;Question 1;Question 2;Same?",
        *(f"{n};{a};{b};{c}" for n, (a, b, c) in enumerate(PAIRS)),
    ]
    (place / "pairs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    answer = softquery("train", "match", place / "pairs.csv", "--output", place / "mine")
    assert answer.code == 0, answer.err
    return place, answer


def test_what_was_found_is_said(made):
    _, answer = made
    assert "sentence1: “Question 1” (by its name)" in answer.err
    assert "label: “Same?” (by its name)" in answer.err
    assert (
        "matcher: match-en (most texts are in English); its weights stay as they are" in answer.err
    )
    assert "“same” is taken for 1: pairs that match-en finds alike" in answer.err


def test_the_model_answers_with_the_labels_of_the_file(made):
    place, _ = made
    answer = softquery(
        "match",
        "How can I cancel my order?",
        "I want to cancel an order.",
        "--model",
        place / "mine",
        "--json",
    )
    found = json.loads(answer.out)
    assert found["label"] == "same"
    assert set(found["probabilities"]) == {"same", "different"}
    bundle = read_bundle(place / "mine")
    assert bundle.config.task["labels"] == ["different", "same"]
    assert bundle.config.columns == {
        "sentence1": "Question 1", "sentence2": "Question 2", "label": "Same?",
    }  # fmt: skip
    measured = softquery("evaluate", place / "mine", "--data", place / "pairs.csv", "--json")
    assert json.loads(measured.out)["n"] == len(PAIRS)


def test_weights_stay_and_the_card_keeps_their_licence(made):
    place, _ = made
    mine, shipped = read_bundle(place / "mine"), read_bundle(resolve("match-en"))
    stored = mine.read_weights()
    assert all(np.array_equal(stored[name], each) for name, each in shipped.read_weights().items())
    assert "research" in mine.card.split("---")[1]
    assert "# mine" in mine.card
    assert "The weights of match-en lie here as they were" in mine.card
    assert "--model mine" in mine.card
    assert "--model match-en" not in mine.card


def test_the_report_compares_with_the_matcher_untouched(made):
    place, _ = made
    report = read_bundle(place / "mine").report
    assert [each["what"] for each in report["tried"]] == [
        "match-en as it is", "fitted to the rows",
        "match-en and the cosine of embed-en", "a head on match-en and embed-en",
    ]  # fmt: skip
    assert report["figures"]["n"] == len(PAIRS)
    assert "softquery match --pairs new.csv" in (place / "mine" / "report.html").read_text("utf-8")


def test_never_worse_than_untouched_on_the_rows_that_are_measured(tmp_path):
    """Labels drawn by chance teach nothing; whatever is kept, the run says so."""
    chance = np.random.default_rng(1)
    rows = rows_of((a, b, str(chance.integers(2))) for a, b, _ in PAIRS)
    told = []
    model = sq.train(rows, "match", output=tmp_path / "m", say=told.append)
    before, after, both, head = model.report["tried"]
    kept = {
        "match-en: as it is: a fit was no better": before,
        "match-en: probabilities fitted to the rows": after,
        "match-en: with the cosine of embed-en, fitted to the rows": both,
        "match-en: a head on match-en and embed-en, fitted to the rows": head,
    }[told[-3]]
    assert model.report["figures"]["accuracy"] == pytest.approx(kept["accuracy"])
    assert kept["accuracy"] >= before["accuracy"]


def test_few_rows_that_are_all_told_apart_do_not_make_it_certain(tmp_path):
    rows = [
        ("How do I pay?", f"How can I pay for {n}?", "yes")
        if n % 2
        else ("How do I pay?" + str(n), f"Is the weather nice on day {n}?", "no")
        for n in range(30)
    ]
    model = sq.train(rows_of((f"{a} {n}", b, c) for n, (a, b, c) in enumerate(rows)), "match",
                     output=tmp_path / "m")  # fmt: skip
    assert model.report["figures"]["accuracy"] == 1.0
    (chances,) = model.predict_proba([("How do I pay?", "How can I pay for it?")])
    assert 0.8 < chances.max() < 0.999


def test_rows_of_ones_own_are_measured(tmp_path):
    dev = rows_of(PAIRS[::3])
    model = sq.train(rows_of(PAIRS), "match", output=tmp_path / "m", dev=dev)
    assert model.report["figures"]["n"] == len(dev)
    assert model.report["held_out"] == f"{len(dev):,} given rows"


def test_inference_has_its_own_matcher(tmp_path):
    named = {"same": "entailment", "different": "neutral"}
    rows = rows_of((a, b, named[label]) for a, b, label in PAIRS)
    model = sq.train(rows, "match", output=tmp_path / "m")
    assert model.labels == sq.load("nli-en").labels


KINDS = ("untouched", "fitted", "both", "head")


def kept_of(right, losses, kinds=KINDS):
    """What is kept of ways that answer so many of the first rows rightly."""
    num_rows = max(right) if max(right) >= 60 else 59
    answers = [np.arange(num_rows) < each for each in right]
    tried = [{"loss": each} for each in losses]
    return kinds[best_way(kinds, tried, answers)]


def test_what_is_kept_by_few_rows_and_by_many():
    # Few: the matcher, unless another way is right more often beyond noise, and likelier.
    assert kept_of((40, 40, 40, 40), (0.5, 0.6, 0.4, 0.4)) == "untouched"
    assert kept_of((40, 40, 40, 40), (0.5, 0.4, 0.3, 0.3)) == "fitted"
    assert kept_of((40, 40, 45, 40), (0.5, 0.6, 0.4, 0.3)) == "untouched"
    assert kept_of((40, 40, 41, 45), (0.5, 0.6, 0.4, 0.3)) == "head"
    assert kept_of((40, 40, 41, 45), (0.5, 0.6, 0.7, 0.7)) == "untouched"
    # Many: both together, unless the matcher alone does as well, or a head is better beyond noise.
    assert kept_of((100, 100, 99, 99), (0.5, 0.5, 0.4, 0.4)) == "both"
    assert kept_of((100, 100, 99, 99), (0.3, 0.35, 0.4, 0.4)) == "untouched"
    assert kept_of((90, 90, 95, 100), (0.5, 0.5, 0.4, 0.3)) == "head"
    assert kept_of((95, 90), (0.4, 0.3), ("both", "head")) == "both"


TOPICS = {"pay": "card", "ship": "parcel", "cook": "soup"}


@pytest.fixture(scope="module")
def headed(tmp_path_factory):
    """A model of labels that no shipped matcher has: whether texts share their topic, and which."""
    texts = {topic: [f"how do I {topic} the {thing} {n}?" for n in range(6)]
             for topic, thing in TOPICS.items()}  # fmt: skip
    rows = [
        (texts[one][n], texts[other][(n + 1) % 6], "same topic" if one == other else "near" if
         {one, other} == {"pay", "ship"} else "far")
        for one in texts for other in texts for n in range(4)
    ]  # fmt: skip
    place = tmp_path_factory.mktemp("headed")
    return place, sq.train(rows_of(rows), "match", output=place / "mine"), rows


def test_labels_that_the_matcher_lacks_are_learnt_by_a_head(headed):
    place, model, rows = headed
    assert model.labels == ("far", "near", "same topic")
    assert model.report["figures"]["accuracy"] > 0.6 > 16 / 36  # of which the most frequent has 16
    assert [each["what"] for each in model.report["tried"]] == [
        "match-en and the cosine of embed-en", "a head on match-en and embed-en",
    ]  # fmt: skip
    bundle = read_bundle(place / "mine")
    assert (bundle.config.model["name"], bundle.config.base) == ("pair-head", "embed-en")
    assert "vectors of embed-en" in bundle.card
    stored, shipped = bundle.read_weights(), read_bundle(resolve("match-en")).read_weights()
    assert all(np.array_equal(stored[name], each) for name, each in shipped.items())
    predicted = model.predict([(a, b) for a, b, _ in rows])
    assert np.mean([each.label == row[2] for each, row in zip(predicted, rows, strict=True)]) > 0.7


def test_a_head_answers_alike_by_whatever_call(headed):
    place, model, rows = headed
    pairs = [(first, second) for first, second, _ in rows[:5]]
    at_once = model.probabilities(pairs)
    firsts, seconds = (model.encodings([pair[side] for pair in pairs]) for side in (0, 1))
    assert np.allclose(model.compare(firsts, seconds), at_once, atol=1e-5)
    hits = model.rank(pairs[0][0], [second for _, second in pairs], label="far")
    scores = model.probabilities([(pairs[0][0], second) for _, second in pairs])[:, 0]
    assert np.allclose([hit["score"] for hit in hits], np.sort(scores)[::-1], atol=1e-5)
    found = model.explain(*pairs[0])
    assert found.reasons.probability == pytest.approx(found.score, abs=1e-5)
    assert found.first_to_second.shape == (len(found.first_tokens), len(found.second_tokens))
    assert found.reasons.words[0][:2] == ("how", "do")
    assert any(np.abs(each).max() > 1e-4 for each in found.reasons.changes)
    model.probabilities([("", "a"), ("what?", "")])  # texts without words have an answer, too


def test_a_head_ranks_the_hits_of_an_index(made, tmp_path):
    place, _ = made
    questions = [second for _, second in ALIKE] + OTHER
    index = sq.Index.build(
        [{"question": each} for each in questions], tmp_path / "i.sq", model=place / "mine"
    )
    assert index.manifest.settings.encodings == "none"
    (first, *_) = index.search("How can I cancel my order?", min_score=0.0)
    assert first["question"] == "I want to cancel an order."


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda config: config["model"]["config"].pop("matcher"), "matcher must have a name"),
        (lambda config: config.update(base=None, base_fingerprint=None), "names its sentence"),
        (lambda config: config.update(base_fingerprint="0" * 32), "had other weights"),
        (lambda config: config["task"]["labels"].pop(), "task needs 2"),
    ],
    ids=["no matcher", "no base", "another base", "fewer labels"],
)
def test_a_head_that_does_not_fit_is_refused(headed, tmp_path, change, said):
    place, _, _ = headed
    shutil.copytree(place / "mine", tmp_path / "bad")
    config = json.loads((tmp_path / "bad" / "config.json").read_text("utf-8"))
    change(config)
    (tmp_path / "bad" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(BundleError, match=said):
        sq.load(tmp_path / "bad")


def test_weights_of_a_head_that_do_not_fit_are_refused(headed, tmp_path):
    place, _, _ = headed
    shutil.copytree(place / "mine", tmp_path / "bad")
    bundle = read_bundle(tmp_path / "bad")
    weights = {**bundle.read_weights(), "pair_head.vectors": np.ones((2, 3), np.float32)}
    bundle.weights_path.write_bytes(weights_to_bytes(weights))
    with pytest.raises(BundleError, match=r"pair_head.vectors has the shape \[2, 3\]"):
        sq.load(tmp_path / "bad")


RUSSIAN = [("Где мой заказ?", f"Когда он придёт? {n}", "ab"[n % 2]) for n in range(20)]
ONE_GROUP = [("Where is it?", f"What is it? {n}", "ab"[n > 17]) for n in range(20)]


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (RUSSIAN, "name a matcher with --init"),
        (ONE_GROUP, "too few different pairs"),
        (PAIRS[:2] + PAIRS[-2:], "expected at least 8"),
    ],
    ids=["Russian", "one group", "few"],
)
def test_pairs_that_no_matcher_here_can_learn_from(pairs, said, tmp_path):
    with pytest.raises(InputError, match=said):
        sq.train(rows_of(pairs), "match", output=tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_neither_task_nor_recipe_is_refused_as_such(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("text,label\na,b\n", encoding="utf-8")
    answer = softquery("train", "tags", "a.csv")
    assert answer.code == 2
    assert "unknown recipe 'tags'" in answer.err
