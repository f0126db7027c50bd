"""Exported classifiers answer as torch does: logits and weights to 1e-5, whatever the company."""

import numpy as np
import pytest

from small_classifiers import labelled_texts, make_classifier, random_texts
from small_inner import make_inner
from softquery.bundle import read_bundle
from softquery.export import export_classifier
from softquery.runtime import load

CLOSE = {"rtol": 0, "atol": 1e-5}
CASES = [
    {"name": "attentive", "merge": "sum", "cell": "lstm"},
    {"name": "attentive", "merge": "concat", "cell": "lstm"},
    {"name": "attentive", "merge": "sum", "cell": "gru"},
    {"name": "attentive", "merge": "concat", "cell": "gru"},
    {"name": "attentive", "text": {"boundaries": True, "max_tokens": 40}},
    {"name": "hierarchical", "cell": "gru"},
    {"name": "hierarchical", "cell": "lstm"},
]
NESTED = [
    {"elmo": {"places": ("input",)}},
    {"elmo": {"places": ("input", "output"), "normalise": True}, "merge": "concat"},
    {"elmo": {"places": ("output",)}, "cell": "gru"},
    {"elmo": {"places": ("input",), "beside_words": False, "layers": "last"}},
]
"""With a biLM inside, wherever its vectors come in."""
ODD = ["", " \n", "\u200b", "w1", "unheard", "w1 " * 500, "W1. " * 200, "w1\nw2\n\nw3"]
"""Nothing, nothing to be seen, one word, no known word, and more than is read."""


def shown(case):
    return "-".join(map(str, case.values()))


@pytest.fixture(scope="module", params=[*CASES, *NESTED], ids=shown)
def both(request, tmp_path_factory):
    """A classifier on torch, and the same on ONNX Runtime."""
    folder = tmp_path_factory.mktemp("parity")
    if "elmo" in request.param:
        bundle = make_inner(folder / "plain", "attentive", size=12, **request.param)
    else:
        bundle = make_classifier(folder / "plain", size=12, **request.param)
    report = export_classifier(read_bundle(bundle), folder / "exported")
    assert report.precision == "float32"
    assert report.difference <= 1e-5
    assert {path.stem for path in (report.bundle / "onnx").glob("*.onnx")} == (
        {"classify", "read", "context"}
        if "elmo" in request.param
        else {"read", "judge"}
        if request.param["name"] == "hierarchical"
        else {"classify"}
    )
    theirs = load(bundle, backend="torch", device="cpu")
    return theirs, load(report.bundle, backend="onnx", threads=1)


def test_logits(both):
    theirs, ours = both
    texts = [*random_texts(70), *ODD]
    wanted = theirs.logits(texts)
    np.testing.assert_allclose(ours.logits(texts), wanted, **CLOSE)
    assert np.ptp(wanted, axis=0).max() > 0.1  # or else nothing was compared


def test_weights(both, request):
    """Reasons are what remains without each word: with a biLM inside, of short texts alone."""
    length = 120 if "elmo" in request.node.callspec.params["both"] else None
    for text in [*random_texts(5), *(odd[:length] for odd in ODD)]:
        wanted, found = (classifier.explain(text) for classifier in both)
        assert found.sentences == wanted.sentences
        for one, other in zip(found.word_weights, wanted.word_weights, strict=True):
            np.testing.assert_allclose(one, other, **CLOSE)
        if wanted.sentence_weights is None:
            assert found.sentence_weights is None
        else:
            np.testing.assert_allclose(found.sentence_weights, wanted.sentence_weights, **CLOSE)
        assert found.label == wanted.label


def test_answers_do_not_depend_on_their_company(both):
    _, ours = both
    texts = [*random_texts(40, seed=2), *ODD]
    alone = np.concatenate([ours.logits([text]) for text in texts])
    np.testing.assert_allclose(ours.logits(texts), alone, **CLOSE)


def test_nothing_at_all(both):
    for classifier in both:
        assert classifier.logits([]).shape == (0, 3)
        assert classifier.predict([]) == []


@pytest.mark.parametrize("case", CASES, ids=shown)
def test_int8_is_near_and_keeps_to_itself(case, tmp_path):
    bundle = make_classifier(tmp_path / "plain", **case)
    texts = random_texts(60)
    rows = labelled_texts(texts, [each.label for each in load(bundle).predict(texts)])
    report = export_classifier(
        read_bundle(bundle), tmp_path / "int8", int8=True, limit=100, rows=rows
    )
    assert (report.precision, report.gate.metric, report.gate.float32) == ("int8", "accuracy", 1.0)
    small, wanted = load(report.bundle), load(bundle).probabilities(texts)
    found = small.probabilities(texts)
    assert np.abs(found - wanted).mean() < 0.03
    assert (found.argmax(axis=1) == wanted.argmax(axis=1)).mean() > 0.9
    alone = np.concatenate([small.probabilities([text]) for text in texts])
    np.testing.assert_allclose(found, alone, atol=1e-3)
    stored = read_bundle(report.bundle).read_weights()
    assert stored["embedder.table.weight"].dtype == np.int8
    names = [name for name in stored if name.endswith("weight_hh_l0")]
    is_lstm = case.get("cell", "lstm") == "lstm"
    assert {stored[name].dtype.name for name in names} == {"int8" if is_lstm else "float32"}


def test_the_gate_keeps_float32(tmp_path):
    bundle = make_classifier(tmp_path / "plain")
    rows = labelled_texts(random_texts(9), ["negative", "neutral", "positive"] * 3)
    report = export_classifier(
        read_bundle(bundle), tmp_path / "out", int8=True, limit=-100, rows=rows
    )
    assert (report.precision, report.gate.accepted) == ("float32", False)
    assert load(report.bundle).backend.name == "onnx"
    assert read_bundle(report.bundle).metrics["export"]["gate"]["accepted"] is False
