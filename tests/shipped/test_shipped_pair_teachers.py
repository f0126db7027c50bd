"""The scripts that teach matchers on a large scale, on a few texts and a small random MPNet."""

import json
import sys

import numpy as np
import pytest
import torch
from pair_teachers import __main__ as command
from pair_teachers.cross import by_length, shuffled
from pair_teachers.mining import distinct, mine_inferences, mine_same, nearest
from pair_teachers.rows import Numbered, write_taught
from pair_teachers.tokens import TokenTable
from safetensors.torch import save_file
from students.teach import MARKS

from small_sentence_encoders import random_sentences
from softquery.text import BERT_RESERVED, TextConfig, pipeline_from_pieces

LETTERS = "abcdefghijklmnopqrstuvwxyz"
PIECES = [*BERT_RESERVED, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
MARK = MARKS["mpnet"]
RULES = ("numbers", "roles")


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """An MPNet of two layers, as `students.teach pack` writes one."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("packed")
    pipeline = pipeline_from_pieces(PIECES, TextConfig(unit="bert"))
    pipeline.tokenizer.save(str(folder / "tokenizer.json"))
    config = transformers.MPNetConfig(
        vocab_size=len(PIECES) + 10, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=140,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.MPNetModel(config, add_pooling_layer=False)
    weights = {name: value.contiguous() for name, value in model.state_dict().items()}
    save_file(weights, folder / "part-0.safetensors")
    (folder / "config.json").write_text(json.dumps(config.to_dict()))
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Labelled inferences, hard pairs of both kinds and texts."""
    folder, some = tmp_path_factory.mktemp("rows"), random_sentences(120)

    def write(name, labels, **further):
        rows = [
            {"sentence1": some[n // 2 % 60], "sentence2": some[(7 * n + 1) % 120],
             "label": labels[n % len(labels)], **{k: v[n % len(v)] for k, v in further.items()}}
            for n in range(90)
        ]  # fmt: skip
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    write("gold.jsonl", command.NLI, source=("one", "other"))
    write("nli.jsonl", command.NLI, rule=RULES)
    write("match.jsonl", command.SAME, rule=RULES)
    write("same.jsonl", command.SAME, source=("mixed", "mixed", "other", "likewise"))
    (folder / "texts.txt").write_text("\n".join(some) + "\n")
    return folder


def test_pairs_lie_side_by_side_as_mpnet_reads_them(packed):
    table = TokenTable.of(["ab", "c", "d e"], packed / "tokenizer.json", "cpu")
    assert table.counts.tolist() == [2, 1, 2]
    ids, mask = table.pairs(torch.tensor([0, 1]), torch.tensor([2, 1]), 4, MARK)
    a, b, c, d, e = (PIECES.index(name) + MARK.shift for name in ("a", "##b", "c", "d", "e"))
    start, end, pad, _ = MARK
    assert ids.tolist() == [[start, a, b, end, end, d, e, end],
                            [start, c, end, end, c, end, pad, pad]]  # fmt: skip
    assert mask.sum(1).tolist() == [8, 6]
    ids, mask = table.texts(torch.tensor([1, 0]), 2, MARK)
    assert ids.tolist() == [[start, c, end, pad], [start, a, b, end]]


def test_batches_hold_every_row_once():
    lengths = torch.tensor([5, 1, 9, 3, 3, 7])
    parts = list(by_length(lengths, 26))
    assert torch.cat(parts).tolist() == [2, 5, 0, 3, 4, 1]
    assert [len(part) for part in parts] == [2, 2, 2]
    assert torch.cat(shuffled(lengths, 4)).sort().values.tolist() == list(range(6))


def test_neighbours_leave_the_text_itself_out_and_pairs_stand_once():
    vectors = torch.nn.functional.normalize(torch.randn(40, 8), dim=1)
    ranked = nearest(vectors, 5)
    scores = (vectors @ vectors.T).fill_diagonal_(-2)
    assert ranked.tolist() == scores.topk(5).indices.tolist()
    pairs = mine_same(vectors)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    both = {frozenset(pair) for pair in pairs.tolist()}
    assert len(both) == len(pairs) > 60
    given = [torch.tensor([[0, 1], [1, 0], [1, 1], [0, 1]])]
    assert sorted(distinct(given, 2, ordered=True).tolist()) == [[0, 1], [1, 0]]


def test_recombined_inferences_are_new():
    vectors = torch.nn.functional.normalize(torch.randn(50, 8), dim=1)
    premises, hypotheses = torch.arange(20) % 10, torch.arange(20) + 20
    pairs = mine_inferences(vectors, premises, hypotheses)
    found = set(map(tuple, pairs.tolist()))
    known = set(zip(premises.tolist(), hypotheses.tolist(), strict=True))
    assert found
    assert not found & known
    assert len(found) == len(pairs)
    assert (hypotheses[0].item(), premises[0].item()) in found


def test_written_logits_belong_to_their_rows(tmp_path):
    known = Numbered(["a", "b", "c"])
    assert known.pairs([{"sentence1": "c", "sentence2": "d"}]).tolist() == [[2, 3]]
    pairs, logits = torch.tensor([[0, 1], [2, 0]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    write_taught(tmp_path, known.texts, pairs, logits, ["0", ""])
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").open()]
    found = np.load(tmp_path / "logits.npy")
    told = {(row["sentence1"], row["label"]): each.tolist()
            for row, each in zip(rows, found, strict=True)}  # fmt: skip
    assert told == {("a", "0"): [1.0, 2.0], ("c", ""): [3.0, 4.0]}


@pytest.mark.parametrize("kind", ["nli", "match", "labelled"])
def test_a_teacher_is_fitted_and_asked(kind, packed, files, tmp_path, monkeypatch):
    gold, hard = ("same", "match") if kind == "labelled" else ("gold", kind)
    arguments = [kind, "--packed", packed, "--gold", files / f"{gold}.jsonl", "--output", tmp_path,
                 "--hard", files / f"{hard}.jsonl", "--epochs", "1", "--batch", "32",
                 "--count", "200"]  # fmt: skip
    if kind == "match":
        arguments += ["--texts", files / "texts.txt"]
    else:
        arguments += ["--dev", files / f"{gold}.jsonl"]
    if kind != "nli":
        arguments += ["--beside", packed, "--fitted", "50"]
    if kind == "labelled":
        arguments += ["--skip", "other"]
    monkeypatch.setattr(sys, "argv", ["pair_teachers", *map(str, arguments)])
    command.main()
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").open()]
    logits = np.load(tmp_path / "logits.npy")
    told = json.loads((tmp_path / "teacher.json").read_text())
    assert logits.shape == (len(rows), 3 if kind == "nli" else 2)
    assert np.isfinite(logits).all()
    assert told["pairs"] == len(rows)
    assert set(told["hard"]["agreement"]) == set(RULES)
    labels = {row.get("label") for row in rows}
    wanted = {"nli": {"", *command.NLI}, "match": {None}, "labelled": {"", *command.SAME}}
    assert labels == wanted[kind]


def test_matches_are_taught_by_cosines_and_rules_alone(packed, files, tmp_path, monkeypatch):
    arguments = ["match", "--packed", packed, "--gold", files / "gold.jsonl", "--output", tmp_path,
                 "--hard", files / "match.jsonl", "--texts", files / "texts.txt",
                 "--fitted", "0"]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["pair_teachers", *map(str, arguments)])
    command.main()
    told = json.loads((tmp_path / "teacher.json").read_text())
    assert set(told) == {"texts", "mined", "pairs"}
    labels = [json.loads(line)["label"] for line in (files / "match.jsonl").open()]
    logits = np.load(tmp_path / "logits.npy")
    given = (logits[:, 1] - logits[:, 0]).round(3).tolist()
    assert {label: given.count(command.RULED[label]) for label in command.SAME} == {
        label: labels.count(label) for label in command.SAME
    }
