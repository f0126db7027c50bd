"""What a matcher answers: labels, scores, ranks, and encodings that can be stored."""

import json
import re

import numpy as np
import pytest

from small_bundles import random_pairs
from softquery.answers import Match
from softquery.errors import ConfigError
from softquery.runtime import load

PAIRS = random_pairs(70, seed=2)
DOCUMENTS = [second for _, second in PAIRS]
CLOSE = {"rtol": 0, "atol": 1e-4}


@pytest.fixture(scope="module", params=["esim", "siamese", "graded", "torch", "int8"])
def matcher(request, float_bundle, siamese_bundle, graded_bundle, plain_bundle, int8_bundle):
    bundle = {
        "esim": float_bundle,
        "siamese": siamese_bundle,
        "graded": graded_bundle,
        "torch": plain_bundle,
        "int8": int8_bundle,
    }[request.param]
    return load(bundle)


def test_predict_and_probabilities_say_the_same(matcher):
    answers, rows = matcher.predict(PAIRS), matcher.probabilities(PAIRS)
    assert len(answers) == len(rows) == len(PAIRS)
    for answer, row in zip(answers, rows.tolist(), strict=True):
        assert isinstance(answer, Match)
        assert type(answer.score) is float
        if matcher.is_graded:
            assert (answer.label, answer.probabilities) == (None, {})
            assert answer.score == 5.0 * row[0]
            assert 0 <= answer.score <= 5
            continue
        assert answer.probabilities == dict(zip(matcher.labels, row, strict=True))
        assert sum(row) == pytest.approx(1)
        assert answer.label == matcher.labels[int(np.argmax(row))]
        assert answer.score == (row[1] if len(row) == 2 else max(row))
        json.dumps(answer.probabilities)  # plain floats
    assert len({answer.score for answer in answers}) > 60


def test_nothing_to_answer(matcher):
    assert matcher.predict([]) == []
    assert matcher.probabilities([]).shape == (0, max(1, len(matcher.labels)))
    assert matcher.rank("w1", []) == []
    assert matcher.encodings([]) == []


def test_texts_without_a_token_are_answered(matcher):
    answers = matcher.predict([("", "w1"), ("w1", ""), ("", ""), (" \n", "w2")])
    assert all(np.isfinite(answer.score) for answer in answers)


def test_rank_orders_by_the_score_of_each_pair(matcher):
    query = PAIRS[0][0]
    ranked = matcher.rank(query, DOCUMENTS)
    places = [hit["corpus_id"] for hit in ranked]
    scores = [hit["score"] for hit in ranked]
    assert sorted(places) == list(range(len(DOCUMENTS)))
    assert scores == sorted(scores, reverse=True)
    assert all(hit["text"] == DOCUMENTS[hit["corpus_id"]] for hit in ranked)
    rows = matcher.probabilities([(query, DOCUMENTS[place]) for place in places])
    column = 1 if len(matcher.labels) > 1 else 0  # "entailment", "1", or the grade's share
    tolerance = 0.02 if _is_int8(matcher) else 1e-4
    np.testing.assert_allclose(scores, rows[:, column], rtol=0, atol=tolerance)


def _is_int8(matcher):
    return any(name.endswith(":scale") for name in matcher.bundle.read_weights())


def test_rank_takes_stored_encodings(matcher):
    stored = [np.array(each) for each in matcher.encodings(DOCUMENTS)]
    fresh = load(matcher.bundle.path)
    assert fresh.rank("w1 w2", DOCUMENTS, encodings=stored) == matcher.rank("w1 w2", DOCUMENTS)
    with pytest.raises(ValueError, match="^3 encodings for 70 documents$"):
        matcher.rank("w1", DOCUMENTS, encodings=stored[:3])


def test_rank_keeps_the_best(matcher):
    whole = matcher.rank("w5 w6", DOCUMENTS)
    assert matcher.rank("w5 w6", DOCUMENTS, top_k=3) == whole[:3]
    assert matcher.rank("w5 w6", DOCUMENTS, top_k=1000) == whole
    for top_k in (0, -1):
        with pytest.raises(ValueError, match=f"^top_k must be at least 1, got {top_k}$"):
            matcher.rank("w5", DOCUMENTS, top_k=top_k)


def test_equal_documents_keep_their_order(matcher):
    hits = matcher.rank("w5", ["w1 w2", "w7", "w1 w2", "w1 w2"])
    assert [hit["corpus_id"] for hit in hits if hit["text"] == "w1 w2"] == [0, 2, 3]


def test_hits_without_their_documents(matcher):
    whole = matcher.rank("w5 w6", DOCUMENTS)
    bare = matcher.rank("w5 w6", DOCUMENTS, return_documents=False)
    assert bare == [{"corpus_id": each["corpus_id"], "score": each["score"]} for each in whole]


def test_probabilities_as_scikit_learn_spells_them(matcher):
    if matcher.is_graded:
        with pytest.raises(ConfigError, match="^a model that grades has no labels; predict gives"):
            matcher.predict_proba(PAIRS)
        return
    found = matcher.predict_proba(PAIRS)
    assert found.shape == (len(PAIRS), len(matcher.labels))
    for row, answer in zip(found.tolist(), matcher.predict(PAIRS), strict=True):
        assert dict(zip(matcher.labels, row, strict=True)) == answer.probabilities


def test_a_model_says_what_it_is(matcher):
    kind = "low=0, high=5" if matcher.is_graded else f"labels={matcher.labels!r}"
    name = matcher.bundle.path.name
    assert repr(matcher).startswith(f"Matcher({name!r}, backend={matcher.backend.name!r}, ")
    assert re.sub(r"\.0\b", "", repr(matcher)).endswith(f"{kind})")


def test_rank_by_a_label(matcher):
    if matcher.is_graded:
        with pytest.raises(ValueError, match="^a model that grades has no label 'same'$"):
            matcher.rank("w1", ["w2"], label="same")
        return
    with pytest.raises(ValueError, match="^label 'same' is not one of "):
        matcher.rank("w1", ["w2"], label="same")
    total = sum(matcher.rank("w1", ["w2"], label=each)[0]["score"] for each in matcher.labels)
    assert total == pytest.approx(1)


def test_encodings_cannot_be_written_to(matcher):
    before = matcher.rank("w8", ["w9 w10"])
    (encoding,) = matcher.encodings(["w9 w10"])
    with pytest.raises(ValueError, match="read-only"):
        encoding[...] = 0
    assert matcher.rank("w8", ["w9 w10"]) == before


def test_the_default_label_of_three_is_entailment_else_the_first(float_bundle, damaged):
    matcher = load(float_bundle)
    assert matcher.rank("w1", ["w2"]) == matcher.rank("w1", ["w2"], label="entailment")
    config = json.loads((damaged / "config.json").read_text())
    config["task"]["labels"] = ["yes", "no", "maybe"]
    (damaged / "config.json").write_text(json.dumps(config))
    renamed = load(damaged)
    assert renamed.rank("w1", ["w2"]) == renamed.rank("w1", ["w2"], label="yes")


def test_backends_agree(float_bundle, int8_bundle):
    on_torch, on_onnx = (load(float_bundle, backend=name) for name in ("torch", "onnx"))
    assert (on_torch.backend.name, on_onnx.backend.name) == ("torch on cpu", "onnx")
    wanted = on_torch.probabilities(PAIRS)
    np.testing.assert_allclose(on_onnx.probabilities(PAIRS), wanted, **CLOSE)
    assert [hit["corpus_id"] for hit in on_torch.rank("w1 w2", DOCUMENTS, top_k=5)] == [
        hit["corpus_id"] for hit in on_onnx.rank("w1 w2", DOCUMENTS, top_k=5)
    ]
    best, second = np.sort(wanted, axis=1)[:, :-3:-1].T
    clear = best - second > 0.05
    assert clear.sum() > 10
    for name in ("torch", "onnx"):
        small = load(int8_bundle, backend=name).probabilities(PAIRS)
        assert np.abs(small - wanted).mean() < 0.02
        # int8 may turn an answer only where float32 was nearly undecided.
        assert (small.argmax(axis=1) == wanted.argmax(axis=1))[clear].all()


def test_cuts_are_counted(float_bundle):
    matcher = load(float_bundle)
    limit = matcher.pipeline.config.max_tokens
    texts = ["w1 " * limit, "w1 " * (limit + 1), "", "x" * 2 * limit, "w1 " * 3 * limit]
    assert matcher.num_cut(texts) == 2
    kept = matcher.probabilities([(texts[0], "w2")])
    np.testing.assert_allclose(matcher.probabilities([(texts[4], "w2")]), kept, **CLOSE)


def test_a_text_that_is_none_is_named(float_bundle):
    from softquery.errors import InputError

    with pytest.raises(InputError, match="^the pairs, row 2: expected two texts, found None$"):
        load(float_bundle).predict([("w1", "w2"), (None, "w2")])
