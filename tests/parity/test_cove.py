"""A translator's encoder as a biLM: the same states, in torch and without it."""

import numpy as np
import pytest
import torch

from small_generators import make_generator, some_texts
from softquery.bundle import read_bundle
from softquery.data import Tokens
from softquery.errors import BundleError
from softquery.export import export_embedder
from softquery.interop import import_cove
from softquery.runtime import load
from softquery.runtime.torch_models import load_task_model
from softquery.text import TextConfig, TextPipeline

CLOSE = {"rtol": 0, "atol": 1e-5}


def states_of(translator, texts):
    """What the translator's decoder would ask: [T, E] for each text, with both ends."""
    bundle = read_bundle(translator)
    model = load_task_model(bundle)
    pipeline = TextPipeline.load(bundle.path, TextConfig.from_dict(bundle.config.text))
    found = []
    with torch.inference_mode():
        for ids in pipeline.encode_ids(texts):
            row = torch.tensor([ids])
            found.append(model.source_layers(Tokens(row, row > 0))[-1][0].numpy())
    return found


def imported(folder, **settings):
    """A translator, what was made of its encoder, and that without torch."""
    sizes = {"embedding_size": 6, "hidden_size": 9, "cell": "lstm", **settings}
    translator = make_generator(folder / "translator", "seq2seq", **sizes)
    plain = import_cove(translator, folder / "plain")
    return translator, plain, export_embedder(read_bundle(plain), folder / "exported").bundle


@pytest.mark.parametrize("sizes", [(6, 9), (9, 6), (7, 7)])
def test_layer_1_has_the_states_of_the_translator(sizes, tmp_path):
    embedding_size, hidden_size = sizes
    translator, plain, exported = imported(
        tmp_path, embedding_size=embedding_size, hidden_size=hidden_size
    )
    texts = [*some_texts(6), "w1 unheard-of w2", ""]
    wanted = states_of(translator, texts)
    width = max(sizes)
    for path, backend in ((plain, "torch"), (exported, "onnx")):
        model = load(path, backend=backend)
        assert (model.num_layers, model.output_size) == (2, 2 * width)
        for found, states in zip(model.embed(texts), wanted, strict=True):
            for way in (0, 1):
                ours = found[1, :, way * width :][:, :hidden_size]
                theirs = states[1:-1, way * hidden_size :][:, :hidden_size]
                np.testing.assert_allclose(ours, theirs, **CLOSE)


def test_layer_0_is_the_table_of_words(tmp_path):
    translator, _, exported = imported(tmp_path)
    bundle = read_bundle(translator)
    pipeline = TextPipeline.load(bundle.path, TextConfig.from_dict(bundle.config.text))
    table = bundle.read_weights()["words.source.weight"]
    (found,) = load(exported).embed(["w7 unheard w3"])
    rows = [pipeline.token_id("w7"), 1, pipeline.token_id("w3")]
    np.testing.assert_array_equal(found[0, :, :6], table[rows])
    assert not found[0, :, 6:9].any()


def test_one_table_for_both_sides_is_taken(tmp_path):
    _, plain, _ = imported(tmp_path, tie="all", embedding_size=9)
    assert read_bundle(plain).config.model["config"]["projection_size"] == 9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cell": "gru"}, r"model.cell must be lstm, found 'gru'; train one with: softquery train"),
        ({"num_layers": 2}, "model.num_layers must be 1, found 2"),
        ({"direction": "forwards"}, "model.direction must be both, found 'forwards'"),
    ],
)
def test_an_encoder_of_another_kind_is_refused(settings, message, tmp_path):
    settings = {"cell": "lstm", **settings}
    translator = make_generator(tmp_path / "translator", "seq2seq", **settings)
    with pytest.raises(BundleError, match=message):
        import_cove(translator, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_another_model_is_refused(tmp_path):
    translator = make_generator(tmp_path / "translator", "transformer")
    with pytest.raises(BundleError, match=r"expected a recurrent encoder.*found 'transformer'"):
        import_cove(translator, tmp_path / "made")
