"""The scripts that ask Chinese teachers: the multilingual USE, and what SimBERT writes."""

import argparse
import struct

import numpy as np
import pytest
import torch
from multilingual_use import NUM_SHARDS, SPANS, MultilingualUse
from simbert_questions import SimBert, rows_of
from torch.nn import functional as F

from bert_cases import BertCase, write_bert
from google_folders import field, varint, write_google_folder
from softquery.bundle import read_bundle
from softquery.interop import publish_bert

PIECES = ["<unk>", "<s>", "</s>", "▁", "我", "你", "好", "▁ok", "手机", "手", "机", "?"]
TEXTS = ["我好?", "手机", "ok 你好 我 我 我 我", "", "  ok   ok ", "未知"]


@pytest.fixture(scope="module")
def use(tmp_path_factory):
    """The published sizes with random weights, and a sentencepiece model of a few pieces."""
    folder = tmp_path_factory.mktemp("use")
    pieces = []
    for number, piece in enumerate(PIECES):
        score = varint(2 << 3 | 5) + struct.pack("<f", number / 9 - len(PIECES))
        pieces.append(field(1, field(1, piece.encode()) + score))
    (folder / "sp.model").write_bytes(b"".join(pieces))
    generator = np.random.default_rng(0)

    def some(*shape):
        return generator.normal(scale=shape[0] ** -0.5, size=shape).astype(np.float32)

    arrays = {
        f"q{n + 1}": generator.integers(0, 256, (2, 512), dtype=np.uint8) for n in range(NUM_SHARDS)
    }
    arrays |= {"scale": some(NUM_SHARDS), "lo": some(NUM_SHARDS), "eps": np.array(1e-6)}
    for n in SPANS:
        arrays |= {f"proj{n}": some(512, 256), f"w1_{n}": some(n * 256, 256)}
        arrays |= {f"w2_{n}": some(n * 256, 256)}
        arrays |= {f"{name}{n}": some(256) for name in ("proj_b", "ln_g", "ln_b", "b1_", "b2_")}
    arrays |= {"ln_g": some(1280), "ln_b": some(1280), "cnn_W": some(1280, 512), "cnn_b": some(512)}
    arrays |= {"d0": some(512, 320), "d1": some(320, 320), "p1": some(512, 320)}
    arrays |= {"d2": some(320, 512), "p3": some(320, 512), "d3": some(512, 512)}
    np.savez(folder / "weights.npz", **arrays)
    return MultilingualUse(folder, "cpu")


def normed(states, weight, bias):
    scaled = (states - states.mean(-1, keepdims=True)) / np.sqrt(
        states.var(-1, keepdims=True) + 1e-6
    )
    return scaled * weight + bias


def one_vector(use, ids):
    """The vector of a text, token by token."""
    w = {name: array.numpy() for name, array in use.weights.items()}
    table = use.table.numpy()
    words = np.stack([table[i] * w["scale"][i % 17] + w["lo"][i % 17] for i in ids])
    parts = [words]
    for n, (before, _) in SPANS.items():
        narrow = words @ w[f"proj{n}"] + w[f"proj_b{n}"]
        states = normed(narrow, w[f"ln_g{n}"], w[f"ln_b{n}"])
        for layer in (1, 2):
            read = []
            for place in range(len(ids)):
                window = np.zeros((n, 256), np.float32)
                for offset in range(n):
                    if 0 <= place - before + offset < len(ids):
                        window[offset] = states[place - before + offset]
                read.append(window.reshape(-1) @ w[f"w{layer}_{n}"] + w[f"b{layer}_{n}"])
            states = states + np.maximum(np.stack(read), 0)
        parts.append(states)
    states = normed(np.concatenate(parts, axis=1), w["ln_g"], w["ln_b"])
    pooled = (states @ w["cnn_W"] + w["cnn_b"]).sum(0) / np.sqrt(len(ids))
    first = np.maximum(pooled @ w["d0"], 0)
    second = np.maximum(pooled @ w["p1"] + first @ w["d1"], 0)
    third = np.maximum(second @ w["d2"], 0)
    answer = np.tanh(second @ w["p3"] + third @ w["d3"])
    return answer / np.linalg.norm(answer)


def test_a_batch_gives_what_each_text_gives_by_itself(use):
    ids = [[1, *each.ids, 2] for each in use.tokenizer.encode_batch(TEXTS)]
    found = use.encode(TEXTS)
    np.testing.assert_allclose(found, [one_vector(use, each) for each in ids], atol=1e-5)


def test_pieces_are_cut_as_sentencepiece_does(use):
    tokens = [each.tokens for each in use.tokenizer.encode_batch(TEXTS)]
    assert tokens[0] == ["▁", "我", "好", "?"]
    assert tokens[1] == ["▁", "手机"]
    assert tokens[3] == []
    assert tokens[4] == ["▁ok", "▁ok"]


@pytest.fixture(scope="module")
def simbert(tmp_path_factory):
    place = tmp_path_factory.mktemp("simbert")
    bundle = read_bundle(write_bert(place / "model", BertCase().build(std=0.5)))
    write_google_folder(publish_bert(bundle, place / "theirs"), place / "google")
    return SimBert(place / "google", "cpu")


def test_what_is_written_depends_on_the_text_and_on_what_stands_before(simbert):
    """The states behind a prefix, token by token and at once, alone and beside a longer text."""
    with torch.inference_mode():
        given, mask = simbert._rows(["the cat"])
        wide, wide_mask = simbert._rows(["the cat", "a b c d e f"])
        found = []
        for ids, seen in ((given, mask), (wide, wide_mask)):
            behind, (_, past) = seen.sum(1), simbert._read(ids, seen)
            for number in (7, 8):
                seen = F.pad(seen, (0, 1), value=True)
                states, past = simbert._go_on(torch.full_like(behind, number), behind, seen, past)
                behind = behind + 1
            found.append(states[0])
        both = torch.cat([given, torch.tensor([[7, 8]])], dim=1)
        count, length = given.shape[1], both.shape[1]
        sees = torch.zeros(1, length, length, dtype=torch.bool)
        sees[:, :, :count] = True
        sees[:, count:, count:] = torch.ones(2, 2).tril().bool()
        segments = torch.tensor([[0] * count + [1, 1]])
        states = simbert.bert.embedding(both, torch.arange(length)[None], segments)
        bias = torch.zeros(sees.shape).masked_fill(~sees, -torch.inf)[:, None]
        for block in simbert.bert.blocks:
            states, _ = block(states, torch.ones_like(both, dtype=torch.bool), bias=bias)
    torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found[0], states[0, -1], rtol=1e-4, atol=1e-4)


def test_rows_are_drawn_by_the_seed(simbert):
    options = argparse.Namespace(count=3, top_k=5, top_p=0.9, seed=1, least=-1.0)
    rows = list(rows_of(simbert, ["the cat", "a b"], options))
    assert rows == list(rows_of(simbert, ["the cat", "a b"], options))
    assert {row.split("\t")[0] for row in rows} <= {"the cat", "a b"}
    assert all(len(row.split("\t")) == 3 and "[" not in row for row in rows)
