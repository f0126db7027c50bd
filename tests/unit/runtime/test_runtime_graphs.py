"""What all tasks do with their graphs is done once: weights, sessions, threads, the try-out."""

import json
import shutil
import threading

import numpy as np
import pytest

from softquery.bundle import read_bundle
from softquery.errors import BundleError
from softquery.runtime.batches import even_batches, length_batches, padded_rows
from softquery.runtime.graph_weights import arrange
from softquery.runtime.graphs import OnnxGraphs, fitting_graphs, laid_out, stored_weights


@pytest.fixture(scope="module")
def graphs(float_bundle):
    bundle = read_bundle(float_bundle)
    weights = laid_out(bundle, stored_weights(bundle))
    return OnnxGraphs.of(bundle, ("encode", "compare"), weights, threads=2)


def test_a_graph_says_what_it_takes_and_gives(graphs):
    assert graphs.name == "onnx"
    assert set(graphs.inputs("encode")) == {"ids", "lengths"}
    assert graphs.outputs("encode") == {"encoding"}
    ids, lengths = np.array([[5, 6]]), np.array([2], dtype=np.int32)
    (encoding,) = graphs.run("encode", ["encoding"], {"ids": ids, "lengths": lengths})
    assert encoding.shape[:2] == (1, 2)


def test_items_are_acted_on_beside_each_other_and_answered_in_their_order(graphs):
    both = threading.Barrier(2, timeout=20)

    def act(item):
        both.wait()
        return -item

    assert graphs.beside(act, [3, 1, 2, 4]) == [-3, -1, -2, -4]
    one = OnnxGraphs(graphs.place.parent, {}, threads=1)
    assert one.beside(lambda _: threading.current_thread().name, [1, 2]) == ["MainThread"] * 2


def test_what_cannot_be_tried_out_is_told_in_one_line(graphs):
    def fail():
        raise RuntimeError("too\nmany   lines")

    with pytest.raises(BundleError, match=r"onnx: cannot be run \(too many lines\)$"):
        graphs.try_out(fail)
    assert graphs.try_out(lambda: 7) == 7
    graphs.check_outputs(np.zeros((1, 3)), 3)
    for found in (2, None):
        with pytest.raises(BundleError, match=f"give 3 outputs, but config.json says {found}$"):
            graphs.check_outputs(np.zeros((1, 3)), found)


def test_what_does_not_fit_is_named(float_bundle):
    bundle = read_bundle(float_bundle)
    for error, said in ((KeyError("x"), "no 'x'"), (ValueError("odd"), "odd")):
        told = pytest.raises(
            BundleError, match=rf"safetensors: does not fit the graphs \({said}\)$"
        )
        with told, fitting_graphs(bundle):
            raise error


def test_only_esim_has_a_projection_that_is_cut_in_three():
    """Another matcher may call a layer by the same name."""
    weights = {
        "project.0.weight": np.arange(36, dtype=np.float32).reshape(4, 9),
        "project.0.bias": np.zeros(4, dtype=np.float32),
    }
    cut = arrange(weights, "esim")
    assert cut["project.aligned.weight"].shape == (3, 4)
    assert "project.0.weight" not in cut
    whole = arrange(weights, "decomposable")
    np.testing.assert_array_equal(whole["project.0.weight"], weights["project.0.weight"].T)


def test_a_classifier_without_known_graphs_is_refused_by_name(float_bundle, tmp_path):
    from softquery.runtime.classify.onnx import OnnxClassifyBackend

    folder = tmp_path / "model"
    shutil.copytree(float_bundle, folder)
    with pytest.raises(BundleError, match=r"model: no graphs are known of 'esim'$"):
        OnnxClassifyBackend(read_bundle(folder))


def test_a_model_that_no_exporter_knows_is_refused_by_name(float_bundle, tmp_path):
    from softquery.export.match import SYSTEMS
    from softquery.export.trial import entry_of

    folder = tmp_path / "model"
    shutil.copytree(float_bundle, folder)
    config = json.loads((folder / "config.json").read_text())
    config["model"]["name"] = "telepathy"
    (folder / "config.json").write_text(json.dumps(config))
    said = r"model: 'telepathy' cannot be exported \(known: esim, decomposable, siamese\)$"
    with pytest.raises(BundleError, match=said):
        entry_of(read_bundle(folder), SYSTEMS)


def test_batches_hold_every_row_once_and_keep_to_their_limits():
    draw = np.random.default_rng(3)
    for make in (length_batches, even_batches):
        for longest in (1, 20, 400):
            lengths = draw.integers(0, longest, 101).tolist()
            batches = make(lengths, most=13, most_tokens=500)
            assert sorted(row for batch in batches for row in batch) == list(range(101))
            for batch in batches:
                tokens = len(batch) * max(lengths[row] for row in batch)
                assert len(batch) <= 13
                assert tokens <= 500 or len(batch) == 1
    assert length_batches([], most=3, most_tokens=9) == even_batches([], most=3, most_tokens=9)


def test_rows_are_padded_with_zeros():
    rows, lengths = padded_rows([np.ones((2, 3), np.float16), np.ones((0, 3), np.float16)])
    assert (rows.shape, rows.dtype, lengths.tolist()) == ((2, 2, 3), np.float32, [2, 0])
    assert rows.sum() == 6
