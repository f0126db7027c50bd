"""The scripts that teach Chinese matchers: mined pairs, teachers, and a student by the clock."""

import argparse
import json

import numpy as np
import pytest
import torch
from chinese_pairs import distinct, made_pairs, more, neighbours, without
from matcher_teachers import (
    CrossEncoder,
    Texts,
    batches,
    fit,
    join,
    logits_of,
    measured,
    open_encoder,
)
from numbered_pairs import NumberedPairs
from safetensors.numpy import save_file
from taught_matcher import Taught, train
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertModel, ElectraConfig, ElectraModel

from softquery.bundle import read_bundle

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"怎么办手机坏了网络慢今天好"]
ROWS = [
    ("手机坏了", "手机坏了怎么办", 1.0, 0.5),
    ("网络慢", "今天好", 0.0, 0.5),
    ("今天好", "手机坏了", float("nan"), 0.0),
]
SIZES = {"vocab_size": len(PIECES), "hidden_size": 8, "num_hidden_layers": 1,
         "num_attention_heads": 2, "intermediate_size": 12}  # fmt: skip


def packed(folder, kind):
    """A teacher of random weights, with nothing rounded."""
    folder.mkdir()
    narrow = {"embedding_size": 6} if kind == "electra" else {}
    torch.manual_seed(1)
    model = (
        ElectraModel(ElectraConfig(**SIZES, **narrow))
        if narrow
        else BertModel(BertConfig(**SIZES), add_pooling_layer=False)
    )
    save_file({name: each.numpy() for name, each in model.state_dict().items()},
              folder / "packed.safetensors")  # fmt: skip
    (folder / "config.json").write_text(json.dumps({"model_type": kind, **SIZES, **narrow}))
    (folder / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    tokenizer = BertWordPieceTokenizer(str(folder / "vocab.txt"))
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder, model.eval()


@pytest.mark.parametrize("kind", ["bert", "electra"])
def test_packed_teacher_opens_as_it_was(tmp_path, kind):
    folder, model = packed(tmp_path / kind, kind)
    texts = Texts(["手机坏了", "网络慢"], folder / "tokenizer.json", "cpu", 1)
    batch = texts.batch(torch.tensor([0]), torch.tensor([1]), 16)
    opened = open_encoder(folder).eval()
    with torch.no_grad():
        expected = model(**batch).last_hidden_state[0, :10]
        assert opened(**batch).last_hidden_state[0, :10].allclose(expected, atol=1e-6)


def test_batch_is_both_texts_between_marks(tmp_path):
    folder, _ = packed(tmp_path / "bert", "bert")
    texts = Texts(["手机", "", "网络慢"], folder / "tokenizer.json", "cpu", 1)
    batch = texts.batch(torch.tensor([0, 1]), torch.tensor([2, 0]), 9)
    spelt = [[PIECES[n] for n in row] for row in batch["input_ids"].tolist()]
    assert spelt[0] == ["[CLS]", "手", "机", "[SEP]", "网", "络", "慢", "[SEP]", "[PAD]"]
    assert spelt[1][:6] == ["[CLS]", "[SEP]", "手", "机", "[SEP]", "[PAD]"]
    assert batch["token_type_ids"].tolist()[0] == [0, 0, 0, 0, 1, 1, 1, 1, 0]
    assert batch["attention_mask"].sum(1).tolist() == [8, 5]


def test_batches_hold_every_place_once():
    lengths = np.random.default_rng(0).integers(3, 30, 57)
    for random in (None, np.random.default_rng(1)):
        cut = list(batches(lengths, 8, random))
        assert sorted(np.concatenate([places for places, _ in cut]).tolist()) == list(range(57))
        assert all(lengths[places].max() <= length for places, length in cut)


def test_teacher_learns_and_says_the_same_in_both_orders(tmp_path):
    folder, _ = packed(tmp_path / "bert", "bert")
    pairs = NumberedPairs.of(ROWS)
    texts = Texts(pairs.texts, folder / "tokenizer.json", "cpu", 1)
    model = CrossEncoder(folder, "cpu")
    fit(model, texts, pairs, argparse.Namespace(epochs=30, batch=2, lr=0.02, seed=1))
    found = logits_of(model, texts, pairs)
    assert found[0] > found[1]
    turned = NumberedPairs(pairs.texts, pairs.second, pairs.first, pairs.share, pairs.trust)
    assert np.allclose(found, logits_of(model, texts, turned), atol=1e-5)


def test_join_trusts_labels_as_much_as_they_say(tmp_path):
    NumberedPairs.of(ROWS).write(tmp_path / "pairs")
    np.save(tmp_path / "one.npy", np.array([0.0, 0.0, 2.0], np.float32))
    np.save(tmp_path / "two.npy", np.array([0.0, 0.0, 4.0], np.float32))
    given = {"pairs": tmp_path / "pairs", "output": tmp_path / "taught"}
    logits = [tmp_path / "one.npy", tmp_path / "two.npy"]
    join(argparse.Namespace(**given, logits=logits, held_back=0, tune=None))
    found = NumberedPairs.read(tmp_path / "taught")
    places = {(found.first[n], found.second[n]): share for n, share in enumerate(found.share)}
    assert sorted(places.values()) == pytest.approx([0.25, 0.75, 1 / (1 + np.exp(-3))])


def test_measured_fits_the_threshold_on_one_half():
    rows = [{"label": str(n % 2), "source": "a"} for n in range(40)]
    found = measured(np.array([5.0 + n % 2 for n in range(40)], np.float32), rows)
    assert found["a"] == {"n": 40, "auc": 1.0, "accuracy": 0.5, "second half": 1.0}


def test_mined_pairs_are_near_new_and_of_two_texts():
    angles = torch.linspace(0, 3, 60)
    found = neighbours(torch.stack([angles.cos(), angles.sin()], dim=1), 1, 1, seed=1)
    assert len(found) == len(distinct(found))
    assert (found[:, 0] < found[:, 1]).all()
    assert np.median(np.abs(found[:, 0] - found[:, 1])) < 12
    left = without(found, found[:10, ::-1], 60)
    assert len(left) == len(found) - 10


def test_what_was_written_stands_beside_its_text_and_its_siblings(tmp_path):
    (tmp_path / "made.tsv").write_text("b\t0\nc\t0\nd\t1\n", encoding="utf-8")
    numbers = {"a": 0, "x": 1}
    assert made_pairs(tmp_path / "made.tsv", numbers).tolist() == [[0, 2], [0, 3], [2, 3], [1, 4]]
    assert list(numbers) == ["a", "x", "b", "c", "d"]
    assert more(np.array([[0, 1]]), ["a", "x"], 0.25, 0.5).share.tolist() == [0.25]


def test_student_ends_by_the_clock_as_a_bundle(tmp_path):
    NumberedPairs.of(ROWS[:2] * 40).write(tmp_path / "taught")
    data = tmp_path / "data"
    data.mkdir()
    rows = [
        {"sentence1": one, "sentence2": other, "label": f"{share:.0f}", "source": "a"}
        for one, other, share, _ in ROWS[:2]
    ]
    for split in ("tune", "dev"):
        (data / f"{split}.jsonl").write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
        )
    small = ["model.hidden_size=4", "model.embedding_size=4", "data.batch_size=16",
             "schedule.warmup_steps=2", "vocabulary.min_count=1"]  # fmt: skip
    train(argparse.Namespace(recipe="match-zh", pairs=tmp_path / "taught", data=data, seconds=1.0,
                             output=tmp_path / "student", set=small, vectors=[],
                             processes=1, held_back=0))  # fmt: skip
    bundle = read_bundle(tmp_path / "student")
    settings = json.loads((tmp_path / "student/training/run.json").read_text(encoding="utf-8"))
    assert bundle.metrics["training"]["steps"] == settings["training"]["max_steps"] > 0
    assert bundle.config.task["labels"] == ["0", "1"]


def test_taught_pairs_are_opinions_and_half_labels(tmp_path):
    labels = ("entailment", "neutral", "contradiction")
    rows = [("a", "b", "neutral"), ("b", "c", ""), ("c", "a", "")]
    with (tmp_path / "pairs.jsonl").open("w", encoding="utf-8") as file:
        for one, other, label in rows:
            file.write(json.dumps({"sentence1": one, "sentence2": other, "label": label}) + "\n")
    np.save(tmp_path / "logits.npy", np.log([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.6, 0.2, 0.2]]))
    found = Taught.read(tmp_path, labels)
    assert found.texts == ["a", "b", "c"]
    assert found.shares[0].tolist() == pytest.approx([0.25, 0.65, 0.1])
    assert found.shares[1].tolist() == pytest.approx([0.1, 0.1, 0.8])
    kept, held = found.without(1)
    held.write_tune(tmp_path / "tune.jsonl", labels)
    row = json.loads((tmp_path / "tune.jsonl").read_text(encoding="utf-8"))
    left = [(found.texts[one], found.texts[kept.second[n]]) for n, one in enumerate(kept.first)]
    assert len(left) == 2
    assert (row["sentence1"], row["sentence2"]) not in left
