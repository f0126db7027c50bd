"""A sentence encoder that answers: shapes, prefixes, ranking, measuring, and what it refuses."""

import json

import numpy as np
import pytest

import softquery as sq
from small_sentence_encoders import (
    BODIES,
    PREFIXES,
    labelled_pairs,
    make_sentence_encoder,
    random_sentences,
)
from softquery.errors import BundleError, ConfigError, InputError
from softquery.models.pooled_encoder import TransformerBody
from softquery.runtime.encode.model import POSITIONS, SentenceEncoder

WIDTH = 24


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return sq.load(make_sentence_encoder(tmp_path_factory.mktemp("encoder") / "model"))


def changed(bundle, **parts):
    """Change parts of a bundle's config."""
    path = bundle / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    for name, values in parts.items():
        config[name] |= values
    path.write_text(json.dumps(config), encoding="utf-8")
    return bundle


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("boundaries", [False, True])
def test_every_text_has_a_vector_of_length_one(body, boundaries, tmp_path):
    text = {"boundaries": boundaries}
    encoder = sq.load(make_sentence_encoder(tmp_path / "model", body, text=text))
    assert isinstance(encoder, sq.SentenceEncoder)
    found = encoder.encode([*random_sentences(9), "", "   ", "我们 wab"])
    assert found.shape == (12, WIDTH)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    assert len({row.tobytes() for row in found}) == 11  # the two without a token are the same


def test_nothing_gives_a_matrix_without_rows(encoder):
    assert encoder.encode([]).shape == (0, WIDTH)
    assert encoder.encode([], dimensions=5).shape == (0, 5)
    assert encoder.similarity([], ["wa"]).shape == (0, 1)


def test_lists_tuples_generators_and_arrays_are_texts(encoder):
    texts = random_sentences(5)
    expected = encoder.encode(texts)
    for given in (tuple(texts), (text for text in texts), np.array(texts)):
        np.testing.assert_array_equal(encoder.encode(given), expected)


@pytest.mark.parametrize("given", ["one text", b"bytes", 7, None, {"a": 1}, {"a"}])
def test_what_is_no_list_of_texts_is_refused_by_name(given, encoder):
    with pytest.raises(TypeError, match="expected a list of sentences, got "):
        encoder.encode(given)


@pytest.mark.parametrize("entry", [7, b"bytes", None, ["wa"]])
def test_what_is_no_text_is_refused_with_its_row(entry, encoder):
    rows = iter([*["wa"] * 1500, entry])
    with pytest.raises(InputError, match="the texts, row 1501: expected a string, found"):
        encoder.encode(rows)


def test_vectors_do_not_depend_on_their_batch(encoder):
    texts = random_sentences(50)
    whole = encoder.encode(texts)
    np.testing.assert_allclose(whole[::-1], encoder.encode(texts[::-1]), atol=1e-6)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_allclose(whole, alone, atol=1e-6)


def test_equal_texts_are_computed_once(encoder):
    seen = []

    class Counting:
        name, output_size = "counting", WIDTH

        def vectors(self, sentences):
            seen.append(len(sentences))
            return encoder.backend.vectors(sentences)

        def beside(self, act, items):
            return encoder.backend.beside(act, items)

    counted = SentenceEncoder(encoder.bundle, Counting())
    found = counted.encode(["wa wb", "WA  wb", "wc"] * 100)
    assert seen == [2]
    np.testing.assert_array_equal(found[:3], found[-3:])


def test_progress_is_told(encoder):
    told = []
    encoder.encode((f"wa w{number}" for number in range(2500)), advance=told.append)
    assert told == [1024, 2048, 2500]


def test_prefixes_are_normalised_again(encoder):
    texts = random_sentences(7)
    whole = encoder.encode(texts)
    assert encoder.prefixes == PREFIXES
    for width in (1, 8, 16, 23, 24):
        cut = whole[:, :width] / np.linalg.norm(whole[:, :width], axis=1, keepdims=True)
        np.testing.assert_allclose(encoder.encode(texts, dimensions=width), cut, atol=1e-6)


@pytest.mark.parametrize("width", [0, -1, 25, 2.0, True, "8"])
def test_widths_that_there_are_not_are_refused(width, encoder):
    with pytest.raises(ConfigError, match="dimensions must be a whole number from 1 to 24, got"):
        encoder.encode(["wa"], dimensions=width)


def test_similarity_is_the_cosine(encoder):
    texts, others = random_sentences(4), random_sentences(3, seed=2)
    found = encoder.similarity(texts, others)
    np.testing.assert_allclose(found, encoder.encode(texts) @ encoder.encode(others).T, atol=1e-6)
    assert encoder.similarity(["wa wb"], ["wa wb"], dimensions=8)[0, 0] == pytest.approx(1)


def test_similarity_takes_vectors_as_well(encoder):
    texts, others = random_sentences(4), random_sentences(3, seed=2)
    expected = encoder.similarity(texts, others)
    stored = encoder.encode(texts)
    for scaled in (stored, stored * 7):
        np.testing.assert_allclose(encoder.similarity(scaled, others), expected, atol=1e-6)
    np.testing.assert_allclose(
        encoder.similarity(stored, encoder.encode(others)), expected, atol=1e-6
    )
    short = encoder.similarity(texts, others, dimensions=8)
    for given in (stored[:, :8], encoder.encode(texts, dimensions=8)):
        np.testing.assert_allclose(encoder.similarity(given, others), short, atol=1e-6)
    np.testing.assert_allclose(encoder.similarity(stored, others, dimensions=8), short, atol=1e-6)
    with pytest.raises(InputError, match="expected finite numbers"):
        encoder.similarity(stored * np.nan, others)


def test_hits_without_their_documents(encoder):
    whole = encoder.rank("wa", random_sentences(4))
    bare = encoder.rank("wa", random_sentences(4), return_documents=False)
    assert bare == [{"corpus_id": each["corpus_id"], "score": each["score"]} for each in whole]


def test_ranking_orders_documents(encoder):
    documents = [*random_sentences(6), "wab wc"]
    ranked = encoder.rank("wab wc", documents, top_k=3)
    assert ranked[0]["corpus_id"] == 6
    assert [list(each) for each in ranked] == [["corpus_id", "score", "text"]] * 3
    assert ranked[0]["score"] == pytest.approx(1)
    cosines = encoder.similarity(["wab wc"], documents)[0]
    assert [each["score"] for each in ranked] == pytest.approx(sorted(cosines)[::-1][:3])
    stored = encoder.encode(documents, dimensions=8)
    assert encoder.rank("wab wc", documents, vectors=stored)[0]["corpus_id"] == 6
    assert encoder.rank("wab", []) == []


def test_ranking_refuses_what_does_not_fit(encoder):
    with pytest.raises(ValueError, match="top_k must be at least 1, got 0"):
        encoder.rank("wa", ["wb"], top_k=0)
    with pytest.raises(ValueError, match="1 vectors for 2 documents"):
        encoder.rank("wa", ["wb", "wc"], vectors=encoder.encode(["wb"]))
    with pytest.raises(TypeError, match="got one string"):
        encoder.rank("wa", "wb")


def test_long_texts_are_counted(encoder):
    assert encoder.max_tokens == 64
    assert encoder.num_cut(["wa " * 64, "wa " * 65, "wabc"]) == 1
    np.testing.assert_array_equal(*(encoder.encode(["wa " * n])[0] for n in (64, 500)))


def test_grades_are_measured_by_spearman(encoder):
    rows = labelled_pairs([f"{number / 4}" for number in range(20)])
    report = sq.evaluate(encoder, rows).report()
    assert list(report) == ["spearman", "spearman_interval", "n"]
    assert report["n"] == 20
    low, high = report["spearman_interval"]
    assert -1 <= low <= report["spearman"] <= high <= 1


def test_two_labels_are_measured_by_auc_and_accuracy(encoder):
    rows = labelled_pairs(["0", "1"] * 20)
    evaluation = sq.evaluate(encoder, rows)
    report = evaluation.report()
    expected = ["auc", "auc_interval", "accuracy", "accuracy_interval", "threshold", "n"]
    assert list(report) == expected
    later, said = evaluation.gold[20:], evaluation.cosines[20:] >= report["threshold"]
    assert report["accuracy"] == pytest.approx(np.mean(said == later))
    assert {part["slice"] for part in evaluation.slices("label")} == {"0", "1"}
    assert evaluation.slices("length")
    mistakes = evaluation.mistakes()
    assert mistakes[0].confidence >= mistakes[-1].confidence


def test_texts_that_mean_the_same_are_found(encoder):
    rows = labelled_pairs(["0", "1"] * 20)
    for row in rows[1::2]:
        row.values["sentence2"] = row.values["sentence1"]
    report = sq.evaluate(encoder, rows).report()
    assert report["auc"] == 1
    assert report["accuracy"] == 1


def test_labels_that_are_no_numbers_are_refused(encoder):
    with pytest.raises(InputError, match="rows.tsv, row 3: expected a number as label"):
        sq.evaluate(encoder, labelled_pairs(["1", "yes"]))
    with pytest.raises(InputError, match="every label is '1'; expected at least two"):
        sq.evaluate(encoder, labelled_pairs(["1", "1"]))
    with pytest.raises(InputError, match="there are no rows"):
        sq.evaluate(encoder, [])


def test_positions_are_as_many_as_the_model_has():
    assert POSITIONS == TransformerBody.MAX_LENGTH


def test_bundles_that_do_not_fit_are_refused(tmp_path):
    bundle = make_sentence_encoder(tmp_path / "long", "transformer", text={"max_tokens": 513})
    with pytest.raises(BundleError, match="text.max_tokens is 513, but the model has 512"):
        sq.load(bundle)
    bundle = changed(make_sentence_encoder(tmp_path / "wide"), task={"prefixes": [8, 24]})
    with pytest.raises(BundleError, match="must lie below the vectors' width 24, got 24"):
        sq.load(bundle)
    for prefixes in ([16, 8], ["8"], "8", [0], [True]):
        with pytest.raises(BundleError, match="prefixes must be growing whole numbers"):
            sq.load(changed(bundle, task={"prefixes": prefixes}))
    with pytest.raises(BundleError, match="unknown task 'match'"):
        sq.load(changed(bundle, task={"name": "match"}))
    with pytest.raises(BundleError, match="not exported yet"):
        sq.load(make_sentence_encoder(tmp_path / "plain"), backend="onnx")
