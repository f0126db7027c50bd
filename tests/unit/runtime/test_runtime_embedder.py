"""A bundle that embeds: text or words, on torch or without, afresh or with a state that runs on."""

import json
import shutil

import numpy as np
import pytest

import softquery as sq
from elmo_cases import ElmoCase
from small_elmo import exported_elmo, write_elmo, write_esim_elmo
from softquery.errors import BundleError, ConfigError, InputError
from softquery.runtime import ContextEmbedder, Mix, load, open_embedder
from softquery.runtime.embed.model import CHUNK_LINES, CHUNK_TOKENS, chunks

TEXTS = ["The cat sat on the mat.", "", "a dog", "  \u200b ", "naïve 漢字 \U0001f44d\U0001f44d"]
SAME = {"rtol": 0, "atol": 1e-6}


@pytest.fixture(scope="module")
def embedder(elmo_bundle):
    return open_embedder(elmo_bundle)


def test_load_opens_it(elmo_bundle):
    found = sq.load(elmo_bundle, threads=1)
    assert isinstance(found, ContextEmbedder)
    assert isinstance(found, sq.ContextEmbedder)
    assert (found.backend.name, found.num_layers, found.output_size) == ("onnx", 3, 8)
    assert found.learnt_mix is None


def test_one_array_a_text(embedder):
    tokens = embedder.tokens(TEXTS)
    assert tokens[0] == ["The", "cat", "sat", "on", "the", "mat", "."]
    assert tokens[4] == ["naïve", "漢", "字", "\U0001f44d", "\U0001f44d"]
    found = embedder.embed(TEXTS)
    assert [each.shape for each in found] == [(3, len(words), 8) for words in tokens]
    assert embedder.embed([]) == []


def test_words_are_taken_as_they_are(embedder):
    words = ["The", "cat", "sat", "on", "the", "mat", "."]
    text, ready, joined = embedder.embed([TEXTS[0], words, ["The cat", "sat"]])
    np.testing.assert_allclose(text, ready, **SAME)
    assert joined.shape == (3, 2, 8)


@pytest.mark.parametrize("odd", [["a", ""], ["a", 3], [None]])
def test_what_is_no_word(embedder, odd):
    with pytest.raises(InputError, match=r"^the texts(, row 1)?: expected words, found ('|3|None)"):
        embedder.embed([odd])
    with pytest.raises(TypeError, match="^expected a list of sentences, got one string;"):
        embedder.embed("one string")


def test_long_texts_are_cut_and_counted(embedder):
    limit = embedder.max_tokens
    assert limit == 126
    lines = [["a"] * (limit + 5), ["a"] * limit]
    assert [each.shape[1] for each in embedder.embed(lines)] == [limit, limit]
    assert embedder.num_cut(lines) == 1
    assert embedder.num_cut(embedder.tokens([" ".join(lines[0])])) == 1


@pytest.mark.parametrize("layers", ["all", "mix", "top", "average", 0, 2])
def test_layers(embedder, layers):
    every, some = embedder.embed(TEXTS), embedder.embed(TEXTS, layers=layers)
    wanted = {"all": lambda v: v, "top": lambda v: v[2:], 0: lambda v: v[:1], 2: lambda v: v[2:]}
    for one, other in zip(every, some, strict=True):
        take = wanted.get(layers, lambda v: v.mean(axis=0, keepdims=True))
        np.testing.assert_allclose(other, take(one), **SAME)


def test_a_layer_that_is_not_there(embedder):
    for call in (embedder.embed, embedder.stream().embed):
        with pytest.raises(ConfigError, match="^the model has layers 0 to 2, got 3$"):
            call(TEXTS, layers=3)


def test_torch_gives_the_same(elmo_bundle, embedder, tmp_path):
    """Also from what was never exported, and with a state."""
    plain = write_elmo(tmp_path / "plain")
    for theirs in (load(elmo_bundle, backend="torch", device="cpu"), load(plain)):
        assert theirs.backend.name.startswith("torch on ")
        for one, other in zip(embedder.embed(TEXTS), theirs.embed(TEXTS), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
        ours_on, theirs_on = embedder.stream(), theirs.stream()
        for _ in range(2):
            for one, other in zip(ours_on.embed(TEXTS), theirs_on.embed(TEXTS), strict=True):
                np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


def test_a_stream_carries_its_state(embedder):
    stream = embedder.stream()
    first, second = stream.embed(["a cat", "a cat"])
    np.testing.assert_allclose(first, embedder.embed(["a cat"])[0], **SAME)
    assert np.abs(first[1:] - second[1:]).max() > 1e-4
    parts = embedder.stream()
    again = [*parts.embed(["a cat"]), *parts.embed([["a", "cat"]])]
    np.testing.assert_allclose(again[1], second, **SAME)


def test_a_matcher_with_a_bilm_inside_has_a_mix_of_its_own(tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = write_esim_elmo(tmp_path / "matcher")
    weights = load_file(folder / "model.safetensors")
    weights["embedder.mixes.output.weights"] = np.float32([0, 0, 50])
    weights["embedder.mixes.output.scale"] = np.array(2, np.float32)
    save_file(weights, folder / "model.safetensors")
    found = open_embedder(folder)
    assert found.learnt_mix == Mix((0.0, 0.0, 50.0), 2.0)
    (every,), (mixed,) = (found.embed(["a cat"], layers=each) for each in ("all", "mix"))
    np.testing.assert_allclose(mixed[0], 2 * every[2], rtol=0, atol=1e-5)


def test_a_text_without_words_may_stand_first(embedder):
    empty, full = embedder.embed(["", "a b"])
    assert (empty.shape[1], full.shape[1]) == (0, 2)
    assert [each.shape for each in embedder.embed([""])] == [empty.shape]


def test_chunks_are_bounded():
    lines = [["a"] * 100] * 200 + [["a"]] * 600 + [["a"] * (2 * CHUNK_TOKENS)] + [[]]
    parts = chunks(lines)
    assert [line for part in parts for line in part] == lines
    assert max(map(len, parts)) == CHUNK_LINES
    sizes = [sum(map(len, part)) for part in parts]
    assert sorted(sizes)[-2] <= CHUNK_TOKENS < max(sizes) == 2 * CHUNK_TOKENS
    assert chunks([]) == []


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"backend": "tpu"}, "^backend must be 'auto', 'onnx' or 'torch', got 'tpu'$"),
        ({"threads": 0}, "^threads must be at least 1, got 0$"),
        ({"backend": "onnx", "device": "cpu"}, "^device 'cpu' is for backend 'torch', not for"),
        ({"device": "abacus"}, "^device 'abacus' cannot be used: "),
    ],
)
def test_options_that_cannot_be(elmo_bundle, options, match):
    with pytest.raises(ConfigError, match=match):
        open_embedder(elmo_bundle, **options)


def test_what_does_not_embed(float_bundle, tmp_path):
    with pytest.raises(BundleError, match=r": expected word vectors in context \(elmo\), found 'e"):
        open_embedder(float_bundle)
    plain = write_elmo(tmp_path / "plain")
    with pytest.raises(BundleError, match="not exported yet"):
        open_embedder(plain, backend="onnx")


def test_a_vocabulary_of_another_model(elmo_bundle, tmp_path):
    folder = shutil.copytree(elmo_bundle, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["model"]["config"]["vocab_size"] = 99
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(BundleError, match=r"tokenizer\.json: holds 14 entries, but config\.json"):
        open_embedder(folder)


def test_no_torch_is_imported(elmo_bundle):
    import subprocess
    import sys

    code = (
        "import sys, softquery as sq\n"
        "found = sq.load(sys.argv[1]).embed(['a cat sat'])\n"
        "print(found[0].shape, sorted({'torch', 'onnx', 'pyarrow', 'h5py'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(elmo_bundle)], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("(3, 3, 8) []\n", "")


def test_other_numbers_of_layers(tmp_path):
    report = exported_elmo(tmp_path, ElmoCase(settings={"num_layers": 1}).build().eval())
    assert load(report.bundle).embed(["a cat"])[0].shape == (2, 2, 8)
