"""A biLM exported: int8 behind its gate, with and without a softmax, and training on from it."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from elmo_cases import ENTRIES, SENTENCES, ElmoCase
from small_elmo import exported_elmo, write_elmo
from softquery.bundle import read_bundle
from softquery.errors import BundleError, ConfigError
from softquery.export import export_embedder
from softquery.export.quantise import quantise
from softquery.models import CharacterConfig, Elmo, ElmoConfig, SoftmaxConfig
from softquery.runtime import load
from softquery.runtime.graph_weights import SCALE, dequantised
from softquery.runtime.torch_models import load_embedder
from softquery.text import spell_vocabulary

TEXTS = [" ".join(sentence) for sentence in SENTENCES] * 40


def wide(kind="full", *, scale=1.0):
    """Wide enough that its matrices are stored as int8."""
    torch.manual_seed(4)
    config = ElmoConfig(
        hidden_size=48, projection_size=32, vocab_size=len(ENTRIES), dropout=0.0,
        characters=CharacterConfig(
            max_characters=9, widths=(1, 2, 5), filters=(32, 32, 64), num_highways=1
        ),
        softmax=SoftmaxConfig(kind=kind, correction_size=2),
    )  # fmt: skip
    model = Elmo(config)
    model.spell(torch.from_numpy(spell_vocabulary(ENTRIES, 9)))
    with torch.no_grad():
        if model.softmax is not None and kind == "full":
            model.softmax.words.weight.mul_(scale)
    return model.eval()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The report of an int8 export, and the folder with `plain` and `exported`."""
    folder = tmp_path_factory.mktemp("int8")
    return exported_elmo(folder, wide(scale=8.0), int8=True, texts=TEXTS), folder


def metrics(report):
    return json.loads((report.bundle / "metrics.json").read_text())


def test_int8_is_stored_once_and_small(small):
    report, folder = small
    stored = load_file(report.bundle / "model.safetensors")
    assert stored["forwards.layers.0.input_weight"].dtype == np.int8
    assert stored["reader.kernels.2"].dtype == np.int8  # three axes
    assert stored["reader.bias"].dtype == np.float32
    whole = sum(v.nbytes for v in load_file(folder / "plain" / "model.safetensors").values())
    assert sum(values.nbytes for values in stored.values()) < 0.35 * whole
    graphs = [path.stat().st_size for path in (report.bundle / "onnx").iterdir()]
    assert sum(graphs) < 25_000
    assert report.size_bytes < 0.6 * whole


def test_the_gate_is_perplexity(small):
    report, _ = small
    gate = report.gate
    assert (gate.metric, gate.accepted, report.precision) == ("perplexity", True, "int8")
    assert gate.lost_points == pytest.approx(100 * (gate.int8 / gate.float32 - 1))
    assert 0 < abs(gate.lost_points) < 0.5
    assert gate.n > 500
    assert report.difference < 1e-5
    noted = metrics(report)["export"]
    assert noted["gate"]["int8"] == gate.int8
    assert (noted["precision"], noted["softmax"]) == ("int8", "kept")
    card = (report.bundle / "README.md").read_text()
    assert f"int8 was kept: perplexity {gate.float32:.4f} as float32" in card


def test_the_gate_refuses(tmp_path):
    report = exported_elmo(tmp_path, wide(scale=8.0), int8=True, texts=TEXTS, limit=-50.0)
    assert (report.precision, report.gate.accepted) == ("float32", False)
    assert not any(n.endswith(SCALE) for n in load_file(report.bundle / "model.safetensors"))
    assert "int8 was refused: perplexity" in (report.bundle / "README.md").read_text()
    assert load(report.bundle).backend.name == "onnx"


@pytest.mark.parametrize("limit", [0.5, 0.0])
def test_without_a_softmax_the_gate_is_the_direction_of_vectors(tmp_path, limit):
    report = exported_elmo(tmp_path, wide("none"), int8=True, texts=TEXTS, limit=limit)
    gate = report.gate
    assert (gate.metric, gate.float32, gate.accepted) == ("cosine", 1.0, limit > 0)
    assert 0.995 < gate.int8 < 1
    assert gate.lost_points == pytest.approx(100 * (1 - gate.int8))
    assert metrics(report)["export"]["softmax"] == "none"


def test_what_is_stored_is_what_is_computed_with(small):
    """Torch and ONNX Runtime see the same numbers, and they are near those before."""
    report, folder = small
    ours, theirs = (
        load(report.bundle, backend=each).embed(TEXTS[:5]) for each in ("onnx", "torch")
    )
    before = load(folder / "plain").embed(TEXTS[:5])
    for one, other, whole in zip(ours, theirs, before, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
        if whole.size:
            assert 0 < np.abs(one - whole).max() < 0.05 * np.abs(whole).max()


def test_quantising_goes_by_the_first_axis():
    values = np.random.default_rng(1).normal(size=(30, 10, 20)).astype(np.float32)
    kept = {"kernels": values, "words": np.arange(5000, dtype=np.int16).reshape(50, 100)}
    stored = quantise(kept)
    assert stored["kernels:scale"].shape == (30,)
    assert stored["words"].dtype == np.int16
    back = dequantised(stored)
    assert back["kernels"].shape == values.shape
    assert np.abs(back["kernels"] - values).max() <= np.abs(values).max() / 254 + 1e-6
    np.testing.assert_array_equal(back["words"], kept["words"])


def test_the_softmax_can_be_left_out(tmp_path):
    report = exported_elmo(tmp_path, wide(), int8=True, texts=TEXTS, softmax="left out")
    stored = load_file(report.bundle / "model.safetensors")
    assert not [name for name in stored if name.startswith("softmax.")]
    bundle = read_bundle(report.bundle)
    assert bundle.config.model["config"]["softmax"] == {"kind": "none"}
    assert bundle.config.model["config"]["vocab_size"] == 4
    assert metrics(report)["export"]["softmax"] == "left out"
    assert metrics(report)["export"]["gate"]["metric"] == "perplexity"
    assert "Without a softmax" in bundle.card
    assert load_embedder(bundle).softmax is None
    before = load(tmp_path / "plain").embed(TEXTS[:4])
    for one, other in zip(load(report.bundle).embed(TEXTS[:4]), before, strict=True):
        assert one.shape == other.shape
        assert np.abs(one - other).max(initial=0) < 0.1


@pytest.mark.parametrize("kind", ["sampled", "adaptive", "characters"])
def test_every_softmax_survives(tmp_path, kind):
    """A spelling, which is a matrix of whole numbers, stays as it is."""
    report = exported_elmo(tmp_path, wide(kind), int8=True, texts=TEXTS, limit=100)
    model = load_embedder(read_bundle(report.bundle))
    assert model.config.softmax.kind == kind
    if kind == "characters":
        spelt = torch.from_numpy(spell_vocabulary(ENTRIES, 9))
        torch.testing.assert_close(model.softmax.words.spelling, spelt)


def test_in_place_and_again(small, tmp_path):
    """What is int8 already is read as float32 first."""
    import shutil

    folder = shutil.copytree(small[0].bundle, tmp_path / "again")
    report = export_embedder(read_bundle(folder), folder, int8=True, texts=TEXTS)
    before, after = (load_file(each / "model.safetensors") for each in (small[0].bundle, folder))
    assert before.keys() == after.keys()
    for name, values in before.items():
        assert after[name].dtype == values.dtype, name
    assert abs(report.gate.lost_points) < 0.01
    assert (folder / "README.md").read_text().count("## Export") == 1


def test_without_text_only_float32(tmp_path):
    plain = read_bundle(write_elmo(tmp_path / "plain"))
    with pytest.raises(ConfigError, match="^int8 needs text for its gate; name a file with --dat"):
        export_embedder(plain, tmp_path / "out", int8=True)
    with pytest.raises(ConfigError, match="^the gate must be a finite number of per cent, got nan"):
        export_embedder(plain, tmp_path / "out", limit=float("nan"))
    report = export_embedder(plain, tmp_path / "out")
    assert (report.gate, report.precision) == (None, "float32")


def test_without_torch_there_is_no_comparison(tmp_path, monkeypatch):
    plain = read_bundle(write_elmo(tmp_path / "plain"))
    monkeypatch.setattr("softquery.export.embed._on_torch", lambda bundle: None)
    report = export_embedder(plain, tmp_path / "out")
    assert report.difference is None
    assert metrics(report)["export"]["difference_from_torch"] is None


def test_graphs_are_written_without_torch(tmp_path):
    """In a process that has none."""
    import subprocess

    plain = write_elmo(tmp_path / "plain")
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['torch', 'jaxtyping', 'lightning_fabric']))\n"
        "from pathlib import Path\n"
        "from softquery.bundle import read_bundle\n"
        "from softquery.export import export_embedder\n"
        "from softquery.runtime import load\n"
        "export_embedder(read_bundle(sys.argv[1]), Path(sys.argv[2]))\n"
        "print(load(sys.argv[2]).embed(['a cat'])[0].shape)\n"
    )
    command = [sys.executable, "-c", code, str(plain), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("(3, 2, 8)\n", "")


def test_graphs_that_would_differ_are_not_written(tmp_path, monkeypatch):
    from softquery.export.graph import elmo

    plain = read_bundle(write_elmo(tmp_path / "plain", ElmoCase(settings={
        "cell_clip": 0.05, "projection_clip": 0.05}).build().eval()))  # fmt: skip
    as_is = elmo.context_graph

    def careless(weights, sizes):
        return as_is(weights, replace(sizes, cell_clip=0.0))

    monkeypatch.setattr(elmo, "context_graph", careless)
    with pytest.raises(BundleError, match=r"plain: the exported graphs differ from torch by \d"):
        export_embedder(plain, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_no_embedder_is_refused(tmp_path):
    path = write_elmo(tmp_path / "plain")
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "kind": "matcher"}))
    with pytest.raises(BundleError, match="plain: expected an embedder, found kind 'matcher'$"):
        export_embedder(read_bundle(path), tmp_path / "out")


def test_weights_that_are_not_finite(tmp_path):
    model = ElmoCase().build()
    with torch.no_grad():
        model.reader.bias[0] = torch.nan
    plain = read_bundle(write_elmo(tmp_path / "plain", model.eval()))
    with pytest.raises(BundleError, match=r"safetensors: reader\.bias holds a number that is not"):
        export_embedder(plain, tmp_path / "out")
