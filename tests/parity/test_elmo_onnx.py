"""ELMo on ONNX Runtime against the recorded activations, against torch, and against the oracle."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from elmo_cases import CASES, SENTENCES, ElmoCase, spelt
from published_elmo import Oracle, options_of, random_arrays, read_published, write_published
from shared_data import shared_data
from small_elmo import exported_elmo
from softquery.bundle import read_bundle
from softquery.export import export_embedder
from softquery.interop import import_elmo
from softquery.models import CharacterConfig, Elmo, ElmoConfig, SoftmaxConfig
from softquery.runtime import WordsInContext, load
from softquery.text import UNK_ID, reserved_tokens, spell_tokens, spell_vocabulary

pytest.importorskip("onnx", reason="graphs are written with onnx ([train], [hdf5])")

ODD = [
    ["A", "naïve", "caf\u00e9"],
    ["incomprehensibilities", "!"],
    ["\U0001f44d\U0001f44d", "漢字", "mixed漢text"],
    [],
    ["x" * 10_000],
]
CLOSE = {"rtol": 0, "atol": 1e-5}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The published fixture: its folder, and its biLM without torch."""
    pytest.importorskip("h5py", reason="published weights are HDF5 ([hdf5])")
    folder, place = shared_data("fixtures/elmo"), tmp_path_factory.mktemp("recorded")
    import_elmo(folder / "lm_weights.hdf5", folder / "options.json", place / "plain")
    export_embedder(read_bundle(place / "plain"), place / "exported")
    return folder, WordsInContext.open(read_bundle(place / "exported"), threads=2)


def streams_of(folder):
    return json.loads((folder / "sentences.json").read_text(encoding="utf-8"))


@pytest.mark.data
def test_recorded_activations_of_the_highest_layer(recorded):
    """Three streams, whose states run on from sentence to sentence."""
    import h5py

    folder, words = recorded
    streams = streams_of(folder)
    files = [h5py.File(folder / f"lm_embeddings_{number}.hdf5") for number in range(3)]
    state = None
    for place in range(10):
        layers, state = words.carry([stream[place].split() for stream in streams], state)
        for found, file in zip(layers, files, strict=True):
            both = np.concatenate(file[str(place)], axis=-1)
            np.testing.assert_allclose(found[2], both, rtol=0, atol=1e-4)


@pytest.mark.data
def test_recorded_vectors_of_tokens_alone(recorded):
    import h5py

    folder, words = recorded
    tokens = (folder / "vocab_test.txt").read_text(encoding="utf-8").split("\n")
    wanted = h5py.File(folder / "elmo_token_embeddings.hdf5")["embedding"][...]
    is_word = [token not in ("<S>", "</S>") for token in tokens]
    (layers,) = words.layers([[token for token in tokens if token not in ("<S>", "</S>")]])
    np.testing.assert_allclose(layers[0, :, :16], wanted[is_word], rtol=0, atol=1e-4)
    characters = spell_tokens(tokens)
    characters[[tokens.index("<S>"), tokens.index("</S>")]] = spell_vocabulary(
        ["<pad>", "<unk>", "<bos>", "<eos>"]
    )[2:]
    (found,) = words.backend.read([characters])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)


@pytest.mark.data
def test_every_layer_of_the_fixture_equals_the_oracle(recorded):
    """Layer 1 was not recorded; the oracle that gives what was recorded has it."""
    folder, words = recorded
    oracle = Oracle(*read_published(folder))
    streams = streams_of(folder)
    state, states = None, [oracle.fresh() for _ in range(3)]
    for place in range(2):
        sentences = [stream[place].split() for stream in streams]
        layers, state = words.carry(sentences, state)
        for found, sentence, kept in zip(layers, sentences, states, strict=True):
            wanted = oracle.layers(sentence, kept)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_layers_equal_those_of_torch(case, tmp_path):
    model = case.build().eval()
    words = WordsInContext.open(read_bundle(exported_elmo(tmp_path, model).bundle), threads=1)
    characters, mask = spelt()
    with torch.inference_mode():
        wanted = model.encode(characters, mask).layers.numpy()
    for number, found in enumerate(words.layers(SENTENCES)):
        length = len(SENTENCES[number])
        assert found.shape == (model.num_layers, length, model.output_size)
        np.testing.assert_allclose(found, wanted[:, number, 1 : length + 1], **CLOSE)


@pytest.mark.parametrize("clip", [3.0, 0.02])
@pytest.mark.parametrize("way", ["exact", "fast"])
def test_a_state_runs_on_as_in_torch(way, clip, tmp_path):
    """Streams of unequal lines, so that padding must leave their states as they were."""
    clips = {"cell_clip": clip, "projection_clip": clip}
    model = ElmoCase(settings={"way": way, **clips}).build().eval()
    words = WordsInContext.open(read_bundle(exported_elmo(tmp_path, model).bundle))
    ours, theirs = None, model.initial_state(len(SENTENCES))
    for sentences in (SENTENCES, SENTENCES[::-1], SENTENCES):
        layers, ours = words.carry(sentences, ours)
        characters, mask = spelt(sentences)
        with torch.inference_mode():
            output = model.encode(characters, mask, theirs)
        theirs = output.state
        for number, found in enumerate(layers):
            wanted = output.layers[:, number, 1 : len(sentences[number]) + 1].numpy()
            np.testing.assert_allclose(found, wanted, **CLOSE)
        for our_way, their_way in zip(ours, theirs, strict=True):
            for one, other in zip(our_way, their_way, strict=True):
                np.testing.assert_allclose(one, other.numpy(), **CLOSE)


def test_a_table_of_many_words_finds_them_as_torch_does(tmp_path):
    """Numbers of many digits, which a sum in ONNX Runtime would round."""
    words = [f"{'long' * (place % 11)}{place}" for place in range(2000)]
    entries = [*reserved_tokens("words"), *words]
    sizes = {"num_words": len(entries), "hidden_size": 5, "projection_size": 3, "vocab_size": 14}
    softmax = SoftmaxConfig(kind="none")
    model = Elmo(ElmoConfig(reads="words", softmax=softmax, **sizes)).eval()
    model.spell(torch.from_numpy(spell_vocabulary(entries)))
    exported = exported_elmo(tmp_path, model).bundle
    reader = WordsInContext.open(read_bundle(exported), threads=1)
    (layers,) = reader.layers([[*words, "unheard-of"]])
    table = model.reader.table.weight.detach().numpy()
    wanted = table[[*range(4, len(entries)), UNK_ID]]
    np.testing.assert_array_equal(layers[0, :, :3], wanted)


def test_a_wider_model_equals_torch(tmp_path):
    """Wide enough for blocked matrix products, and for states that the clips cut."""
    torch.manual_seed(1)
    config = ElmoConfig(
        hidden_size=96, projection_size=32, cell_clip=0.3, projection_clip=0.1,
        characters=CharacterConfig(filters=(8, 8, 16, 16, 16, 8, 24)),
        softmax=SoftmaxConfig(kind="none"), vocab_size=14,
    )  # fmt: skip
    model = Elmo(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "forwards" in name or "backwards" in name:
                weight.mul_(1.5)
    report = exported_elmo(tmp_path, model)
    assert report.difference < 1e-5
    ours, theirs = (
        load(path, backend=backend).embed(ODD)
        for path, backend in ((report.bundle, "onnx"), (tmp_path / "plain", "torch"))
    )
    for found, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, wanted, **CLOSE)
    assert max(np.abs(each[1]).max(initial=0) for each in ours) == pytest.approx(0.1)
    unclipped = Elmo(replace(config, way="fast")).eval()
    unclipped.load_state_dict(model.state_dict())
    loose = load(exported_elmo(tmp_path / "loose", unclipped).bundle).embed(ODD)
    assert np.abs(loose[0] - ours[0]).max() > 0.1


@pytest.mark.parametrize("settings", [{"residual": False, "layers": 1}, {"clip": 0.15}, {}])
def test_imported_weights_equal_the_oracle(settings, tmp_path):
    pytest.importorskip("h5py", reason="published weights are HDF5 ([hdf5])")
    options = options_of(**settings)
    arrays = random_arrays(options)
    folder = write_published(tmp_path / "published", options, arrays)
    import_elmo(folder / "lm_weights.hdf5", folder / "options.json", tmp_path / "model")
    export_embedder(read_bundle(tmp_path / "model"), tmp_path / "model")
    words, oracle = WordsInContext.open(read_bundle(tmp_path / "model")), Oracle(options, arrays)
    state, states = None, [oracle.fresh() for _ in ODD[:3]]
    for sentences in (ODD[:3], ODD[2::-1]):
        layers, state = words.carry(sentences, state)
        for found, sentence, kept in zip(layers, sentences, states, strict=True):
            np.testing.assert_allclose(found, oracle.layers(sentence, kept), **CLOSE)
