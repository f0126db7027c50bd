"""Exported bundles whose files are no plain files, or whose settings say another model."""

import json
import os
import shutil

import pytest

import softquery
from softquery.errors import BundleError
from softquery.runtime.width_checks import LAYERS, WIDTHS, widths

pytest.importorskip("torch")


@pytest.fixture
def bundle(float_bundle, tmp_path):
    return shutil.copytree(float_bundle, tmp_path / "model")


def change(folder, *keys, to):
    """Give a setting of the model another value."""
    path = folder / "config.json"
    data = json.loads(path.read_text())
    inner = data["model"]["config"]
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = to
    path.write_text(json.dumps(data))


@pytest.mark.parametrize("name", ["encode.onnx", "weights.json"])
def test_a_pipe_among_the_graphs_is_not_waited_for(bundle, name):
    (bundle / "onnx" / name).unlink()
    os.mkfifo(bundle / "onnx" / name)
    with pytest.raises(BundleError, match=rf"{name}: cannot be read \(is not a file\)$"):
        softquery.load(bundle)


@pytest.mark.parametrize("name", ["encode.onnx", "weights.json"])
def test_a_giant_among_the_graphs_is_refused_unread(bundle, name):
    with open(bundle / "onnx" / name, "wb") as file:
        file.truncate(20 << 30)
    with pytest.raises(BundleError, match=rf"{name}: cannot be read \(is larger than 4,194,304 b"):
        softquery.load(bundle)


@pytest.mark.parametrize("setting", ["hidden_size", "embedding_size"])
@pytest.mark.parametrize("value", [63, 65, 10**30, -64, 64.0, "64", None, True])
def test_a_width_that_the_weights_do_not_have_is_refused(bundle, setting, value):
    change(bundle, setting, to=value)
    message = rf"config\.json: {setting} is .*, but model\.safetensors is made for 64$"
    with pytest.raises(BundleError, match=message):
        softquery.load(bundle)


SIZES = {
    "seq2seq": {"embedding_size": 12, "hidden_size": 16},
    "transformer": {"hidden_size": 16, "inner_size": 24},
    "bert": {"vocab_size": 20, "hidden_size": 16, "inner_size": 24, "max_length": 40},
    "mpnet": {"hidden_size": 16, "inner_size": 24, "num_layers": 2},
    "elmo": {"vocab_size": 20, "hidden_size": 24, "projection_size": 16},
    "tagger": {"embedding_size": 12, "hidden_sizes": (16, 10)},
    "hierarchical": {"embedding_size": 12, "hidden_size": 16, "context_size": 20},
}
"""What tells one width from another; of other models both widths differ."""


def built(name, **settings):
    """The settings of a model, and the shapes of its weights."""
    from softquery.models import REGISTRY
    from softquery.models.mpnet import Mpnet, MpnetConfig
    from softquery.runtime.torch_models import config_of

    if name == "mpnet":  # which no bundle holds without a head
        config, module = MpnetConfig, Mpnet
    else:
        config, module = REGISTRY[name].config, REGISTRY[name].module
    sizes = {**SIZES.get(name, {"embedding_size": 12, "hidden_size": 16}), **settings}
    words = [field for field in config.__dataclass_fields__ if field.endswith("vocab_size")]
    heads = {"num_heads": 2} if "num_heads" in config.__dataclass_fields__ else {}
    model = module(config(**{**dict.fromkeys(words, 20), **heads, **sizes}))
    shapes = {key: tuple(value.shape) for key, value in model.state_dict().items()}
    return {"name": name, "config": config_of(model)}, shapes


BODIES = [{"body": body} for body in ("static", "recurrent", "convolution", "transformer")]
BUILT = [
    *((name, {}) for name in sorted(WIDTHS)),
    *(("pooled-encoder", body) for body in BODIES),
    ("pooled-encoder", {"body": "static", "middle_size": 9}),
    ("esim", {"alignment_size": 9}),
]


def rows_of_table(name, shapes):
    """The rows that speak of a model's weights."""
    wide = [width for width in WIDTHS[name] if width.weight in shapes]
    deep = [row for row in LAYERS.get(name, ()) if any(key.startswith(row[1]) for key in shapes)]
    return wide, deep


def test_every_row_of_the_tables_speaks_of_some_weights():
    for name in WIDTHS:
        rows = [rows_of_table(name, built(name, **more)[1]) for each, more in BUILT if each == name]
        assert {row for wide, _ in rows for row in wide} == set(WIDTHS[name])
        assert {row for _, deep in rows for row in deep} == set(LAYERS.get(name, ()))


@pytest.mark.parametrize(("name", "settings"), BUILT)
def test_every_width_of_the_table_is_one_of_the_weights(name, settings):
    model, shapes = built(name, **settings)
    found = [(setting, said) for setting, said, width in widths(model, shapes) if said == width]
    wide, deep = rows_of_table(name, shapes)
    expected = [*(width.setting for width in wide), *(setting for setting, _ in deep)]
    expected += ["hidden_sizes[0]", "hidden_sizes[1]"] if name == "tagger" else []
    assert [setting for setting, _ in found] == expected
    for setting, said in found:
        if "[" not in setting:
            model["config"][setting] = said + 1
    wrong = [setting for setting, said, width in widths(model, shapes) if said != width]
    assert wrong == [setting for setting in expected if "[" not in setting]


@pytest.mark.parametrize("setting", ["projection_size", "composer_size"])
@pytest.mark.parametrize("value", [63, 10**30, -64, 0.0, "64", None, False])
def test_a_width_of_its_own_is_checked_where_it_is_given(bundle, setting, value):
    change(bundle, setting, to=value)
    message = rf"config\.json: {setting} is .*, but model\.safetensors is made for 64$"
    with pytest.raises(BundleError, match=message):
        softquery.load(bundle)
    change(bundle, setting, to=0)  # as wide as the encoder
    assert softquery.load(bundle).predict([("w1 w2", "w3")])


def test_a_projection_for_the_alignment_is_there_where_it_is_given(bundle):
    change(bundle, "alignment_size", to=16)
    message = r"config\.json: alignment_size is 16, but model\.safetensors is made for 0$"
    with pytest.raises(BundleError, match=message):
        softquery.load(bundle)
    change(bundle, "alignment_size", to=0)
    assert softquery.load(bundle).predict([("w1 w2", "w3")])


def test_a_bert_under_a_head_is_looked_into():
    model, shapes = built("bert")
    inside = {f"encoder.{name}": shape for name, shape in shapes.items()}
    head = {"name": "bert-classifier", "config": {"encoder": model["config"]}}
    expected = [*(width.setting for width in WIDTHS["bert"]), "num_layers"]
    assert [setting for setting, *_ in widths(head, inside)] == expected


@pytest.mark.parametrize("sizes", [None, [16], "xx", {"0": 16}, [10, 16]])
def test_widths_of_layers_are_a_list_of_them(sizes):
    model, shapes = built("tagger")
    model["config"]["hidden_sizes"] = sizes
    assert any(said != width for _, said, width in widths(model, shapes))


@pytest.mark.parametrize(
    ("keys", "to", "said"),
    [
        (("spelling",), ["a"], r"bidaf cannot be built: spelling must be a group of settings, got"),
        (("hidden_size",), 10**30, r"config\.json: bidaf cannot be built: .{1,200}$"),
    ],
)
def test_settings_that_torch_cannot_build_are_told(tmp_path, keys, to, said):
    from small_readers import make_reader

    folder = make_reader(tmp_path / "model")
    change(folder, *keys, to=to)
    with pytest.raises(BundleError, match=said):
        softquery.load(folder, backend="torch")
