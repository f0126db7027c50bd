"""Static tables: the arithmetic that model2vec documents, and what is refused."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

pytest.importorskip("transformers", reason="folders are made with its tokenizers")

from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

import softquery as sq
from sentence_folders import STATIC_PIECES, TEXTS, write_json, write_static
from softquery.bundle import read_bundle
from softquery.errors import InputError
from softquery.export.encode import export_sentence_encoder
from softquery.interop import import_static

COUNT = len(STATIC_PIECES)
DRAW = np.random.default_rng(9)
MAPPED = {
    "weights": DRAW.random(COUNT).astype(np.float32),
    "mapping": DRAW.integers(0, COUNT, COUNT),
}
FOLDERS = {
    "plain": {},
    "float16": {"dtype": np.float16},
    "int8": {"dtype": np.int8},
    "float64": {"dtype": np.float64},
    "weights": {"extra": {"weights": MAPPED["weights"]}},
    "weights and mapping": {"extra": MAPPED},
    "cut": {"max_length": 4},
}


def wanted_vectors(folder, limit):
    """The mean of the rows of known tokens, each by its weight, at length one.

    Differs from model2vec: it cuts long texts by characters, too, before it cuts tokens.
    """
    tensors = load_file(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    found = []
    for text in TEXTS:
        ids = tokenizer.encode(text, add_special_tokens=False).ids[:limit]
        ids = [each for each in ids if each != STATIC_PIECES.index("[UNK]")]
        places = tensors["mapping"][ids] if "mapping" in tensors else ids
        rows = tensors["embeddings"].astype(np.float64)[places]
        if "weights" in tensors:
            rows = rows * tensors["weights"][ids][:, None]
        total = rows.sum(axis=0)
        found.append(total / (np.linalg.norm(total) or 1.0))
    return np.stack(found)


@pytest.mark.parametrize("name", FOLDERS)
def test_vectors_are_means_of_rows(name, tmp_path):
    folder = write_static(tmp_path / "theirs", **FOLDERS[name])
    wanted = wanted_vectors(folder, FOLDERS[name].get("max_length", 512))
    bundle = read_bundle(import_static(folder, tmp_path / "ours"))
    export_sentence_encoder(bundle, tmp_path / "exported")
    for place, backend in (("ours", "torch"), ("exported", "onnx")):
        found = sq.load(tmp_path / place, backend=backend).encode(TEXTS)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)


@pytest.mark.skipif(not find_spec("model2vec"), reason="compared with model2vec, where it is")
@pytest.mark.parametrize("name", [name for name in FOLDERS if name != "cut"])
def test_vectors_are_those_of_model2vec(name, tmp_path):
    from model2vec import StaticModel

    folder = write_static(tmp_path / "theirs", **FOLDERS[name])
    theirs = StaticModel.from_pretrained(folder).encode(TEXTS)
    ours = sq.load(import_static(folder, tmp_path / "ours")).encode(TEXTS)
    close = 2e-3 if name == "float16" else 1e-5
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=close)


def test_a_text_of_unknown_words_has_zeros(tmp_path):
    encoder = sq.load(import_static(write_static(tmp_path / "theirs"), tmp_path / "ours"))
    assert not encoder.encode(["qqq", "", "qqq www"]).any()


def test_a_table_without_a_limit_reads_whole_texts(tmp_path):
    folder = write_static(tmp_path / "theirs", max_length=None)
    encoder = sq.load(import_static(folder, tmp_path / "ours"))
    (found,) = encoder.encode(["a " * 999 + "b " * 9_000])
    table = load_file(folder / "model.safetensors")["embeddings"]
    wanted = 999 * table[STATIC_PIECES.index("a")] + 9_000 * table[STATIC_PIECES.index("b")]
    np.testing.assert_allclose(found, wanted / np.linalg.norm(wanted), rtol=0, atol=1e-5)
    assert encoder.num_cut(["a " * 99_999]) == 0


@pytest.mark.parametrize("limit", [None, 4])
@pytest.mark.parametrize("nested", ["", "0_StaticEmbedding"])
def test_a_table_of_sentence_transformers_counts_unknown_words(nested, limit, tmp_path):
    folder = write_static(tmp_path / "theirs" / nested)
    (folder / "config.json").unlink()
    table = load_file(folder / "model.safetensors")["embeddings"]
    save_file({"embedding.weight": table}, folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    if limit is not None:
        tokenizer.enable_truncation(limit)
        tokenizer.save(str(folder / "tokenizer.json"))
    texts = [*TEXTS, "qqq a qqq", "b " * 600 + "a " * 900]
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    sums = np.stack([table[each.ids].sum(axis=0) for each in encoded])
    wanted = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    found = sq.load(import_static(tmp_path / "theirs", tmp_path / "ours")).encode(texts)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


def broken(folder, name, values):
    tensors = load_file(folder / "model.safetensors")
    save_file({**tensors, name: values}, folder / "model.safetensors")


WRONG = {
    "no table": (
        lambda at: save_file({"x": np.ones(2)}, at / "model.safetensors"),
        r"model\.safetensors: the tensor embeddings is missing",
    ),
    "a list": (
        lambda at: broken(at, "embeddings", np.ones(9, np.float32)),
        r"the tensor embeddings is no table: its shape is \(9,\)",
    ),
    "too few rows": (
        lambda at: broken(at, "embeddings", np.ones((3, 2), np.float32)),
        rf"the tensor embeddings has 3 rows, but tokenizer\.json has {COUNT} entries",
    ),
    "not finite": (
        lambda at: broken(at, "embeddings", np.full((COUNT, 2), np.nan, np.float32)),
        "the tensor embeddings holds values that are not finite numbers",
    ),
    "a mapping out of range": (
        lambda at: broken(at, "mapping", np.full(COUNT, COUNT)),
        rf"the tensor mapping must give each of {COUNT} entries one of {COUNT} rows",
    ),
    "weights of another number": (
        lambda at: broken(at, "weights", np.ones(3, np.float32)),
        rf"the tensor weights must give each of {COUNT} entries a finite number",
    ),
    "another tokenizer": (
        lambda at: write_json(at / "tokenizer.json", {"model": {"type": "Unigram"}}),
        r"tokenizer\.json: expected a WordPiece, found 'Unigram'",
    ),
    "no tokenizer": (
        lambda at: write_json(at / "tokenizer.json", {"model": {"type": "WordPiece"}}),
        r"tokenizer\.json: damaged or not a tokenizer",
    ),
    "a length that is none": (
        lambda at: write_json(at / "config.json", {"max_length": 0}),
        r"config\.json: max_length must be a positive whole number, got 0",
    ),
    "no config": (lambda at: (at / "config.json").unlink(), r"config\.json: no such file"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name, tmp_path):
    folder = write_static(tmp_path / "theirs")
    damage, said = WRONG[name]
    damage(folder)
    with pytest.raises(InputError, match=said):
        import_static(folder, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_a_vocabulary_with_gaps_is_refused(tmp_path):
    folder = write_static(tmp_path / "theirs")
    data = json.loads((folder / "tokenizer.json").read_text())
    data["model"]["vocab"]["zz"] = 99
    write_json(folder / "tokenizer.json", data)
    with pytest.raises(InputError, match="the ids of the vocabulary have gaps"):
        import_static(folder, tmp_path / "ours")
