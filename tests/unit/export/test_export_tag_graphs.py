"""A tagger's export: graphs without weights, int8 only where F1 holds, and one line for faults."""

import json
import math
import subprocess
import sys

import numpy as np
import onnx
import pytest
from safetensors.numpy import load_file

from small_taggers import ODD, PLAIN, WORDS, make_tagger, random_sentences, tagged
from softquery.bundle import read_bundle
from softquery.errors import BundleError, ConfigError, InputError
from softquery.export import export_tagger
from softquery.export.quantise import SMALLEST
from softquery.export.tag import quantise_tagger
from softquery.runtime.graph_weights import SCALE
from softquery.runtime.tag.model import load_tagger

SENTENCES = random_sentences(150, seed=5)
WIDE = {"size": 40, "spelling": {"size": 16, "output_size": 40}}


@pytest.fixture(scope="module", params=["spans", "plain"])
def wide(request, tmp_path_factory):
    """A tagger wide enough for int8, its float32 graphs, and rows on which they are right."""
    folder = tmp_path_factory.mktemp(request.param)
    more = {"tags": PLAIN, "decoder": "softmax"} if request.param == "plain" else {}
    bundle = read_bundle(make_tagger(folder / "plain", **WIDE, **more))
    plain = export_tagger(bundle, folder / "float32").bundle
    gold = [list(answer.tags) for answer in load_tagger(plain).predict(SENTENCES)]
    return request.param, bundle, plain, tagged(SENTENCES, gold)


def noted(path):
    return json.loads((path / "metrics.json").read_text())


def test_int8_within_the_gate_is_taken(wide, tmp_path):
    kind, bundle, _, rows = wide
    report = export_tagger(bundle, tmp_path / "out", int8=True, limit=20, rows=rows)
    gate = report.gate
    assert gate.metric == ("f1" if kind == "spans" else "accuracy")
    assert (report.precision, gate.float32, gate.n, gate.accepted) == ("int8", 1.0, 150, True)
    assert gate.lost_points == pytest.approx(100 * (1 - gate.int8))
    assert 0 <= gate.lost_points < 20
    found = noted(report.bundle)
    assert found["f1"] == 0.5  # what was measured before stays
    assert found["export"]["gate"]["int8"] == gate.int8
    stored = load_file(report.bundle / "model.safetensors")
    names = {name for name, values in stored.items() if values.dtype == np.int8}
    assert names == {
        "embedder.table.weight",
        *(f"layers.{layer}.{side}.weight_{way}_l0"
          for layer in (0, 1) for side in ("forwards", "backwards") for way in ("ih", "hh")),
    }  # fmt: skip
    assert report.size_bytes < 0.6 * sum(
        path.stat().st_size for path in bundle.path.rglob("*") if path.is_file()
    )


def test_int8_over_the_gate_is_refused_and_float32_kept(wide, tmp_path):
    _, bundle, plain, rows = wide
    report = export_tagger(bundle, tmp_path / "out", int8=True, limit=-0.01, rows=rows)
    assert (report.precision, report.gate.accepted) == ("float32", False)
    assert noted(report.bundle)["export"]["gate"]["accepted"] is False
    files = [(path / "model.safetensors").read_bytes() for path in (plain, report.bundle)]
    assert files[0] == files[1]


def test_int8_answers_do_not_depend_on_their_company(wide, tmp_path):
    _, bundle, _, rows = wide
    path = export_tagger(bundle, tmp_path / "out", int8=True, limit=100, rows=rows).bundle
    assert noted(path)["export"]["precision"] == "int8"
    backend = load_tagger(path, threads=1).backend
    together = backend.scores([*ODD, *SENTENCES])[0]
    for words, scores in zip([*ODD, *SENTENCES[:30]], together, strict=False):
        np.testing.assert_allclose(backend.scores([words])[0][0], scores, rtol=0, atol=1e-5)
    again = load_tagger(path, backend="torch", device="cpu").backend.scores(SENTENCES)[0]
    worst = max(np.abs(a - b).max() for a, b in zip(again, together[len(ODD) :], strict=True))
    assert 0 < worst < 1.0  # int8 weights on float32 torch: near, and not the same


def test_the_last_layer_and_elmos_are_int8_where_they_are_large():
    weights = {
        "output.weight": np.ones((80, 80), np.float32),
        "crf.between": np.ones((80, 80), np.float32),
        "spelling.reader.table.weight": np.ones((262, 16), np.float32),
        "spelling.reader.kernels.0": np.ones((80, 16, 5), np.float32),
        "embedder.words.table.weight": np.ones((80, 80), np.float32),
        "embedder.bilm.projection.weight": np.ones((80, 80), np.float32),
        "embedder.projections.input.weight": np.ones((80, 80), np.float32),
    }
    found = {name for name in quantise_tagger(weights) if name.endswith(SCALE)}
    large = ("output.weight", "embedder.words.table.weight", "embedder.bilm.projection.weight",
             "embedder.projections.input.weight")  # fmt: skip
    assert found == {f"{name}{SCALE}" for name in large}


def test_an_lstm_is_int8_as_a_whole_or_not_at_all(tmp_path):
    """Its inputs are many and its states few."""
    size = {"spelling": {"output_size": 160}, "hidden_sizes": (8,)}
    bundle = read_bundle(make_tagger(tmp_path / "plain", **size))
    stored = bundle.read_weights()
    assert stored["layers.0.forwards.weight_ih_l0"].size >= SMALLEST
    assert stored["layers.0.forwards.weight_hh_l0"].size < SMALLEST
    assert not any("layers" in name for name in quantise_tagger(stored) if name.endswith(SCALE))
    rows = tagged([["w1"]], [["O"]])
    assert export_tagger(bundle, tmp_path / "out", int8=True, limit=100, rows=rows).gate.accepted


@pytest.mark.parametrize("kind", ["cnn", "lstm", "none"])
def test_graphs_hold_no_weights(kind, tmp_path):
    path = make_tagger(tmp_path / "plain", spelling={"kind": kind})
    made = export_tagger(read_bundle(path), tmp_path / "out").bundle / "onnx"
    used = json.loads((made / "weights.json").read_text())
    names = {"tag"} if kind == "none" else {"spell", "tag"}
    assert set(used) == names
    assert {each.name for each in made.iterdir()} == {"weights.json", *(f"{n}.onnx" for n in names)}
    for name in names:
        graph = onnx.load_model_from_string((made / f"{name}.onnx").read_bytes()).graph
        outside = [t for t in graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL]
        assert sorted(each.name for each in outside) == used[name]
        inside = [t for t in graph.initializer if t.data_location != onnx.TensorProto.EXTERNAL]
        assert max((math.prod(each.dims) for each in inside), default=0) <= 16


def test_in_place_and_with_what_else_the_bundle_holds(tmp_path):
    path = make_tagger(tmp_path / "model")
    (path / "training").mkdir()
    (path / "training" / "log.csv").write_text("step\n")
    before = (path / "README.md").read_text(), (path / "config.json").read_text()
    assert export_tagger(read_bundle(path), path).bundle == path
    assert ((path / "README.md").read_text(), (path / "config.json").read_text()) == before
    assert (path / "training" / "log.csv").read_text() == "step\n"
    assert load_tagger(path).backend.name == "onnx"
    assert load_tagger(path, device="cpu").backend.name == "torch on cpu"


def test_what_cannot_be_exported_is_told(tmp_path):
    bundle = read_bundle(make_tagger(tmp_path / "plain"))
    with pytest.raises(ConfigError, match="^int8 needs tagged sentences for its gate; name a file"):
        export_tagger(bundle, tmp_path / "out", int8=True)
    rows = tagged([["w1"]], [["B-ORG"]])
    with pytest.raises(ConfigError, match="^the gate must be a finite number of points, got inf"):
        export_tagger(bundle, tmp_path / "out", int8=True, limit=math.inf, rows=rows)
    with pytest.raises(InputError, match=r"^a\.conll, row 1: tag 'B-ORG' is not one of LOC, PER"):
        export_tagger(bundle, tmp_path / "out", int8=True, rows=rows)
    assert not (tmp_path / "out").exists()


def spoil(path, name, change):
    from safetensors.numpy import save_file

    stored = load_file(path / "model.safetensors")
    stored[name] = change(stored[name])
    save_file(stored, path / "model.safetensors")


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("output.bias", lambda x: x * np.nan, "output.bias holds a number that is not finite"),
        ("embedder.table.weight", lambda x: x[:-1], r"holds vectors of \d+ words, but config.json"),
        ("crf.between", lambda x: x[:2, :2], "crf.between does not fit config.json"),
        ("output.weight", lambda x: x[:, :3], r"onnx.*: cannot be run \("),
        ("output.bias", lambda x: x[:3], r"onnx.*: cannot be run \("),
        ("spelling.reader.kernels.0", lambda x: x[:, :1], r"onnx.*: cannot be run \("),
    ],
)
def test_weights_that_do_not_fit_are_told_in_one_line(name, change, said, tmp_path):
    path = export_tagger(read_bundle(make_tagger(tmp_path / "a")), tmp_path / "b").bundle
    spoil(path, name, change)
    with pytest.raises(BundleError, match=said) as caught:
        load_tagger(path, backend="onnx")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"spelling": None}, "does not fit the graphs"),
        ({"spelling": {"kind": "cnn"}}, "does not fit the graphs \\(no 'max_characters'\\)"),
        ({"spelling": {"kind": "none", "max_characters": 12, "output_size": 6}}, "cannot be run"),
        ({"spelling": {"kind": "cnn", "max_characters": 2, "output_size": 6}}, "cannot be run"),
        ({"spelling": {"kind": "cnn", "max_characters": 12, "output_size": 7}}, "cannot be run"),
    ],
)
def test_a_config_that_lies_is_told_in_one_line(changes, said, tmp_path):
    path = export_tagger(read_bundle(make_tagger(tmp_path / "a")), tmp_path / "b").bundle
    config = json.loads((path / "config.json").read_text())
    config["model"]["config"] |= changes
    (path / "config.json").write_text(json.dumps(config))
    with pytest.raises(BundleError, match=said) as caught:
        load_tagger(path, backend="onnx")
    assert "\n" not in str(caught.value)


def test_an_exported_tagger_answers_without_torch(tmp_path):
    path = export_tagger(read_bundle(make_tagger(tmp_path / "a")), tmp_path / "b").bundle
    code = (
        "import sys\n"
        "for name in ('torch', 'jaxtyping', 'onnx', 'lightning_fabric'): sys.modules[name] = None\n"
        "import softquery as sq\n"
        f"print(sq.load({str(path)!r}).predict([{WORDS[:4]!r}])[0].tags)\n"
        "from softquery.cli import main\n"
        f"sys.argv = ['softquery', 'tag', 'w1 w2 w3', '--model', {str(path)!r}, '--json']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wanted = load_tagger(tmp_path / "a", backend="torch", device="cpu").predict([WORDS[:4]])[0].tags
    first, second = done.stdout.splitlines()
    assert first == str(wanted)
    assert len(json.loads(second)["tags"]) == 3
