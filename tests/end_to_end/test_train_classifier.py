"""`softquery train attention-bilstm` and its kin: from the command line to answers and reasons."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from reading import assert_equal, config, metrics, weights
from running import DIES_AFTER_A_PART, DIES_AFTER_AN_EPOCH, finish, softquery, start_warm
from tiny_texts import relations, reviews, settings, write_lines, write_texts

import softquery as sq
from small_elmo import write_elmo
from softquery.bundle import read_bundle

LEARNT = {"training__max_epochs": 10, "optim__lr": 0.02, "training__patience": 10,
          "training__average_decay": 0}  # fmt: skip
ATTENTIVE = {"model__embedding_dropout": 0.1, "model__state_dropout": 0.1}
HIERARCHICAL = {"model__context_size": 8, "vocabulary__min_count": 1, "text__max_tokens": 12}
BLOCKED = """
import sys
class Refusal:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("torch", "jaxtyping", "lightning_fabric", "onnx"):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Refusal())
from softquery.cli import main
main()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifier")
    write_texts(folder / "data", reviews(300))
    write_texts(folder / "relation-data", relations(240))
    write_elmo(folder / "bilm")
    return folder


def train(recipe, place, output, *words, data="data", **changes):
    return softquery("train", recipe, "--data", place / data, "--output", place / output,
                     *settings(**changes), *words)  # fmt: skip


@pytest.fixture(scope="module")
def attentive(place):
    answer = train("attention-bilstm", place, "attentive", "--json", **LEARNT, **ATTENTIVE)
    assert answer.code == 0, answer.err
    return place / "attentive", answer


@pytest.fixture(scope="module")
def hierarchical(place):
    answer = train("hierarchical-attention", place, "hierarchical", "--json", **LEARNT,
                   **HIERARCHICAL)  # fmt: skip
    assert answer.code == 0, answer.err
    exported = softquery("export", place / "hierarchical", "--output", place / "hierarchical-onnx")
    assert exported.code == 0, exported.err
    return place / "hierarchical", answer


def test_sentiment_is_learnt(attentive, hierarchical):
    for folder, answer in (attentive, hierarchical):
        assert "classes: 2 (negative, positive)" in answer.err
        found = json.loads(answer.out)
        assert found["dev"]["accuracy"] > 0.9
        assert found["dev"]["n"] == 40
        assert read_bundle(folder).config.kind == "classifier"
        assert config(folder)["task"] == {"name": "classify", "labels": ["negative", "positive"],
                                          "metric": "accuracy"}  # fmt: skip


def test_the_word_that_tells_has_the_weight(attentive, hierarchical):
    text = "The cook eats at home. It is a clumsy film! We saw it twice."
    for folder, _ in (attentive, hierarchical):
        shown = sq.load(folder).explain(text)
        assert shown.label == "negative"
        assert "clumsy" in [heavy.word for heavy in shown.heaviest(4)]
    assert shown.sentence_weights.argmax() == 1


def test_the_verb_prints_and_explains(hierarchical, tmp_path):
    folder = f"{hierarchical[0]}-onnx"
    text = "It is a lovely book! The pilot waits."
    answer = softquery("classify", text, "--model", folder, "--explain", tmp_path / "why.html")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("positive\n")
    assert f"why: {tmp_path / 'why.html'}" in answer.err
    assert ">lovely</bdi>" in (tmp_path / "why.html").read_text(encoding="utf-8")
    for ending in ("svg", "json", "png"):
        why = tmp_path / f"why.{ending}"
        assert softquery("classify", text, "--model", folder, "--explain", why).code == 0
        assert why.stat().st_size > 100
    one = json.loads(softquery("classify", text, "--model", folder, "--json").out)
    assert list(one) == ["text", "label", "score", "probabilities"]
    assert (one["label"], one["score"]) == ("positive", one["probabilities"]["positive"])
    two = softquery("classify", text, "It is a dull film!", "--model", folder, "--json")
    assert [each["label"] for each in json.loads(two.out)] == ["positive", "negative"]
    table = softquery("classify", text, "It is a dull film!", "--model", folder)
    assert "negative" in table.out


@pytest.mark.parametrize("ending", ["html", "svg", "json", "png"])
def test_explain_shows_one_text(ending, hierarchical, tmp_path):
    """`softquery explain` knows what kind of model it asks."""
    folder = f"{hierarchical[0]}-onnx"
    text = "It is a lovely book! The pilot waits."
    why = tmp_path / f"why.{ending}"
    answer = softquery("explain", text, "--model", folder, "--output", why, "--json")
    assert answer.code == 0, answer.err
    assert f"written: {why}" in answer.err
    found = json.loads(answer.out)
    assert [len(words) for words in found["sentences"]] == [6, 4]
    assert sum(found["sentence_weights"]) == pytest.approx(1, abs=1e-5)
    if ending == "json":
        assert json.loads(why.read_text(encoding="utf-8")) == found
    elif ending == "png":
        assert why.read_bytes().startswith(b"\x89PNG")
    else:
        assert "lovely" in why.read_text(encoding="utf-8")


def test_explain_prints_the_heaviest_words(hierarchical, attentive):
    for folder in (f"{hierarchical[0]}-onnx", attentive[0]):
        answer = softquery("explain", "The cook eats. It is a clumsy film!", "--model", folder)
        assert answer.code == 0, answer.err
        assert answer.out.startswith("negative ")
        assert "clumsy" in answer.out
    told = softquery("explain", "dull " * 3000, "--model", attentive[0])
    assert "1 text cut to the model's 256 tokens" in told.err


def test_torch_is_not_needed(hierarchical, tmp_path):
    """Not to classify, not to say why, not to evaluate, not to calibrate."""
    folder = f"{hierarchical[0]}-onnx"
    data = Path(folder).parent / "data" / "dev.tsv"
    for words in (
        ["classify", "It is a dull film!", "--model", folder, "--explain", tmp_path / "why.svg"],
        ["classify", "--input", data, "--output", tmp_path / "out.jsonl", "--model", folder],
        ["evaluate", folder, "--data", data],
        ["calibrate", folder, "--data", data],
    ):
        done = subprocess.run([sys.executable, "-c", BLOCKED, *map(str, words)],
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 40


def test_a_file_is_answered_and_gone_on_with(hierarchical, tmp_path):
    folder = f"{hierarchical[0]}-onnx"
    rows = [(f"{text}\nNo. {place}.", label) for place, (text, label) in enumerate(reviews(600))]
    source = write_lines(tmp_path / "in.jsonl", rows)
    words = ("classify", "--input", source, "--model", folder)
    whole = softquery(*words, "--output", tmp_path / "whole.jsonl", "--json")
    assert whole.code == 0, whole.err
    assert "600 texts answered" in whole.err
    assert json.loads(whole.out)["num_rows"] == 600
    again = (*words, "--output", tmp_path / "again.jsonl")
    assert finish(start_warm(*again, code=DIES_AFTER_A_PART)).code == 9
    resumed = softquery(*again)
    assert resumed.code == 0, resumed.err
    assert "(256 of them before)" in resumed.err
    wanted = (tmp_path / "whole.jsonl").read_bytes()
    assert (tmp_path / "again.jsonl").read_bytes() == wanted
    assert softquery(*words).out.encode() == wanted


def test_bad_rows_can_be_skipped(attentive, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "fine"}\n{"text": " "}\n{"tekst": "x"}\n')
    words = ("classify", "--input", tmp_path / "in.jsonl", "--model", attentive[0],
             "--output", tmp_path / "out.jsonl", "--on-error", "skip")  # fmt: skip
    answer = softquery(*words)
    assert answer.code == 0, answer.err
    assert "2 bad rows skipped" in answer.err
    assert (tmp_path / "out.jsonl.errors.tsv").read_text().splitlines()[1].startswith("2\ttext")


def test_evaluate_measures_classes(attentive, place, tmp_path):
    data = place / "data" / "dev.tsv"
    answer = softquery("evaluate", attentive[0], "--data", data, "--json", "--slice", "length",
                       "--slice", "label", "--errors", tmp_path / "mistakes.tsv")  # fmt: skip
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert found["accuracy"] == metrics(attentive[0])["dev"]["accuracy"]
    assert sum(part["n"] for part in found["slices"]["length"]) == 40
    head = (tmp_path / "mistakes.tsv").read_text(encoding="utf-8").splitlines()[0]
    assert head.split("\t")[-3:] == ["predicted", "confidence", "row"]
    table = softquery("evaluate", attentive[0], "--data", data)
    assert "confusion" in table.out


def test_relations_are_learnt(place):
    answer = train("relations", place, "relations", data="relation-data", **LEARNT, **ATTENTIVE,
                   classes__consistency=1)  # fmt: skip
    assert answer.code == 0, answer.err
    found = metrics(place / "relations")["dev"]
    assert found["relation_f1"] > 0.9
    assert set(found["by_label"]) == {"Maker", "Inside"}
    shown = sq.load(place / "relations").explain("a <e1>song</e1> was inside the <e2>book</e2>")
    assert shown.label == "Inside(e1,e2)"
    assert {"<e1>", "</e1>", "<e2>", "</e2>"} <= set(shown.sentences[0])
    told = softquery("evaluate", place / "relations", "--data", place / "relation-data/dev.tsv")
    assert "relation_f1" in told.out
    assert "by label" in told.out


@pytest.mark.parametrize("recipe", ["attention-bilstm", "hierarchical-attention"])
def test_a_run_is_resumed_to_the_same_weights(recipe, place):
    own = ATTENTIVE if recipe == "attention-bilstm" else HIERARCHICAL
    common = {**LEARNT, **own, "training__max_epochs": 3}
    assert train(recipe, place, f"{recipe}-whole", **common).code == 0
    words = ("train", recipe, "--data", place / "data", "--output", place / f"{recipe}-parts",
             *settings(**common))  # fmt: skip
    assert finish(start_warm(*words, code=DIES_AFTER_AN_EPOCH)).code == 9
    resumed = softquery(*words, "--resume")
    assert resumed.code == 0, resumed.err
    assert_equal(weights(place / f"{recipe}-parts"), weights(place / f"{recipe}-whole"), atol=1e-6)


def test_a_run_starts_from_another(attentive, place, tmp_path):
    short = {**LEARNT, **ATTENTIVE, "training__max_epochs": 1}
    answer = train("attention-bilstm", place, "started", "--init", attentive[0], **short)
    assert answer.code == 0, answer.err
    ours = len(weights(attentive[0]))
    assert f"started from {ours} of {ours} weights" in answer.err
    other = [(text, f"{label}-{place % 2}") for place, (text, label) in enumerate(reviews(120))]
    write_texts(tmp_path / "data", other)
    answer = train("attention-bilstm", tmp_path, "more", "--init", attentive[0], **short)
    assert answer.code == 0, answer.err
    assert "new: output.bias, output.weight" in answer.err


def test_a_teacher_is_heard(place, tmp_path):
    rows = [(text, label, json.dumps({label: 0.8, other: 0.2}))
            for text, label in reviews(120)
            for other in ({"negative", "positive"} - {label})]  # fmt: skip
    for split, part in (("train", rows[:-40]), ("dev", rows[-40:])):
        lines = ["text\tlabel\tprobabilities", *("\t".join(row) for row in part)]
        (tmp_path / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    answer = softquery("train", "attention-bilstm", "--data", tmp_path, "--output",
                       tmp_path / "model", *settings(**LEARNT, **ATTENTIVE))  # fmt: skip
    assert answer.code == 0, answer.err
    assert 0.6 < sq.load(tmp_path / "model").predict(["It is a lovely film!"])[0].score < 0.97


def test_elmo_spells_words_by_their_own_characters(place, tmp_path):
    answer = train("attention-bilstm-elmo", place, "with-elmo", **LEARNT, **ATTENTIVE,
                   elmo__bundle=place / "bilm")  # fmt: skip
    assert answer.code == 0, answer.err
    assert "8 wide at the input, frozen" in answer.err
    assert metrics(place / "with-elmo")["dev"]["accuracy"] > 0.8
    found = config(place / "with-elmo")["model"]["config"]
    assert found["max_characters"] == found["embedder"]["config"]["characters"]["max_characters"]
    model = sq.load(place / "with-elmo")
    one, other = model.logits(["It is Xab", "It is Xcd"])
    assert abs(one - other).max() > 1e-6  # two words that no table holds
    shown = model.explain("It is a Xab film")
    assert shown.sentences == (("It", "is", "a", "Xab", "film"),)
    told = softquery("export", place / "with-elmo", "--output", tmp_path / "out", "--json")
    assert told.code == 0, told.err
    assert json.loads(told.out)["difference"] < 1e-5
    small = sq.load(tmp_path / "out")
    assert small.backend.name == "onnx"
    texts = ["It is Xab", "", "It is a Xcd film"]
    np.testing.assert_allclose(small.logits(texts), model.logits(texts), atol=1e-5)


def test_elmo_may_come_in_at_two_places(place):
    """At the output its vectors are laid beside the states, so that the query sees them."""
    short = {**LEARNT, **ATTENTIVE, "training__max_epochs": 1}
    answer = train("attention-bilstm-elmo", place, "twice", **short, elmo__bundle=place / "bilm",
                   elmo__places="input,output")  # fmt: skip
    assert answer.code == 0, answer.err
    assert "8 wide at the input and output, frozen" in answer.err
    stored = weights(place / "twice")
    assert stored["attention.query"].shape == (1, 8 + 8)  # states of both directions, and its own
    shown = sq.load(place / "twice").explain("It is a Xab film")
    assert shown.word_weights[0].sum() == pytest.approx(1, abs=1e-5)


def test_export_and_calibrate(attentive, place, tmp_path):
    data = place / "data" / "dev.tsv"
    answer = softquery("export", attentive[0], "--output", tmp_path / "int8", "--int8",
                       "--gate", "5", "--data", data, "--json")  # fmt: skip
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["gate"]["metric"] == "accuracy"
    told = softquery("calibrate", tmp_path / "int8", "--data", data, "--json")
    assert told.code == 0, told.err
    assert json.loads(told.out)["threshold"] is not None
    assert sq.load(tmp_path / "int8").calibration.threshold is not None


def test_texts_that_are_cut_or_hold_nothing_are_told(place, tmp_path):
    rows = [*reviews(80), ("\u200b", "negative"), ("It is a fine film! " * 40, "positive")]
    write_texts(tmp_path / "data", rows, num_dev=10)
    short = {**LEARNT, "training__max_epochs": 1}
    for recipe, own, limit in (
        ("attention-bilstm", {**ATTENTIVE, "text__max_tokens": 40}, "40 tokens"),
        ("hierarchical-attention", {**HIERARCHICAL, "model__max_sentences": 8},
         "8 sentences of 12 tokens"),
    ):  # fmt: skip
        answer = train(recipe, tmp_path, recipe, **{**short, **own})
        assert answer.code == 0, answer.err
        assert f"dev: 1 text was cut at {limit}" in answer.err
        assert "dev: 1 text holds no word" in answer.err
