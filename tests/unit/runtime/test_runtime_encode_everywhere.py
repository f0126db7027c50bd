"""`encode` gives sentence vectors by the same call, whatever the model is."""

import numpy as np
import pytest

import softquery as sq
from softquery.errors import BundleError

TEXTS = ["w1 the river", "a man and w2", "", "w1 the river"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("words") / "words.txt"
    path.write_text("the 1 0 0\nriver 0 1 0\nbank 0 1 1\nman -1 0 1\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def models(float_bundle, siamese_bundle, elmo_bundle, table):
    """By what they are, with the width of their vectors."""
    return {
        "esim": (sq.load(float_bundle), 128),
        "siamese": (sq.load(siamese_bundle), 128),
        "elmo": (sq.load(elmo_bundle), None),
        "bert": (sq.load("bert-mini-en"), 256),
        "words": (sq.load_vectors(table), 3),
    }


every = pytest.mark.parametrize("name", ["esim", "siamese", "elmo", "bert", "words"])


@every
def test_every_text_has_a_vector(name, models):
    model, width = models[name]
    found = model.encode(iter(TEXTS))
    assert found.dtype == np.float32
    assert found.shape == (4, width or model.output_size)
    lengths = np.linalg.norm(found, axis=1)
    np.testing.assert_allclose(lengths[[0, 1]], 1, atol=1e-5)
    np.testing.assert_array_equal(found[0], found[3])
    assert model.encode([]).shape == (0, found.shape[1])


@every
def test_what_is_no_list_of_texts_is_refused(name, models):
    model, _ = models[name]
    for given in ("one text", b"bytes", 7, None):
        with pytest.raises(TypeError, match="expected a list of sentences, got"):
            model.encode(given)


def test_an_esim_that_aligns_a_projection_gives_means_of_it(tmp_path):
    pytest.importorskip("torch")
    from small_bundles import exported, make_bundle

    bundle = make_bundle(tmp_path / "plain", alignment_size=20)
    matcher = sq.load(exported(bundle, tmp_path / "float32").bundle)
    found = matcher.encode(TEXTS)
    assert found.shape == (4, 20)
    in_torch = sq.load(bundle, backend="torch", device="cpu").encode(TEXTS)
    np.testing.assert_allclose(found, in_torch, atol=1e-5)


def test_a_siamese_matcher_gives_what_it_compares(models):
    matcher, _ = models["siamese"]
    (encoding,) = matcher.encodings(TEXTS[:1])
    np.testing.assert_allclose(
        matcher.encode(TEXTS[:1])[0], encoding / np.linalg.norm(encoding), atol=1e-6
    )


@pytest.mark.parametrize("name", ["esim", "siamese"])
def test_vectors_are_no_encodings(name, models):
    matcher, _ = models[name]
    with pytest.raises(TypeError, match="expected what `encodings` gives, a list of arrays, got"):
        matcher.rank("w1", TEXTS, encodings=matcher.encode(TEXTS))


def test_an_embedder_gives_the_mean_of_its_words(models):
    embedder, _ = models["elmo"]
    (layers,) = embedder.embed(TEXTS[:1], layers="mix")
    mean = layers[0].mean(axis=0)
    wanted = mean / np.linalg.norm(mean)
    np.testing.assert_allclose(embedder.encode(TEXTS[:1])[0], wanted, atol=1e-6)


def test_a_text_without_known_words_is_zeros(models):
    for name in ("elmo", "bert", "words"):
        assert not models[name][0].encode([""]).any()


def test_progress_is_told(models):
    told = []
    models["esim"][0].encode(["w1"] * 600, advance=told.append)
    assert told == [256, 512, 600]


def test_a_model_that_reads_pairs_has_no_vectors(float_bundle):
    matcher = sq.load(float_bundle)
    matcher.bundle.config.model["name"] = "bert-matcher"
    with pytest.raises(BundleError, match="'bert-matcher' has no vectors of texts"):
        matcher.encode(["a"])
