"""A classifier that answers: on torch and on ONNX Runtime, calibrated, in bulk, and refused."""

import json
import shutil

import numpy as np
import pytest

import softquery as sq
from small_classifiers import LABELS, labelled_texts, make_classifier, random_texts
from softquery.bundle import read_bundle, update_bundle
from softquery.errors import BundleError, ConfigError, InputError
from softquery.export import export_classifier
from softquery.runtime.bulk import BulkAnswers, answer_rows, stream_answers
from softquery.runtime.calibrate import fit_calibration, save_calibration
from softquery.runtime.classify.evaluate import evaluate_classifier
from softquery.runtime.classify.model import load_classifier


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Both models, plain and exported."""
    folder = tmp_path_factory.mktemp("classifiers")
    for name in ("attentive", "hierarchical"):
        bundle = make_classifier(folder / name, name, size=16)
        export_classifier(read_bundle(bundle), folder / f"{name}-onnx")
    return folder


both = pytest.mark.parametrize("name", ["attentive", "hierarchical"])


@both
def test_answers(name, place):
    classifier = sq.load(place / f"{name}-onnx")
    assert isinstance(classifier, sq.Classifier)
    assert classifier.backend.name == "onnx"
    texts = random_texts(9)
    for answer, row in zip(classifier.predict(texts), classifier.probabilities(texts), strict=True):
        assert answer.label == LABELS[row.argmax()]
        assert answer.score == row.max()
        assert list(answer.probabilities) == list(LABELS)
        assert sum(answer.probabilities.values()) == pytest.approx(1)
    record = classifier.predict(texts[:1])[0].record(texts[0])
    assert list(record) == ["text", "label", "score", "probabilities"]


@both
def test_threads_change_nothing(name, place):
    texts = random_texts(90)
    found = [
        load_classifier(place / f"{name}-onnx", threads=count).logits(texts) for count in (1, 3)
    ]
    assert np.array_equal(*found)


@both
def test_words_have_weights(name, place):
    shown = load_classifier(place / f"{name}-onnx").explain("W1 w2 unheard. W3!")
    words = [["W1", "w2", "unheard", "."], ["W3", "!"]]
    assert [list(each) for each in shown.sentences] == (
        words if name == "hierarchical" else [sum(words, [])]
    )
    assert [each.sum() for each in shown.word_weights] == pytest.approx([1] * len(shown.sentences))
    if name == "hierarchical":
        assert shown.sentence_weights.sum() == pytest.approx(1)
    assert shown.label in LABELS
    assert shown.model == f"{name}-onnx"


@both
def test_what_is_cut_is_counted(name, place):
    classifier = load_classifier(place / name)
    texts = ["w1 " * 3000, "w1", "W1. " * 100, "…" * 150]
    assert classifier.num_cut(texts) == 2
    assert classifier.limit == ("64 sentences of 12 tokens" if name == "hierarchical" else
                                "200 tokens")  # fmt: skip


@both
def test_a_hundred_thousand_tokens_are_answered(name, place):
    for path in (place / name, place / f"{name}-onnx"):
        (answer,) = load_classifier(path).predict(["W1 w2. " * 33_334])
        assert answer.label in LABELS


def test_a_calibration_is_fitted_and_obeyed(place, tmp_path):
    folder = shutil.copytree(place / "attentive-onnx", tmp_path / "model")
    classifier = load_classifier(folder)
    texts = random_texts(60)
    draw = np.random.default_rng(1)
    rows = labelled_texts(texts, [LABELS[draw.choice(3, p=row)] for row in
                                  classifier.probabilities(texts)])  # fmt: skip
    fitted = fit_calibration(classifier, rows, abstain_below=0.99)
    assert fitted.facts["fitted_on"] == 30
    save_calibration(classifier.bundle, fitted)
    sure = load_classifier(folder)
    assert sure.calibration == fitted.calibration
    answers = sure.predict(texts)
    assert {answer.label for answer in answers} >= {None}
    assert all(answer.label is not None or answer.score < 0.99 for answer in answers)
    with pytest.raises(ConfigError, match="a threshold needs two labels, this model has 3"):
        fit_calibration(classifier, rows, aim="f1")


def test_a_calibration_for_other_labels_is_refused(place, tmp_path):
    folder = shutil.copytree(place / "attentive", tmp_path / "model")
    update_bundle(read_bundle(folder), calibration={"bias": [0.0, 1.0]})
    with pytest.raises(BundleError, match="bias has 2 numbers for 3 labels"):
        load_classifier(folder)


def test_a_file_is_answered_and_gone_on_with(place, tmp_path):
    classifier = load_classifier(place / "hierarchical-onnx")
    rows = labelled_texts(random_texts(600), ["neutral"] * 600)
    answers = BulkAnswers(classifier)
    whole = answer_rows(answers, rows, tmp_path / "whole.jsonl")
    assert (whole.num_rows, whole.num_resumed, whole.num_cut) == (600, 0, 0)
    lines = whole.output.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["text"] for line in lines] == [row.values["text"] for row in rows]

    def breaking():
        yield from rows[:400]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answer_rows(answers, breaking(), tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl.partial").exists()
    resumed = answer_rows(answers, rows, tmp_path / "again.jsonl")
    assert resumed.num_resumed == 256
    assert resumed.output.read_bytes() == whole.output.read_bytes()
    printed = []
    assert stream_answers(answers, rows[:3], printed.append) == 0
    assert "\n".join(printed).splitlines() == lines[:3]


def test_other_rows_are_not_gone_on_with(place, tmp_path):
    answers = BulkAnswers(load_classifier(place / "attentive-onnx"))
    rows = labelled_texts(random_texts(300), ["neutral"] * 300)

    def breaking():
        yield from rows
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answer_rows(answers, breaking(), tmp_path / "out.jsonl")
    other = labelled_texts(random_texts(300, seed=2), ["neutral"] * 300)
    with pytest.raises(InputError, match="rows.tsv, row 2: is not the row that was answered"):
        answer_rows(answers, other, tmp_path / "out.jsonl")


def test_evaluation(place):
    classifier = load_classifier(place / "attentive-onnx")
    texts = random_texts(50)
    labels = [answer.label for answer in classifier.predict(texts)]
    labels[:10] = ["neutral"] * 10
    found = evaluate_classifier(classifier, labelled_texts(texts, labels))
    wrong = found.mistakes()
    assert found.report()["accuracy"] == pytest.approx(1 - len(wrong) / 50)
    assert [each.confidence for each in wrong] == sorted(
        (each.confidence for each in wrong), reverse=True
    )
    assert sum(part["n"] for part in found.slices("length")) == 50
    assert {part["slice"] for part in found.slices("label")} <= set(LABELS)
    with pytest.raises(InputError, match="cannot slice by 'author'; expected one of length, text"):
        found.slices("author")
    with pytest.raises(InputError, match="rows.tsv, row 2: label 'great' is not one of negative"):
        evaluate_classifier(classifier, labelled_texts(["w1"], ["great"]))
    with pytest.raises(InputError, match="there are no rows"):
        evaluate_classifier(classifier, [])


@pytest.mark.parametrize(
    ("part", "key", "value", "message"),
    [
        ("task", "labels", ["a", "b"], "the model has 3 outputs, but its task needs 2"),
        ("task", "metric", "f2", "task.metric must be one of accuracy, macro_f1, relation_f1"),
        ("task", "name", "sort", "unknown task 'sort'"),
        ("model", "max_sentences", "many", "max_sentences must be a whole number, got 'many'"),
        ("model", "max_sentences", 0, "max_sentences must be a whole number, got 0"),
        ("model", "vocab_size", 7, "holds 85 entries, but config.json says 7"),
        ("model", "output_size", 2, "the model has 2 outputs, but its task needs 3"),
    ],
)
@pytest.mark.parametrize("folder", ["hierarchical", "hierarchical-onnx"])
def test_a_config_that_lies_is_refused(part, key, value, message, folder, place, tmp_path):
    path = shutil.copytree(place / folder, tmp_path / "model")
    config = json.loads((path / "config.json").read_bytes())
    inner = config["task"] if part == "task" else config["model"]["config"]
    inner[key] = value
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(BundleError, match=message) as caught:
        load_classifier(path)
    assert "\n" not in str(caught.value)


def test_only_elmo_inside_spells_words(place, tmp_path):
    path = shutil.copytree(place / "attentive-onnx", tmp_path / "model")
    config = json.loads((path / "config.json").read_bytes())
    config["model"]["config"]["max_characters"] = 20
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for act in (
        load_classifier,
        lambda path: export_classifier(read_bundle(path), path.parent / "out"),
    ):
        with pytest.raises(
            BundleError, match="max_characters is for a classifier with ELMo inside"
        ):
            act(path)


def test_graphs_of_another_model_are_refused(place, tmp_path):
    path = shutil.copytree(place / "attentive-onnx", tmp_path / "model")
    shutil.rmtree(path / "onnx")
    shutil.copytree(place / "hierarchical-onnx" / "onnx", path / "onnx")
    with pytest.raises(BundleError, match="expected a JSON object that lists classify's weights"):
        load_classifier(path)


def test_other_kinds_are_refused(place, tmp_path):
    path = shutil.copytree(place / "attentive", tmp_path / "model")
    config = json.loads((path / "config.json").read_bytes())
    (path / "config.json").write_text(json.dumps({**config, "kind": "tagger"}), encoding="utf-8")
    with pytest.raises(BundleError, match="expected a classifier, found kind 'tagger'"):
        load_classifier(path)
    with pytest.raises(BundleError, match="expected a classifier, found kind 'tagger'"):
        export_classifier(read_bundle(path), tmp_path / "out")


def test_export_refuses_before_any_work(place, tmp_path):
    bundle = read_bundle(place / "attentive")
    with pytest.raises(ConfigError, match="int8 needs labelled rows"):
        export_classifier(bundle, tmp_path / "out", int8=True)
    rows = labelled_texts(["w1"], ["neutral"])
    with pytest.raises(ConfigError, match="the gate must be a finite number"):
        export_classifier(bundle, tmp_path / "out", int8=True, limit=float("nan"), rows=rows)
    assert not (tmp_path / "out").exists()
