"""The teacher of classifiers, on made-up reviews; and sentences held out of a file of tags."""

import json
import lzma
import sys

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import class_teacher
from hold_out import blocks_of, held_out
from safetensors.numpy import save_file
from students.teach import pack
from tiny_texts import reviews
from tokenizers import Tokenizer, models, pre_tokenizers, processors

SIGNS = ["negative", "positive"]
MARKS = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102}


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    """A BERT of two layers with random weights, packed."""
    import torch
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("teacher")
    words = sorted({word for text, _ in reviews(160) for word in text.split()})
    vocabulary = {**MARKS, **{word: 103 + place for place, word in enumerate(words)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 102), ("[CLS]", 101))
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(1)
    config = BertConfig(vocab_size=103 + len(words), hidden_size=16, num_hidden_layers=2,
                        num_attention_heads=2, intermediate_size=32,
                        hidden_dropout_prob=0)  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config.to_dict()))
    states = BertModel(config, add_pooling_layer=False).state_dict()
    arrays = {name: value.numpy() for name, value in states.items()}
    save_file(arrays, folder / "model.safetensors")
    packed = tmp_path_factory.mktemp("packed") / "teacher"
    pack(class_teacher.argparse.Namespace(teacher=folder, output=packed, parts=1))
    return packed


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_teacher_learns_and_labels(teacher, tmp_path, monkeypatch):
    rows = [{"text": text, "label": label} for text, label in reviews(160)]
    data, output = tmp_path / "data", tmp_path / "taught"
    data.mkdir()
    for split, some in (("train", rows[:140]), ("tune", rows[140:150]), ("dev", rows[150:])):
        write(data / f"{split}.jsonl", some)
    write(data / "texts.jsonl", [{"text": row["text"]} for row in rows[150:]])
    given = ["class_teacher", str(teacher), "--data", str(data), "--output", str(output)]
    monkeypatch.setattr(sys, "argv", [*given, "--epochs", "6", "--batch", "4", "--lr", "3e-3"])
    class_teacher.main()
    made = class_teacher.read(output / "train.jsonl")
    assert [row["text"] for row in made[:140]] == [row["text"] for row in rows[:140]]
    assert all(row["label"] == max(row["probabilities"], key=row["probabilities"].get)
               for row in made)  # fmt: skip
    assert all(sum(row["probabilities"].values()) == pytest.approx(1, abs=1e-3) for row in made)
    assert [row["label"] for row in made[:140]] == [row["label"] for row in rows[:140]]
    assert np.mean([row["probabilities"][row["label"]] >= 0.5 for row in made[:140]]) == 1
    assert json.loads((output / "teacher.json").read_text())["tune"]["accuracy"] >= 0.7
    assert class_teacher.read(output / "dev.jsonl") == rows[150:]


def test_equal_sentences_are_held_out_together(tmp_path):
    blocks = [f"w{number % 20} O\nx O" for number in range(40)]
    path = tmp_path / "all.txt.xz"
    path.write_bytes(lzma.compress("\n\n".join(blocks).encode()))
    assert blocks_of(path) == blocks
    train, dev = held_out(blocks, 0.1, seed=1)
    assert sorted(train + dev) == sorted(blocks)
    assert len(dev) == 4
    assert not set(train) & set(dev)
