"""A served sentence encoder: its vectors, cut where fewer numbers are asked for."""

import base64

import numpy as np
import pytest

pytest.importorskip("torch", reason="small models are made with the extra [train]")

from serving import in_thread

import softquery as sq
from small_sentence_encoders import make_sentence_encoder, random_sentences
from softquery.bundle import read_bundle
from softquery.export import export_sentence_encoder
from softquery.serve import Settings
from softquery.serve.catalogue import Catalogue, open_model

TEXTS = [*random_sentences(5), ""]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    plain = make_sentence_encoder(folder / "plain")
    return export_sentence_encoder(read_bundle(plain), folder / "tiny").bundle


@pytest.fixture(scope="module")
def client(bundle):
    models = [open_model("match-en", "match-en"), open_model("tiny", str(bundle))]
    with in_thread(Settings(models=("x",)), Catalogue(models)) as client:
        yield client


def vectors(client, **body):
    reply = client.ask("/embed", {"inputs": TEXTS, **body})
    assert reply.status == 200, reply
    return np.array(reply.json())


def test_vectors_are_those_in_process(client, bundle):
    wanted = sq.load(bundle).encode(TEXTS)
    np.testing.assert_allclose(vectors(client), wanted, atol=1e-6)  # it answers without a name
    np.testing.assert_allclose(vectors(client, model="tiny"), wanted, atol=1e-6)


@pytest.mark.parametrize("width", [1, 8, 24])
def test_dimensions(width, client, bundle):
    wanted = sq.load(bundle).encode(TEXTS, dimensions=width)
    np.testing.assert_allclose(vectors(client, dimensions=width), wanted, atol=1e-6)
    body = {"input": TEXTS, "model": "tiny", "dimensions": width}
    found = client.ask("/v1/embeddings", body).json()
    assert found["model"] == "tiny"
    np.testing.assert_allclose([each["embedding"] for each in found["data"]], wanted, atol=1e-6)
    packed = client.ask("/v1/embeddings", {**body, "encoding_format": "base64"}).json()["data"][0]
    unpacked = np.frombuffer(base64.b64decode(packed["embedding"]), dtype="<f4")
    np.testing.assert_allclose(unpacked, wanted[0], atol=1e-6)


def test_a_width_that_another_model_has_is_its_own(client):
    assert vectors(client, dimensions=400).shape == (len(TEXTS), 400)  # match-en's


@pytest.mark.parametrize(("model", "width"), [("tiny", 25), ("match-en", 24), (None, 401)])
def test_other_widths_are_refused(model, width, client):
    reply = client.ask("/v1/embeddings", {"input": "wa", "model": model, "dimensions": width})
    assert reply.status == 404
    said = "no such model gives vectors of that size (known: tiny up to 24, match-en 400)"
    assert reply.json()["error"]["message"] == said


def test_similarity(client, bundle):
    inputs = {"source_sentence": TEXTS[0], "sentences": TEXTS[:3]}
    found = client.ask("/similarity", {"inputs": inputs}).json()
    wanted = sq.load(bundle).similarity(TEXTS[:1], TEXTS[:3])[0]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_it_is_described(client):
    described = client.ask("/info").json()["models"][1]
    assert described == {
        "name": "tiny", "kind": "sentence-encoder", "can": ["embed"], "max_tokens": 64,
        "vector_size": 24, "pooling": "own", "language": "en",
    }  # fmt: skip


def test_long_texts(client):
    body = {"inputs": "wa " * 65, "model": "tiny"}
    assert client.ask("/embed", body).status == 200
    assert client.ask("/embed", {**body, "truncate": False}).status == 413
