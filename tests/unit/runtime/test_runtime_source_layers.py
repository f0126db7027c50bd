"""A generator's encoder as layers of words."""

import numpy as np
import pytest
import torch

from small_bundles import make_bundle
from small_generators import make_generator
from softquery.data import Tokens
from softquery.errors import BundleError
from softquery.runtime import load_generator
from softquery.runtime.generate.torch import load_generator_model
from softquery.runtime.probe.layers import load_layers
from softquery.runtime.probe.source_layers import SourceLayers
from softquery.text import TextConfig, build_pipeline

SENTENCES = [["w1", "w2"], ["w3", "w4", "w5", "w6", "w7"], ["w8"]]


@pytest.mark.parametrize(("name", "num_layers", "size"), [("transformer", 3, 64),
                                                          ("seq2seq", 1, 128)])  # fmt: skip
def test_layers_are_those_of_the_encoder(tmp_path, name, num_layers, size):
    folder = make_generator(tmp_path / "model", name)
    writer = load_generator(folder, backend="torch", device="cpu")
    for words, found in zip(SENTENCES, load_layers(folder, device="cpu")(SENTENCES), strict=True):
        ids = torch.tensor(writer.pipeline.encode_ids([" ".join(words)]))
        with torch.inference_mode():
            model = writer.backend.model.eval()
            layers = model.source_layers(Tokens(ids, torch.ones_like(ids, dtype=torch.bool)))
        assert found.shape == (num_layers, len(words), size)
        np.testing.assert_allclose(found, torch.stack(layers)[:, 0, 1:-1].numpy(), atol=1e-5)


def test_the_last_layer_is_what_the_decoder_asks(tmp_path):
    model = load_generator_model(
        load_generator(make_generator(tmp_path / "m", "transformer")).bundle, "cpu", 1
    )
    tokens = Tokens(torch.tensor([[2, 7, 8, 3]]), torch.ones(1, 4, dtype=torch.bool))
    with torch.inference_mode():
        last, source = model.eval().source_layers(tokens)[-1], model.encode(tokens)
        asked = model.decoder[0].source_attention.remember(last, last)
    torch.testing.assert_close(source.memory[0].key, asked.key)


def test_a_word_of_several_pieces_is_their_mean(tmp_path):
    folder = make_generator(tmp_path / "model", "transformer")
    model = load_generator_model(load_generator(folder).bundle, "cpu", 1)
    vocab = ["low", "er", "est", "new", "lower newest lowest newer"]
    pipeline = build_pipeline(vocab * 4, TextConfig(unit="bpe", boundaries=True, max_tokens=24),
                              vocab_size=30)  # fmt: skip
    words = ["lower", "newest", "w"]
    (encoded,) = pipeline.encode([" ".join(words)])
    assert len(encoded.ids) > len(words) + 2
    (found,) = SourceLayers(model, pipeline)([words])
    ids = torch.tensor([encoded.ids])
    with torch.inference_mode():
        tokens = Tokens(ids, torch.ones_like(ids, dtype=torch.bool))
        layers = torch.stack(model.source_layers(tokens))[:, 0].numpy()
    text = " ".join(words)
    first = [place for place, (start, end) in enumerate(encoded.offsets)
             if end > start and text[:end].count(" ") == 0]  # fmt: skip
    np.testing.assert_allclose(found[:, 0], layers[:, first].mean(axis=1), atol=1e-5)


def test_words_beyond_learned_positions_are_zeros(tmp_path):
    folder = make_generator(tmp_path / "model", "transformer", positions="learned", max_length=24)
    (found,) = load_layers(folder, device="cpu")([[f"w{number}" for number in range(40)]])
    assert np.abs(found[:, :22]).sum(axis=-1).min() > 0
    assert not found[:, 22:].any()


def test_a_matcher_has_no_such_layers(tmp_path):
    with pytest.raises(BundleError, match="expected a model of words in context, found 'esim'"):
        load_layers(make_bundle(tmp_path / "model"))
