"""A BERT as Google published it: read without TensorFlow, and refused in one line."""

import json
import shutil
import string

import numpy as np
import pytest

pytest.importorskip("torch", reason="the small BERT is made with torch")

from bert_cases import BertCase, write_bert
from google_folders import (
    block,
    field,
    google_tensors,
    masked_crc,
    varint,
    write_checkpoint,
    write_google_folder,
)
from softquery.bundle import read_bundle
from softquery.errors import BundleError, InputError
from softquery.export import export_encoder
from softquery.interop import import_bert, import_pooled_bert, publish_bert
from softquery.interop.crc32c import ROW, crc32c
from softquery.interop.google_bert import is_cased
from softquery.interop.tensorflow_checkpoint import read_checkpoint
from softquery.runtime import load
from softquery.runtime.fit_checks import fitting_pipeline

INDEX, DATA = "bert_model.ckpt.index", "bert_model.ckpt.data-00000-of-00001"
QUERY = "bert/encoder/layer_1/attention/self/query/kernel"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    place = tmp_path_factory.mktemp("published")
    bundle = read_bundle(write_bert(place / "model", BertCase().build(std=0.3)))
    return publish_bert(bundle, place / "transformers")


@pytest.fixture
def folder(published, tmp_path):
    return write_google_folder(published, tmp_path / "google")


def refused(folder):
    with pytest.raises(InputError) as caught:
        import_bert(folder, folder.parent / "model")
    assert "\n" not in str(caught.value)
    assert not (folder.parent / "model").exists()
    return str(caught.value).replace(f"{folder}", "F")


def rewrite(folder, published, **changes):
    """Write the checkpoint again with other tensors; None takes one away."""
    tensors = {**google_tensors(published), **changes}
    write_checkpoint(folder / INDEX, {k: v for k, v in tensors.items() if v is not None})


def test_it_is_the_model_that_transformers_saved(folder, published, tmp_path):
    ours = read_bundle(import_bert(folder, tmp_path / "ours"))
    theirs = read_bundle(import_bert(published, tmp_path / "theirs"))
    assert ours.config == theirs.config
    wanted, found = theirs.read_weights(), ours.read_weights()
    assert wanted.keys() == found.keys()
    assert all(np.array_equal(wanted[name], found[name]) for name in wanted)
    texts = ["The cat sat.", "abx [MASK] cab", "Ünknown 漢字", ""]
    assert fitting_pipeline(ours).encode(texts) == fitting_pipeline(theirs).encode(texts)


@pytest.mark.parametrize("length", [0, 1, ROW - 1, ROW, ROW + 1, 5 * ROW + 17])
def test_checksums_of_every_length(length):
    data = np.random.default_rng(length).integers(0, 256, length, dtype=np.uint8).tobytes()
    value = crc32c(data)
    assert ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF == masked_crc(data)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_types_of_numbers(kind, tmp_path):
    array = np.arange(6, dtype=kind).reshape(2, 3)
    index = write_checkpoint(tmp_path / "some.ckpt.index", {"a/b": array, "a/c": array[0]})
    found = read_checkpoint(index, lambda name: True)
    assert sorted(found) == ["a/b", "a/c"]
    assert found["a/b"].dtype == array.dtype
    np.testing.assert_array_equal(found["a/b"], array)


def test_a_checkpoint_by_another_name_and_folders_with_several(folder):
    for name in (INDEX, DATA):
        (folder / name).rename(folder / name.replace("bert_model.ckpt", "model.ckpt-20"))
    import_bert(folder, folder.parent / "renamed")
    shutil.copy(folder / "model.ckpt-20.index", folder / "model.ckpt-10.index")
    assert refused(folder) == (
        "F: holds 2 checkpoints, none of them bert_model.ckpt.index: model.ckpt-10.index, "
        "model.ckpt-20.index"
    )


def test_a_vocabulary_with_every_capital_is_not_lower_cased(tmp_path):
    for last, expected in (("Z", True), ("z", False)):
        pieces = ["[PAD]", "the", *string.ascii_uppercase[:-1], last]
        (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
        assert is_cased(tmp_path) is expected
    (tmp_path / "vocab.txt").unlink()
    with pytest.raises(InputError, match="vocab.txt: no such file"):
        is_cased(tmp_path)


def test_narrow_tables(folder, published, tmp_path):
    """Tables of another width than the states, as in ALBERT and in small SimBERTs."""
    import torch

    from softquery.runtime.torch_models import load_encoder

    generator = np.random.default_rng(0)

    def some(*shape):
        return generator.normal(size=shape).astype(np.float32)

    tensors = google_tensors(published)
    tables = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    rows = {name: len(tensors[f"bert/embeddings/{name}"]) for name in tables}
    changes = {f"bert/embeddings/{name}": some(count, 6) for name, count in rows.items()}
    changes |= {f"bert/embeddings/LayerNorm/{name}": some(6) for name in ("gamma", "beta")}
    changes |= {
        f"cls/predictions/transform/LayerNorm/{name}": some(6) for name in ("gamma", "beta")
    }
    root = "bert/encoder/embedding_hidden_mapping_in"
    changes |= {f"{root}/kernel": some(6, 8), f"{root}/bias": some(8)}
    changes |= {"cls/predictions/transform/dense/kernel": some(8, 6)}
    changes |= {"cls/predictions/transform/dense/bias": some(6)}
    rewrite(folder, published, **changes)
    assert "has the shape (21, 6), but by bert_config.json it should be (21, 8)" in refused(folder)
    path = folder / "bert_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "embedding_size": 6}))
    bundle = read_bundle(import_bert(folder, tmp_path / "ours"))
    assert bundle.config.model["config"]["embedding_size"] == 6
    model = load_encoder(bundle).eval()
    logits = model.word_logits(torch.from_numpy(some(3, 8)))
    assert logits.shape == (3, 21)
    assert export_encoder(bundle, tmp_path / "exported").difference < 1e-5
    with pytest.raises(BundleError, match="embedding_size has no counterpart in that format"):
        publish_bert(bundle, tmp_path / "out")


def test_tensors_that_do_not_fit(folder, published):
    rewrite(folder, published, **{QUERY: np.zeros((3, 8), np.float32)})
    assert refused(folder) == (
        f"F/{INDEX}: the tensor {QUERY} has the shape (3, 8), but by bert_config.json it should be "
        "(8, 8)"
    )
    rewrite(folder, published, **{QUERY: None})
    assert refused(folder) == f"F/{INDEX}: the tensor {QUERY} is missing"
    rewrite(folder, published, **{QUERY: np.full((8, 8), np.nan, np.float32)})
    assert refused(folder).endswith(f"{QUERY} holds values that are not finite numbers")
    rewrite(folder, published, **{QUERY: np.zeros((8, 8), np.int64)})
    assert refused(folder) == (
        f"F/{DATA}: the tensor {QUERY} holds no floating-point numbers, which is not supported"
    )


def test_data_that_is_missing_cut_or_changed(folder):
    whole = (folder / DATA).read_bytes()
    (folder / DATA).write_bytes(whole[:-9])
    assert refused(folder).startswith(f"F/{DATA}: cut short: it ends before the tensor cls/")
    (folder / DATA).write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    assert refused(folder) == (
        f"F/{DATA}: damaged: the tensor bert/embeddings/LayerNorm/beta does not fit its checksum"
    )
    (folder / DATA).unlink()
    assert refused(folder) == f"F/{DATA}: no such file"
    (folder / "bert_config.json").unlink()
    assert refused(folder) == "F/bert_config.json: no such file"


def test_an_index_that_is_cut_or_changed_anywhere(folder):
    path = folder / INDEX
    whole = path.read_bytes()
    path.write_bytes(b"")
    cut = f"F/{INDEX}: cut short, or not the index of a TensorFlow checkpoint"
    assert refused(folder) == cut
    path.write_bytes(whole[: len(whole) // 2])
    assert refused(folder) == cut
    generator = np.random.default_rng(1)
    for place in generator.choice(len(whole), 60, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(generator.integers(8))
        path.write_bytes(damaged)
        if len(whole) - 48 <= place < len(whole) - 8:
            continue  # the footer has bytes that nobody reads
        assert refused(folder).startswith(f"F/{INDEX}: ")


def test_a_table_whose_checksums_fit_but_whose_messages_lie(folder):
    """What a forger can do who writes sound tables."""

    def forged(rows):
        table = block(rows)
        handles = [(rows[-1][0], varint(0) + varint(len(table) - 5))]
        ends = b""
        for each in (block([]), block(handles)):
            ends += varint(len(table)) + varint(len(each) - 5)
            table += each
        magic = (0xDB4775248B80FB57).to_bytes(8, "little")
        (folder / INDEX).write_bytes(table + ends.ljust(40, b"\0") + magic)
        return refused(folder)

    header, name = (b"", field(1, 1)), b"bert/x"
    assert forged([(name, b"")]) == (
        f"F/{INDEX}: the index does not say how many files of data there are"
    )
    assert forged([(b"", field(1, 1) + field(2, 1))]).endswith(
        "big-endian checkpoints are not supported"
    )
    assert forged([header, (name, b"\xff")]) == f"F/{INDEX}: what it says of bert/x is damaged"
    assert forged([header, (name, field(2, 5))]).endswith("what it says of bert/x is damaged")
    assert forged([header, (name, field(4, b"ab"))]).endswith("what it says of bert/x is damaged")
    huge = field(1, 1) + field(2, field(2, field(1, 1 << 50))) + field(5, 1 << 52)
    assert forged([header, (name, huge)]).endswith(
        "cut short: it ends before the tensor bert/x does"
    )
    assert forged([header, (name, field(1, 1) + field(5, 12))]).endswith(
        "has 12 bytes, which do not fit the shape ()"
    )
    assert forged([header, (name, field(1, 1) + field(7, b""))]).endswith(
        "is stored in slices, which is not supported"
    )
    assert forged([header, (b"\xff", b"")]) == f"F/{INDEX}: the index of the checkpoint is damaged"


@pytest.mark.parametrize("pool", ["cls", "max", "mean", "pooler"])
def test_a_pool_makes_a_sentence_encoder(pool, folder, tmp_path):
    import torch

    from softquery.data import Tokens
    from softquery.runtime.torch_models import load_encoder

    bert = load_encoder(read_bundle(import_bert(folder, tmp_path / "bare"))).eval()
    encoder = load(import_pooled_bert(folder, tmp_path / "ours", pool))
    text = "the cat sat"
    ids = torch.tensor([encoder.pipeline.encode([text])[0].ids])
    with torch.inference_mode():
        states = bert.encode(Tokens(ids, torch.ones_like(ids, dtype=torch.bool))).states
        expected = {
            "cls": states[0, 0],
            "max": states[0].amax(0),
            "mean": states[0].mean(0),
            "pooler": bert.pool(states[:, 0])[0],
        }[pool]
    expected = (expected / expected.norm()).numpy()
    np.testing.assert_allclose(encoder.encode([text])[0], expected, atol=1e-5)


def test_pools_that_cannot_be(folder, published, tmp_path):
    tensors = google_tensors(published)
    without = {name: None for name in tensors if "/pooler/" in name or "relationship" in name}
    rewrite(folder, published, **without)
    for pool, said in (
        ("pooler", "has no pooler, the layer on top of the first token; choose another --pool"),
        ("last", "--pool must be one of cls, max, mean, pooler, got 'last'"),
    ):
        with pytest.raises(InputError, match=said):
            import_pooled_bert(folder, tmp_path / "ours", pool)
    path = folder / "bert_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "is_decoder": True}))
    with pytest.raises(InputError, match="is_decoder is on; expected an encoder"):
        import_pooled_bert(folder, tmp_path / "ours", "mean")
    assert not (tmp_path / "ours").exists()
