"""ELMo against its published form: recorded activations, and an oracle in plain loops."""

import json

import numpy as np
import pytest
import torch

from published_elmo import Oracle, options_of, random_arrays, read_published, write_published
from shared_data import shared_data
from softquery.bundle import read_bundle
from softquery.interop import import_elmo, publish_elmo
from softquery.runtime.torch_models import load_embedder
from softquery.text import spell_sentences, spell_tokens, spell_vocabulary

h5py = pytest.importorskip("h5py", reason="published weights are HDF5 ([hdf5])")

SENTENCES = [
    ["A", "naïve", "caf\u00e9"],
    ["incomprehensibilities", "!"],
    ["\U0001f44d\U0001f44d", "漢字", "mixed漢text"],
    ["x"],
]
SIZES = {
    "as published": {},
    "without residual": {"residual": False},
    "one layer": {"layers": 1},
    "three layers": {"layers": 3},
    "no clip": {"clip": None},
    "a clip that binds": {"clip": 0.15},
    "tanh": {"activation": "tanh"},
    "no highway": {"highways": None},
    "one highway": {"highways": 1},
    "as many filters as wide": {"filters": ((1, 1), (3, 3)), "highways": 1},
    "symbols counted without padding": {"counted": 261},
}


@pytest.fixture(scope="module")
def fixture_model(tmp_path_factory):
    folder = shared_data("fixtures/elmo")
    target = tmp_path_factory.mktemp("published") / "elmo"
    import_elmo(folder / "lm_weights.hdf5", folder / "options.json", target)
    return folder, load_embedder(read_bundle(target))


def encode(model, sentences, state=None):
    characters, mask = spell_sentences(sentences, model.config.characters.max_characters)
    with torch.inference_mode():
        return model.encode(torch.from_numpy(characters), torch.from_numpy(mask), state)


@pytest.mark.data
def test_recorded_activations_of_the_highest_layer(fixture_model):
    """Three streams, whose states run on from sentence to sentence, in batches of three."""
    folder, model = fixture_model
    streams = json.loads((folder / "sentences.json").read_text(encoding="utf-8"))
    recorded = [h5py.File(folder / f"lm_embeddings_{number}.hdf5") for number in range(3)]
    state = model.initial_state(3)
    for place in range(10):
        output = encode(model, [stream[place].split() for stream in streams], state)
        state = output.state
        for number, file in enumerate(recorded):
            both = np.concatenate(file[str(place)], axis=-1)  # forwards, backwards
            found = output.layers[2, number, 1 : len(both) + 1].numpy()
            np.testing.assert_allclose(found, both, atol=1e-5)


@pytest.mark.data
def test_recorded_vectors_of_tokens_alone(fixture_model):
    """Layer 0: what the characters say, for each entry of the recorded vocabulary."""
    folder, model = fixture_model
    words = (folder / "vocab_test.txt").read_text(encoding="utf-8").split("\n")
    recorded = h5py.File(folder / "elmo_token_embeddings.hdf5")["embedding"][...]
    characters = spell_tokens(words)
    ends = spell_vocabulary(["<pad>", "<unk>", "<bos>", "<eos>"])[2:]
    characters[[words.index("<S>"), words.index("</S>")]] = ends
    with torch.inference_mode():
        found = model.read_tokens(torch.from_numpy(characters)).numpy()
    np.testing.assert_allclose(found, recorded, atol=1e-5)


@pytest.mark.data
def test_every_layer_of_the_published_model_equals_the_oracle(fixture_model):
    """No activations of layer 1 were recorded; an oracle that gives the recorded ones has them."""
    folder, model = fixture_model
    oracle = Oracle(*read_published(folder))
    streams = json.loads((folder / "sentences.json").read_text(encoding="utf-8"))
    state, states = model.initial_state(3), [oracle.fresh() for _ in range(3)]
    for place in (0, 1, 3):
        sentences = [stream[place].split() for stream in streams]
        output = encode(model, sentences, state)
        state = output.state
        for number, sentence in enumerate(sentences):
            wanted = oracle.layers(sentence, states[number])
            found = output.layers[:, number, 1 : len(sentence) + 1].numpy()
            np.testing.assert_allclose(found, wanted, atol=1e-5)
            file = h5py.File(folder / f"lm_embeddings_{number}.hdf5")
            if place < 2:  # the oracle has read no sentence between that it should have
                both = np.concatenate(file[str(place)], axis=-1)
                np.testing.assert_allclose(wanted[2], both, atol=1e-5)


@pytest.mark.parametrize("size", SIZES)
def test_any_size_equals_the_oracle(size, tmp_path):
    options = options_of(**SIZES[size])
    arrays = random_arrays(options)
    folder = write_published(tmp_path / "published", options, arrays)
    import_elmo(folder / "lm_weights.hdf5", folder / "options.json", tmp_path / "model")
    model, oracle = load_embedder(read_bundle(tmp_path / "model")), Oracle(options, arrays)
    state, states = model.initial_state(4), [oracle.fresh() for _ in SENTENCES]
    for sentences in (SENTENCES, SENTENCES[::-1]):
        output = encode(model, sentences, state)
        state = output.state
        for number, sentence in enumerate(sentences):
            wanted = oracle.layers(sentence, states[number])
            found = output.layers[:, number, 1 : len(sentence) + 1].numpy()
            np.testing.assert_allclose(found, wanted, atol=1e-5, err_msg=size)


def test_the_clips_of_the_size_above_bind(tmp_path):
    """Else a missing clip would not be noticed."""
    options = options_of(clip=0.15)
    arrays = random_arrays(options)
    with_clip = Oracle(options, arrays).layers(SENTENCES[0], Oracle(options, arrays).fresh())
    without = Oracle(options_of(clip=None), arrays)
    assert np.abs(with_clip - without.layers(SENTENCES[0], without.fresh())).max() > 0.1


@pytest.mark.parametrize("size", [name for name in SIZES if "wide" not in name])
def test_what_was_read_is_written_back(size, tmp_path):
    options = options_of(**SIZES[size])
    folder = write_published(tmp_path / "published", options, random_arrays(options))
    import_elmo(folder / "lm_weights.hdf5", folder / "options.json", tmp_path / "model")
    again = tmp_path / "again"
    again.mkdir()
    publish_elmo(
        read_bundle(tmp_path / "model"),
        weights=again / "lm_weights.hdf5",
        options=again / "options.json",
    )
    (before, arrays), (after, written) = read_published(folder), read_published(again)
    before["char_cnn"] |= {"n_characters": 262, "n_highway": before["char_cnn"]["n_highway"] or 0}
    assert after == before
    assert written.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_allclose(written[name], array, atol=1e-6, err_msg=name)
