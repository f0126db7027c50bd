"""A BERT out of a graph in the layout of UIE-nano, with the pieces that some texts need."""

import json
import sys

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="reading the graph needs onnx")
pytest.importorskip("torch", reason="importing a BERT needs the extra [train]")

import ernie_folder  # noqa: E402
from pack_teachers import LINEAR, POSITIONS, ernie_weights  # noqa: E402

import softquery as sq  # noqa: E402
from softquery.cli import app  # noqa: E402

PIECES = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "龘", "好", "书", "a", "##b", "word"]
WIDTH, SEGMENTS, KINDS = 12, 4, 2
INNER = 4 * WIDTH


@pytest.fixture
def constants():
    """One layer, in the names that Paddle gives its weights."""
    draw = np.random.default_rng(1)
    sizes = {
        "embedding_0.w_0": (len(PIECES), WIDTH),
        "embedding_1.w_0": (POSITIONS + 8, WIDTH),
        "embedding_2.w_0": (SEGMENTS, WIDTH),
        "embedding_3.w_0": (KINDS, WIDTH),
    }
    for number in range(3):
        sizes |= {f"layer_norm_{number}.w_0": (WIDTH,), f"layer_norm_{number}.b_0": (WIDTH,)}
    for number, name in enumerate(LINEAR):
        ends = {"intermediate.dense": (WIDTH, INNER), "output.dense": (INNER, WIDTH)}
        inside, outside = ends.get(name, (WIDTH, WIDTH))
        sizes |= {f"linear_{number}.w_0": (inside, outside), f"linear_{number}.b_0": (outside,)}
    found = {name: draw.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    kept = np.ones((len(PIECES), 1), np.float32)
    kept[0] = 0
    return found | {"p2o.const.0": kept}


@pytest.fixture
def graph(constants, tmp_path):
    nodes = [
        onnx.helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(array))
        for name, array in constants.items()
    ]
    made = onnx.helper.make_graph(nodes, "uie", [], [])
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.helper.make_model(made).SerializeToString())
    return path


def test_weights_are_where_the_layout_has_them(graph, constants):
    arrays, sizes = ernie_weights(graph)
    assert sizes == (len(PIECES), WIDTH, 1, INNER, 12, 2, POSITIONS)
    words = arrays["embeddings.word_embeddings.weight"]
    assert not words[0].any()
    np.testing.assert_array_equal(words[1:], constants["embedding_0.w_0"][1:])
    segments = constants["embedding_2.w_0"][:2] + constants["embedding_3.w_0"][0]
    np.testing.assert_array_equal(arrays["embeddings.token_type_embeddings.weight"], segments)
    last = arrays["encoder.layer.0.output.dense.weight"]
    np.testing.assert_array_equal(last, constants["linear_5.w_0"].T)


def test_a_folder_with_the_pieces_of_the_texts_is_imported(graph, constants, tmp_path, monkeypatch):
    vocabulary, texts = tmp_path / "vocab.txt", tmp_path / "texts.jsonl"
    vocabulary.write_text("".join(f"{piece}\n" for piece in PIECES), encoding="utf-8")
    rows = [{"text": "好书 word"}, {"text": "好书 word 龘"}]
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    folder, bundle = tmp_path / "folder", tmp_path / "bundle"
    words = ["ernie_folder.py", graph, vocabulary, "--texts", texts, "--output", folder]
    monkeypatch.setattr(sys, "argv", [str(word) for word in words])
    ernie_folder.main()
    kept = (folder / "vocab.txt").read_text(encoding="utf-8").split()
    assert kept == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "好", "书", "a", "##b", "word"]
    app(["import", "bert", str(folder), "--output", str(bundle)], standalone_mode=False)
    model = sq.load(bundle)
    states = model.embed(["好书"])[0]
    assert states.shape[1:] == (4, WIDTH)  # two characters between two marks
    assert np.isfinite(states).all()
