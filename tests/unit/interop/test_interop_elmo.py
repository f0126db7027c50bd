"""Published weights: what does not fit is told in one line, and leaves nothing behind."""

import json
import re
import sys

import numpy as np
import pytest

from published_elmo import options_of, random_arrays, write_published
from softquery.bundle import read_bundle
from softquery.errors import BundleError, InputError, MissingExtra
from softquery.interop import import_elmo, publish_elmo
from softquery.text import TextConfig, TextPipeline

h5py = pytest.importorskip("h5py", reason="published weights are HDF5 ([hdf5])")


@pytest.fixture
def published(tmp_path):
    options = options_of()
    return write_published(tmp_path / "published", options, random_arrays(options))


def load(folder):
    target = folder.parent / "model"
    return import_elmo(folder / "lm_weights.hdf5", folder / "options.json", target)


def refused(folder, message):
    with pytest.raises(InputError, match=message) as caught:
        load(folder)
    assert "\n" not in str(caught.value)
    assert not (folder.parent / "model").exists()


def change_array(folder, name, array):
    with h5py.File(folder / "lm_weights.hdf5", "a") as file:
        del file[name]
        if array is not None:
            file[name] = array


def change_option(folder, *keys, to):
    path = folder / "options.json"
    options = inner = json.loads(path.read_text())
    for key in keys[:-1]:
        inner = inner[key]
    if to is None:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = to
    path.write_text(json.dumps(options))


def test_a_bundle_says_what_it_is(published):
    bundle = read_bundle(load(published))
    assert (bundle.config.kind, bundle.config.model["name"]) == ("embedder", "elmo")
    assert bundle.config.task == {"name": "language-model"}
    assert "imported from | lm_weights.hdf5" in bundle.card
    pipeline = TextPipeline.load(bundle.path, TextConfig.from_dict(bundle.config.text))
    assert pipeline.words(["The U.S. can't"]) == [["The", "U.S.", "ca", "n't"]]
    assert pipeline.encode_ids(["A word"]) == [[2, 1, 1, 3]]


NAMES = sorted(random_arrays(options_of()))


@pytest.mark.parametrize("name", NAMES)
def test_every_missing_array_is_named(name, published):
    change_array(published, name, None)
    refused(published, f"lm_weights.hdf5: the array {name} is missing")


@pytest.mark.parametrize("name", NAMES)
def test_every_misshapen_array_is_named(name, published):
    with h5py.File(published / "lm_weights.hdf5") as file:
        array = file[name][...]
    change_array(published, name, array[..., :-1])
    shapes = rf"{re.escape(str(array[..., :-1].shape))}.*should be {re.escape(str(array.shape))}"
    refused(published, f"the array {name} has the shape {shapes}")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(bad, published):
    change_array(published, "CNN_proj/b_proj", np.full(4, bad))
    refused(published, "the array CNN_proj/b_proj holds values that are not finite numbers")


def test_text_in_place_of_numbers_is_refused(published):
    change_array(published, "CNN_proj/b_proj", np.array([b"a"] * 4))
    refused(published, "the array CNN_proj/b_proj holds values that are not finite numbers")


def test_half_precision_is_widened(published):
    with h5py.File(published / "lm_weights.hdf5") as file:
        array = file["CNN_proj/b_proj"][...].astype(np.float16)
    change_array(published, "CNN_proj/b_proj", array)
    weights = read_bundle(load(published)).read_weights()
    np.testing.assert_array_equal(weights["reader.projection.bias"], array.astype(np.float32))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "not a readable HDF5 file"), (b"see README", "not a readable HDF5 file")],
)
def test_a_file_that_is_no_hdf5_is_told(content, message, published):
    (published / "lm_weights.hdf5").write_bytes(content)
    refused(published, f"lm_weights.hdf5: {message}")


def test_a_file_that_breaks_off_is_told(published):
    path = published / "lm_weights.hdf5"
    path.write_bytes(path.read_bytes()[:3000])
    refused(published, "lm_weights.hdf5: not a readable HDF5 file")


def test_missing_files_are_told(published):
    (published / "lm_weights.hdf5").unlink()
    refused(published, "lm_weights.hdf5: no such file")
    (published / "options.json").unlink()
    refused(published, r"options.json: cannot be read \(No such file or directory\)")


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("lstm",), None, "but lstm is missing"),
        (("char_cnn",), None, "but char_cnn is missing"),
        (("char_cnn", "embedding"), None, "but char_cnn.embedding is missing"),
        (("char_cnn", "embedding", "dim"), None, "but char_cnn.embedding.dim is missing"),
        (("lstm", "dim"), None, "but lstm.dim is missing"),
        (("lstm", "dim"), "big", "lstm.dim must be a positive whole number, got 'big'"),
        (("lstm", "n_layers"), 0, "lstm.n_layers must be a positive whole number, got 0"),
        (("lstm", "projection_dim"), 9, r"lstm.projection_dim \(9\) must be below lstm.dim \(9\)"),
        (("char_cnn", "filters"), [[1, 2, 3]], "char_cnn.filters must be pairs"),
        (("char_cnn", "filters"), None, "char_cnn.filters must be pairs"),
        (("char_cnn", "activation"), "gelu", "activation must be relu or tanh, got 'gelu'"),
        (("char_cnn", "n_characters"), 60, "n_characters must be 261 or 262, got 60"),
    ],
)
def test_options_that_do_not_fit_are_told(keys, value, message, published):
    change_option(published, *keys, to=value)
    refused(published, f"options.json: .*{message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "options.json, row 1: broken JSON"),
        (b"[]", "options.json: expected an ELMo's options, but char_cnn is missing"),
        (b"\xff", "options.json: not UTF-8 text"),
    ],
)
def test_options_that_are_none_are_told(content, message, published):
    (published / "options.json").write_bytes(content)
    refused(published, message)


def test_a_place_that_is_taken_is_left_as_it_is(published):
    target = load(published)
    before = (target / "model.safetensors").read_bytes()
    with pytest.raises(BundleError, match="already exists"):
        load(published)
    assert (target / "model.safetensors").read_bytes() == before


def test_without_h5py_the_extra_is_named(published, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtra, match=r'pip install "softquery\[hdf5\]"'):
        load(published)


def test_only_an_elmo_is_published(published, tmp_path):
    target = load(published)
    config = json.loads((target / "config.json").read_text())
    config["model"]["name"] = "esim"
    (target / "config.json").write_text(json.dumps(config))
    with pytest.raises(BundleError, match="expected an elmo, found 'esim'"):
        publish_elmo(read_bundle(target), weights=tmp_path / "w.hdf5", options=tmp_path / "o.json")
    assert not (tmp_path / "w.hdf5").exists()


def test_a_model_without_clips_is_published_without_them(published, tmp_path):
    target = load(published)
    config = json.loads((target / "config.json").read_text())
    config["model"]["config"]["way"] = "fast"
    (target / "config.json").write_text(json.dumps(config))
    publish_elmo(read_bundle(target), weights=tmp_path / "w.hdf5", options=tmp_path / "o.json")
    lstm = json.loads((tmp_path / "o.json").read_text())["lstm"]
    assert (lstm["cell_clip"], lstm["proj_clip"]) == (None, None)
