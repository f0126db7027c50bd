"""A head on a sentence encoder: what it answers, and which bundles of it are refused."""

import json
import shutil

import numpy as np
import pytest

import softquery as sq
from small_heads import exported_encoder, few_rows, write_rows
from softquery.bundle import read_bundle
from softquery.bundle.opening import weights_to_bytes
from softquery.errors import BundleError
from softquery.recipes import recipe
from softquery.running.few_labels.train_few_labels import train_few_labels
from softquery.running.run_options import RunOptions
from softquery.runtime.classify.sentence_head import SentenceHead, WindowedVectors

TEXTS = [line.rpartition("\t")[0] for line in few_rows(30)]


class Unwatched:
    def begin(self, total_steps, done): ...

    def step(self, done, facts): ...

    def epoch(self, number, facts, improved): ...


def train(data, output, init=None):
    options = RunOptions(
        data=data, output=output, observer=Unwatched(), say=lambda line: None, init=init
    )
    return train_few_labels(recipe("classify-few"), options)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with `home`, where `embed-en` is, and heads on it: `named`, `carried`, `marked`."""
    folder = tmp_path_factory.mktemp("heads")
    data = write_rows(folder / "few.tsv", few_rows(60))
    exported_encoder(folder / "home" / "models" / "embed-en")
    exported_encoder(folder / "marks", body="transformer", text={"boundaries": True})
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SOFTQUERY_HOME", str(folder / "home"))
        patched.setattr("softquery.zoo.zoo.shipped_folder", lambda: folder / "none")
        train(data, folder / "named")
    train(data, folder / "carried", init=folder / "home" / "models" / "embed-en")
    train(data, folder / "marked", init=folder / "marks")
    return folder


@pytest.fixture(autouse=True)
def _at_home(place, monkeypatch):
    """The small `embed-en` of the test stands for the shipped one."""
    monkeypatch.setenv("SOFTQUERY_HOME", str(place / "home"))
    monkeypatch.setattr("softquery.zoo.zoo.shipped_folder", lambda: place / "none")


@pytest.fixture
def copied(place, tmp_path):
    """A function that copies a bundle and lets a change be made to it."""

    def copy(name, *, settings=None, weights=None):
        folder = shutil.copytree(place / name, tmp_path / name)
        if settings is not None:
            path = folder / "config.json"
            config = json.loads(path.read_text(encoding="utf-8"))
            settings(config)
            path.write_text(json.dumps(config), encoding="utf-8")
        if weights is not None:
            stored = read_bundle(folder).read_weights()
            weights(stored)
            (folder / "model.safetensors").write_bytes(weights_to_bytes(stored))
        return folder

    return copy


@pytest.mark.parametrize("name", ["named", "carried", "marked"])
def test_answers_do_not_depend_on_the_order_or_on_what_stands_beside(place, name):
    model = sq.load(place / name)
    found = model.logits(TEXTS)
    np.testing.assert_allclose(model.logits(TEXTS[::-1])[::-1], found, atol=1e-5)
    for row, text in enumerate(TEXTS[:4]):
        np.testing.assert_allclose(model.logits([text])[0], found[row], atol=1e-5)


@pytest.mark.parametrize("name", ["named", "carried", "marked"])
def test_rows_like_those_of_training_are_told_apart(place, name):
    gold = [line.rpartition("\t")[2] for line in few_rows(30)]
    assert [answer.label for answer in sq.load(place / name).predict(TEXTS)] == gold


def test_named_and_carried_encoders_answer_alike(place):
    named, carried = sq.load(place / "named"), sq.load(place / "carried")
    assert named.bundle.config.base == "embed-en"
    assert carried.bundle.config.base is None
    assert np.array_equal(named.logits(TEXTS), carried.logits(TEXTS))


@pytest.mark.parametrize("name", ["named", "carried"])
def test_torch_answers_alike(place, name):
    pytest.importorskip("torch", reason="the extra [train]")
    graphs, torch = (sq.load(place / name, backend=each) for each in ("onnx", "torch"))
    np.testing.assert_allclose(graphs.logits(TEXTS), torch.logits(TEXTS), atol=1e-4)


def test_what_was_fitted_is_what_is_read(place):
    head = SentenceHead.of(read_bundle(place / "named"))
    again = head.to_weights()
    stored = read_bundle(place / "named").read_weights()
    assert again.keys() == stored.keys()
    assert all(np.array_equal(again[name], stored[name]) for name in stored)


def test_a_run_makes_the_same_bundle_again(place, tmp_path):
    other = train(place / "few.tsv", tmp_path / "named")
    for path in sorted(each for each in (place / "named").rglob("*") if each.is_file()):
        assert path.read_bytes() == (other / path.relative_to(place / "named")).read_bytes()


def test_odd_texts_are_answered(place):
    model = sq.load(place / "named")
    odd = ["", " ", "\u200b", "😀", "zzzzzz", "w" * 10_000, "wa " * 100_000]
    assert all(answer.label in model.labels for answer in model.predict(odd))
    assert model.num_cut(odd) == 1
    assert model.predict([]) == []


@pytest.mark.parametrize("name", ["named", "marked"])
def test_every_word_has_a_share(place, name):
    shown = sq.load(place / name).explain(TEXTS[0])
    weights = shown.word_weights[0]
    assert len(weights) == len(shown.sentences[0])
    assert float(weights.sum()) == pytest.approx(1)
    if name == "named":
        assert shown.sentences[0][int(weights.argmax())] == "wa"
    else:  # the marks say nothing
        assert weights[0] == weights[-1] == 0 < weights[1:-1].min()


class Recorded:
    """An encoder whose vector of a window is its first two ids."""

    output_size, name = 2, "recorded"

    def __init__(self):
        self.seen = []

    def vectors(self, sentences):
        self.seen += sentences
        return np.array([[*each, 0, 0][:2] for each in sentences], dtype=np.float32)


@pytest.mark.parametrize(
    ("has_marks", "ids", "windows"),
    [
        (False, [3, 4, 5, 6, 7], {(3, 4, 5, 6), (7,)}),
        (False, [], {()}),
        (True, [1, 3, 4, 5, 2], {(1, 3, 4, 2), (1, 5, 2)}),
        (True, [1, 2], {(1, 2)}),
    ],
)
def test_long_texts_are_read_in_windows(has_marks, ids, windows):
    encoder = Recorded()
    vectors = WindowedVectors(encoder=encoder, window=4, has_marks=has_marks).of([ids, ids])
    assert set(encoder.seen) == windows
    assert len(encoder.seen) == len(windows)
    assert np.array_equal(vectors[0], vectors[1])


def test_a_vector_is_the_mean_of_windows_at_length_one():
    found = WindowedVectors(encoder=Recorded(), window=2, has_marks=False).of([[3, 4, 0, 9]])
    expected = np.array([0.6, 0.8 + 1.0])
    np.testing.assert_allclose(found[0], expected / np.linalg.norm(expected), atol=1e-6)


def settle(path, value):
    """A change of a config: a value at a path of keys."""

    def change(config):
        *way, last = path
        for key in way:
            config = config[key]
        config[last] = value

    return change


INSIDE = ("model", "config")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ((*INSIDE, "window"), 10_000, "window must be a whole number up to 512, got 10000"),
        ((*INSIDE, "window"), True, "window must be a whole number up to 512, got True"),
        ((*INSIDE, "window"), "4", "window must be a whole number up to 512, got '4'"),
        ((*INSIDE, "output_size"), 3, "the model has 3 outputs, but its task needs 2"),
        ((*INSIDE, "sentence_encoder"), "x", "sentence_encoder must have a name and a config"),
        ((*INSIDE, "sentence_encoder", "name"), "bert", "was made for another embed-en than"),
        ((*INSIDE, "sentence_encoder", "config", "hidden_size"), 9, "was made for another"),
        (("base",), "embed-xx", "stands on embed-xx: no model called 'embed-xx'"),
        (("base_fingerprint",), "0" * 32, "its base embed-en had other weights than those of"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_a_line(copied, path, value, said):
    with pytest.raises(BundleError) as caught:
        sq.load(copied("named", settings=settle(path, value)))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def spoil(name, make):
    """A change of weights."""

    def change(stored):
        found = make(stored[name])
        if found is None:
            del stored[name]
        else:
            stored[name] = found

    return change


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("head.bias", lambda each: None, "lacks 'head.bias'"),
        ("words.keys", lambda each: None, "lacks 'words.keys'"),
        ("head.words", lambda each: each[:-1], "head.words has the shape"),
        ("head.vector", lambda each: each[:-1], "head.vector is for vectors of 23 numbers"),
        ("head.vector", lambda each: each.ravel(), "head.vector has the shape"),
        ("head.vector", lambda each: each * np.float32("nan"), "head.vector holds what is no fin"),
        ("head.bias", lambda each: each.astype(np.int64), "head.bias holds what is no finite"),
        ("words.rarity", lambda each: each[:0], "words.rarity has the shape"),
        ("words.keys", lambda each: each[::-1], "words.keys are no growing whole numbers"),
        ("words.keys", lambda each: each.astype(np.float32), "words.keys are no growing whole"),
    ],
)
def test_weights_that_do_not_fit_are_refused_in_a_line(copied, name, make, said):
    with pytest.raises(BundleError) as caught:
        sq.load(copied("named", weights=spoil(name, make)))
    assert said in str(caught.value)
    assert "model.safetensors" in str(caught.value)


def test_a_base_that_has_changed_is_refused(place, tmp_path, monkeypatch):
    models = tmp_path / "models"
    exported_encoder(models / "embed-en", seed=2)
    monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path))
    with pytest.raises(BundleError, match=r"its base embed-en had other weights than those of .*; "
                       "train the head again"):  # fmt: skip
        sq.load(place / "named")


def test_a_damaged_base_is_refused(place, tmp_path, monkeypatch):
    shutil.copytree(place / "home", tmp_path / "home")
    weights = tmp_path / "home" / "models" / "embed-en" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path / "home"))
    with pytest.raises(BundleError, match="stands on embed-en: .*damaged or not a safetensors"):
        sq.load(place / "named")


def test_a_carried_encoder_without_its_weights_is_refused(copied):
    def forget(stored):
        for name in [name for name in stored if name.startswith("encoder.")]:
            del stored[name]

    with pytest.raises(BundleError):
        sq.load(copied("carried", weights=forget))
