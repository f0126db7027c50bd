"""A biLM's layers, sentence by sentence."""

import numpy as np
import pytest
import torch

from elmo_cases import SENTENCES, ElmoCase
from small_bundles import make_bundle
from small_elmo import exported_elmo, write_elmo
from softquery.errors import BundleError
from softquery.runtime.probe.layers import BATCH_WORDS, ElmoLayers, load_elmo_layers
from softquery.text import spell_sentences


@pytest.mark.parametrize("way", ["exact", "fast"])
def test_layers_are_those_of_the_model(way):
    model = ElmoCase(settings={"way": way}).build().eval()
    found = ElmoLayers(model)(SENTENCES)
    for sentence, layers in zip(SENTENCES, found, strict=True):
        characters, mask = map(torch.from_numpy, spell_sentences([sentence], 9))
        with torch.no_grad():
            expected = model.encode(characters, mask).layers[:, 0, 1:-1].numpy()
        assert layers.shape == (3, len(sentence), model.output_size)
        np.testing.assert_allclose(layers, expected, atol=1e-6)


def test_batches_change_nothing(monkeypatch):
    source = ElmoLayers(ElmoCase().build())
    whole = source(SENTENCES)
    monkeypatch.setattr("softquery.runtime.probe.layers.BATCH_WORDS", 7)
    for one, other in zip(whole, source(SENTENCES), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert BATCH_WORDS > 7


def test_a_bundle_by_its_folder(tmp_path):
    folder = write_elmo(tmp_path / "elmo")
    (layers,) = load_elmo_layers(folder, device="cpu")([["the", "cat"]])
    assert layers.shape == (3, 2, 8)
    assert layers.dtype == np.float32


def test_a_matcher_is_refused(tmp_path):
    folder = make_bundle(tmp_path / "model")
    with pytest.raises(BundleError, match="expected a model of words in context, found 'esim'"):
        load_elmo_layers(folder)


def test_an_exported_bundle_is_read_on_onnx_runtime(tmp_path, monkeypatch):
    folder = exported_elmo(tmp_path).bundle
    wanted = load_elmo_layers(folder, device="cpu")
    assert isinstance(wanted, ElmoLayers)
    monkeypatch.setattr("softquery.runtime.probe.layers._has_gpu", lambda: False)
    source = load_elmo_layers(folder)
    assert not isinstance(source, ElmoLayers)
    for one, other in zip(source(SENTENCES), wanted(SENTENCES), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
