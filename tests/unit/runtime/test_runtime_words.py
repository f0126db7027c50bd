"""Words in context: alone or in company, kept or read anew, with any number of threads."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from elmo_cases import ENTRIES, ElmoCase
from small_elmo import exported_elmo, write_elmo
from softquery.bundle import read_bundle
from softquery.errors import BundleError
from softquery.models import CharacterConfig, Elmo, ElmoConfig, SoftmaxConfig
from softquery.runtime import Mix, WordsInContext
from softquery.runtime.batches import length_batches
from softquery.runtime.embed.onnx import BATCH
from softquery.runtime.embed.word_layers import ENTRY_BYTES, VectorCache, learnt_mix

SAME = {"rtol": 0, "atol": 1e-6}
DRAW = np.random.default_rng(1)
KINDS = ["the", "bank", "a", "river", "naïve", "漢字", "\U0001f44d", "incomprehensibly", "x" * 60]
LENGTHS = DRAW.integers(0, 40, 3 * BATCH)
TEXT = [[KINDS[k] for k in DRAW.integers(0, len(KINDS), length)] for length in LENGTHS]
"""More sentences than a batch takes, long and short, some without a word."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A biLM that is wide enough for blocked matrix products."""
    torch.manual_seed(3)
    config = ElmoConfig(
        hidden_size=64, projection_size=24, vocab_size=len(ENTRIES),
        characters=CharacterConfig(filters=(4, 4, 8, 8, 8, 8, 8)),
        softmax=SoftmaxConfig(kind="none"),
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("words")
    return read_bundle(exported_elmo(folder, Elmo(config).eval()).bundle)


@pytest.fixture(scope="module")
def words(bundle):
    return WordsInContext.open(bundle, threads=2)


@pytest.fixture(scope="module")
def found(words):
    return words.layers(TEXT)


def test_shapes(words, found):
    assert (words.num_layers, words.output_size, words.backend.name) == (3, 48, "onnx")
    assert [each.shape for each in found] == [(3, len(line), 48) for line in TEXT]
    assert {each.dtype for each in found} == {np.dtype(np.float32)}
    assert words.layers([]) == []


def test_layer_0_is_the_word_alone_twice(words, found):
    alone = {kind: words.layers([[kind]])[0][0, 0] for kind in KINDS}
    for line, layers in zip(TEXT, found, strict=True):
        np.testing.assert_array_equal(layers[0, :, :24], layers[0, :, 24:])
        for word, vector in zip(line, layers[0], strict=True):
            np.testing.assert_allclose(vector, alone[word], **SAME)


def test_a_sentence_does_not_depend_on_its_neighbours_nor_on_padding(words, found):
    for place in range(0, len(TEXT), 5):
        np.testing.assert_allclose(words.layers([TEXT[place]])[0], found[place], **SAME)
    turned = words.layers(TEXT[::-1])[::-1]
    beside_a_long_one = words.layers([TEXT[7], ["bank"] * 300])[0]
    np.testing.assert_allclose(beside_a_long_one, found[7], **SAME)
    for one, other in zip(turned, found, strict=True):
        np.testing.assert_allclose(one, other, **SAME)


def test_a_word_depends_on_both_sides(words):
    plain, before, after = words.layers([["a", "bank"], ["the", "bank"], ["a", "bank", "river"]])
    np.testing.assert_array_equal(plain[0, 1], before[0, 1])
    half = words.output_size // 2
    assert np.abs(plain[1, 1, :half] - before[1, 1, :half]).max() > 1e-3
    assert np.abs(plain[1, 1, half:] - after[1, 1, half:]).max() > 1e-3
    np.testing.assert_allclose(plain[1, 1, :half], after[1, 1, :half], **SAME)
    np.testing.assert_allclose(plain[1, 1, half:], before[1, 1, half:], **SAME)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_nothing(bundle, found, threads):
    again = WordsInContext.open(bundle, threads=threads).layers(TEXT)
    for one, other in zip(again, found, strict=True):
        np.testing.assert_allclose(one, other, **SAME)


@pytest.mark.parametrize("cache_bytes", [0, 1, 5 * (4 * 24 + ENTRY_BYTES), 1 << 20])
def test_the_cache_changes_nothing(bundle, found, cache_bytes):
    """Off, too small for a single word, too small for one sentence, and large."""
    other = WordsInContext.open(bundle, threads=2, cache_bytes=cache_bytes)
    for _ in range(2):
        for one, wanted in zip(other.layers(TEXT), found, strict=True):
            np.testing.assert_allclose(one, wanted, **SAME)


def test_many_threads_may_ask_at_once(words, found):
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda part: words.layers(TEXT[part::4]), range(4)))
    for part, answer in enumerate(answers):
        for one, other in zip(answer, found[part::4], strict=True):
            np.testing.assert_allclose(one, other, **SAME)


def test_words_are_read_once_while_they_are_kept(words, monkeypatch):
    read = []
    backend = words.backend
    monkeypatch.setattr(backend, "read", lambda groups: read.extend(groups) or type(backend).read(
        backend, groups))  # fmt: skip
    line = ["quite", "new", "words", "quite", "new"]
    words.layers([line, line])
    assert sum(map(len, read)) == 3
    words.layers([line])
    assert sum(map(len, read)) == 3


def test_words_that_begin_alike_are_one_kind_once_they_are_cut(words):
    one, other = words.layers([["y" * 48], ["y" * 10_000]])
    np.testing.assert_array_equal(one, other)


def test_mixed(words, found):
    mix = Mix((0.3, -1.0, 2.0), scale=0.7)
    for one, layers in zip(words.mixed(TEXT[:9], mix), found, strict=False):
        np.testing.assert_allclose(one, mix.of(layers), **SAME)


def test_a_state_is_carried_and_a_fresh_one_is_not_needed(words):
    lines = [["by", "the", "bank"], ["a", "river"]]
    first, state = words.carry(lines)
    for one, other in zip(first, words.layers(lines), strict=True):
        np.testing.assert_allclose(one, other, **SAME)
    second, _ = words.carry(lines, state)
    for one, other in zip(first, second, strict=True):
        assert np.abs(one[1:] - other[1:]).max() > 1e-3
    alone, _ = words.carry(lines[:1], words.carry(lines[:1])[1])
    np.testing.assert_allclose(alone[0], second[0], **SAME)


def test_many_streams_at_once(words):
    lines = TEXT[: BATCH + 3]
    _, state = words.carry(lines)
    together, _ = words.carry(lines, state)
    for place in (0, 5, BATCH + 2):
        alone, _ = words.carry([lines[place]], words.carry([lines[place]])[1])
        np.testing.assert_allclose(alone[0], together[place], **SAME)


def test_batches_hold_what_they_may():
    lengths = [3, 900, 4, 4, 3, 5, 2, 400]
    batches = length_batches(lengths, most=3, most_tokens=500)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert [len(batch) for batch in batches] == [3, 3, 1, 1]
    assert all(max(lengths[row] for row in batch) * len(batch) <= 500 for batch in batches[:-1])
    assert length_batches([], most=3, most_tokens=5) == []


class TestCache:
    def test_it_lets_go_of_what_was_unused_for_longest(self):
        cache = VectorCache(2, 3 * (8 + ENTRY_BYTES))
        for number, word in enumerate([b"a", b"b", b"c"]):
            cache.put([(word, np.full(2, number, np.float32))])
        into = np.zeros((1, 2), np.float32)
        assert cache.take([b"a"], into) == []
        cache.put([(b"d", np.full(2, 9, np.float32))])
        assert cache.take([b"b"], into) == [0]
        several = np.zeros((3, 2), np.float32)
        assert cache.take([b"a", b"c", b"d"], several) == []
        assert several[:, 0].tolist() == [0, 2, 9]
        assert len(cache) == cache.capacity == 3

    def test_one_that_holds_nothing(self):
        cache = VectorCache(2, 10)
        cache.put([(b"a", np.zeros(2, np.float32))])
        assert cache.take([b"a"], np.zeros((1, 2), np.float32)) == [0]
        assert len(cache) == 0


def test_a_bilm_inside_another_model(tmp_path, bundle):
    """Its weights stand behind a prefix, and its graphs are those of its own bundle."""
    from safetensors.numpy import load_file, save_file

    folder = shutil.copytree(bundle.path, tmp_path / "tagger")
    inner = load_file(folder / "model.safetensors")
    moved = {f"embedder.bilm.{name}": values for name, values in inner.items()}
    moved["embedder.mixes.input.weights"] = np.float32([0, 1, 2])
    moved["embedder.mixes.input.scale"] = np.array(2, np.float32)
    save_file(moved, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    nested = {**config["model"], "settings": {"places": ["input"], "normalise": False}}
    config["model"] = {"name": "tagger", "config": {"vocab_size": 14, "embedder": nested}}
    (folder / "config.json").write_text(json.dumps(config))
    assert learnt_mix(read_bundle(folder)) == Mix((0.0, 1.0, 2.0), 2.0)
    found = WordsInContext.open(read_bundle(folder)).layers(TEXT[:3])
    for one, other in zip(found, WordsInContext.open(bundle).layers(TEXT[:3]), strict=True):
        np.testing.assert_allclose(one, other, **SAME)


def test_what_was_not_exported_is_refused(tmp_path):
    plain = read_bundle(write_elmo(tmp_path / "plain"))
    with pytest.raises(BundleError, match="plain: not exported yet; run `softquery export` on it$"):
        WordsInContext.open(plain)


@pytest.fixture
def damaged(tmp_path):
    return exported_elmo(tmp_path, ElmoCase().build().eval()).bundle


def refused(folder, match):
    with pytest.raises(BundleError, match=match):
        WordsInContext.open(read_bundle(folder))


def change_config(folder, *keys, to):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    inner = config["model"]["config"]
    for key in keys[:-1]:
        inner = inner[key]
    if to is None:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = to
    path.write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("keys", "to", "match"),
    [
        (("hidden_size",), 8, r"hidden_size is 8, but model\.safetensors is made for 7$"),
        (("projection_size",), 5, r"projection_size is 5, but model\.safetensors is made for 4$"),
        (("num_layers",), 3, r"num_layers is 3, but model\.safetensors is made for 2$"),
        (("num_layers",), 0, r"config\.json: elmo cannot be built: sizes must be positive"),
        (("num_layers",), None, r"config\.json: elmo lacks the setting 'num_layers'$"),
        (("characters",), None, r"config\.json: elmo lacks the setting 'characters'$"),
        (("characters", "widths"), [1], r"config\.json: elmo cannot be built: widths \(1,\) and"),
        (("characters", "filters"), [3, 5], r"does not fit config\.json \("),
        (("characters", "max_characters"), 2, r"max_characters \(2\) must hold every filter$"),
        (("characters", "activation"), "gelu", r"activation must be relu or tanh, got 'gelu'$"),
        (("characters", "num_highways"), -1, r"num_highways must not be negative, got -1$"),
        (("cell_clip",), "much", r"config\.json: elmo cannot be built: could not convert string"),
    ],
)  # fmt: skip
def test_a_config_that_does_not_fit(damaged, keys, to, match):
    change_config(damaged, *keys, to=to)
    refused(damaged, match)


def test_weights_that_are_not_finite(damaged):
    from safetensors.numpy import load_file, save_file

    weights = load_file(damaged / "model.safetensors")
    weights["reader.bias"][0] = np.nan
    save_file(weights, damaged / "model.safetensors")
    refused(damaged, r"model\.safetensors: reader\.bias holds a number that is not finite$")


@pytest.mark.parametrize("name", ["read", "context"])
def test_graphs_that_are_missing_or_junk(damaged, name):
    (damaged / "onnx" / f"{name}.onnx").write_bytes(b"junk")
    refused(damaged, rf"onnx/{name}\.onnx: cannot be run \(")
    (damaged / "onnx" / f"{name}.onnx").unlink()
    refused(damaged, rf"onnx/{name}\.onnx: cannot be read \(No such file or directory\)$")


def test_graphs_of_another_model(damaged, tmp_path):
    other = exported_elmo(tmp_path / "other", ElmoCase(settings={"num_layers": 1}).build().eval())
    shutil.rmtree(damaged / "onnx")
    shutil.copytree(other.bundle / "onnx", damaged / "onnx")
    refused(damaged, r"onnx: cannot be run \(")
