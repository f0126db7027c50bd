"""A head names its base and knows its weights: whatever lies there under that name is checked."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from reading import config, weights
from running import softquery
from tiny_tags import named, settings, write_tagged

import softquery as sq
from elmo_cases import ElmoCase
from small_elmo import write_elmo
from softquery.bundle import read_bundle, weights_fingerprint, write_bundle
from softquery.errors import BundleError
from softquery.export import export_embedder
from softquery.export.quantise import quantise
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.inner.inner_weights import base_weights, open_base

SHORT = {"training__max_epochs": 1, "data__tune_share": 0.1}
SENTENCES = [["Ada", "reads"], ["Zo\u00eb"]]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A biLM called `elmo-tiny`, stored as int8, and a tagger that is its head."""
    folder = tmp_path_factory.mktemp("base")
    write_tagged(folder / "data", named(80))
    plain = read_bundle(write_elmo(folder / "plain"))
    (folder / "models").mkdir()
    rewritten(plain, folder / "models" / "elmo-tiny", int8(plain.read_weights()))
    return folder


@pytest.fixture(autouse=True)
def at_home(home, monkeypatch):
    monkeypatch.setenv("SOFTQUERY_HOME", str(home))


@pytest.fixture(scope="module")
def head(home):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOFTQUERY_HOME", str(home))
        answer = train(home, "head")
    assert answer.code == 0, answer.err
    return home / "head"


def train(home, output, **changes):
    words = settings(**{**SHORT, "elmo__bundle": "elmo-tiny", **changes})
    return softquery("train", "tagger-elmo", "--data", home / "data", "--output", home / output,
                     *words)  # fmt: skip


def int8(stored):
    """Every matrix, however small it is here."""
    wide = {name: np.tile(each, (4096, 1)) for name, each in stored.items() if each.ndim == 2}
    small = {name: each for name, each in stored.items() if each.ndim != 2}
    for name, values in quantise(wide).items():
        small[name] = values[: len(stored[name.removesuffix(":scale")])]
    return small


def rewritten(bundle, target, stored, **changes):
    return write_bundle(
        target,
        config=replace(bundle.config, **changes),
        tokenizer_json=bundle.tokenizer_path.read_text(),
        weights=stored,
        metrics={},
        card="# again",
        replace=target.exists(),
    )


@pytest.fixture
def base(home):
    """The base, put back after the test."""
    place = home / "models" / "elmo-tiny"
    shutil.copytree(place, home / "kept")
    yield read_bundle(place)
    shutil.rmtree(place, ignore_errors=True)
    (home / "kept").rename(place)


def test_a_head_notes_what_its_base_stores(head, home):
    base = read_bundle(home / "models" / "elmo-tiny")
    assert {each.dtype.name for each in base.read_weights().values()} >= {"int8", "float32"}
    noted = config(head)
    assert noted["base"] == "elmo-tiny"
    assert noted["base_fingerprint"] == weights_fingerprint(base_weights(base))
    assert not [name for name in weights(head) if name.startswith("embedder.bilm.")]


def test_torch_and_all_others_open_the_same_base(head, home):
    found, inside = open_base(read_bundle(head))
    assert found.path == home / "models" / "elmo-tiny"
    model = sq.load(head, backend="torch").backend.model
    for name, values in inside.items():
        assert (model.embedder.bilm.state_dict()[name].numpy() == values).all(), name


@pytest.mark.parametrize("kept_as", [lambda stored: stored, dequantised], ids=["int8", "float32"])
def test_the_same_weights_in_another_file_are_the_same_base(kept_as, head, base):
    wanted = sq.load(head).backend.scores(SENTENCES)[0]
    stored = kept_as(base.read_weights())
    kept = [(name, each) for name, each in stored.items() if not name.startswith("softmax.")]
    settings = {**base.config.model["config"], "softmax": {"kind": "none"}}
    rewritten(base, base.path, dict(reversed(kept)), model={"name": "elmo", "config": settings})
    for one, other in zip(sq.load(head).backend.scores(SENTENCES)[0], wanted, strict=True):
        assert (one == other).all()


def other_weights(base):
    return ElmoCase().build(seed=7).state_dict()


def one_bit(base):
    stored = {name: np.array(each) for name, each in base.read_weights().items()}
    name = next(name for name, each in stored.items() if each.dtype == np.int8)
    stored[name][0, 0] ^= 1
    return stored


@pytest.mark.parametrize("changed", [other_weights, one_bit])
def test_a_base_of_other_weights_is_refused_in_one_line(changed, head, base):
    stored = {name: np.asarray(each) for name, each in changed(base).items()}
    rewritten(base, base.path, stored)
    said = f"{head}/model.safetensors: its base elmo-tiny had other weights than those of"
    with pytest.raises(BundleError, match=f"^{said} {base.path}$"):
        sq.load(head)
    with pytest.raises(BundleError, match="^its base elmo-tiny had other weights"):
        open_base(read_bundle(head))
    answer = softquery("tag", "Ada reads", "--model", head)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"softquery: {said} {base.path}\n"


def test_a_base_of_another_size_is_told_first(head, base):
    write_elmo(base.path.parent / "other", ElmoCase(settings={"hidden_size": 9}).build())
    shutil.rmtree(base.path)
    (base.path.parent / "other").rename(base.path)
    with pytest.raises(BundleError, match="was made for another elmo-tiny than"):
        sq.load(head)


def test_a_head_without_a_fingerprint_is_read(head, tmp_path):
    bundle = read_bundle(head)
    rewritten(bundle, tmp_path / "old", bundle.read_weights(), base_fingerprint=None)
    assert sq.load(tmp_path / "old").predict(SENTENCES)


def test_a_base_that_changes_during_the_run_is_stored_with_the_model(home, base, monkeypatch):
    """As after a run that is resumed over a newer base."""
    from softquery.running import train as executed

    plain = executed.base_of

    def later(model):
        rewritten(base, base.path, one_bit(base))
        return plain(model)

    monkeypatch.setattr(executed, "base_of", later)
    answer = train(home, "overtaken")
    assert answer.code == 0, answer.err
    noted = config(home / "overtaken")
    assert (noted["base"], "base_fingerprint" in noted) == (None, False)
    assert [name for name in weights(home / "overtaken") if name.startswith("embedder.bilm.")]
    assert sq.load(home / "overtaken").predict(SENTENCES)


def test_a_tuned_bilm_is_no_base(home):
    assert train(home, "tuned", elmo__tuning="tuned").code == 0
    assert config(home / "tuned")["base"] is None


def test_an_exported_head_on_an_exported_base_answers_without_torch(head, base):
    """The head's graphs are its own; the base brings those of the biLM."""
    wanted = sq.load(head, backend="torch").backend.scores(SENTENCES)[0]
    answer = softquery("export", head, "--output", base.path.parent / "exported")
    assert (answer.code, answer.out) == (2, "")
    assert f"{base.path}: not exported yet" in answer.err
    exported = export_embedder(base, base.path)
    assert exported.bundle == base.path
    answer = softquery("export", head, "--output", base.path.parent / "exported")
    assert answer.code == 0, answer.err
    written = base.path.parent / "exported"
    assert sorted(each.name for each in (written / "onnx").glob("*.onnx")) == [
        "spell.onnx",
        "tag.onnx",
    ]
    ours = sq.load(written, backend="onnx").backend.scores(SENTENCES)[0]
    for one, other in zip(ours, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)
    shutil.rmtree(written)
