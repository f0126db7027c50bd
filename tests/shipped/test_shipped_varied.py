"""Texts in other words and other orders."""

import json
import sys

import numpy as np
import pytest
import torch
from students import varied
from students.lessons import Lessons, write_lessons
from students.varied import Words, edited, keys_of, keys_of_texts

from softquery.text import BERT_RESERVED, TextConfig, pipeline_from_pieces

WORDS = ["dog", "cat", "horse", "bites", "kicks", "the", "loud", "##ly"]
PIECES = [*BERT_RESERVED, *WORDS]
TEXTS = ["the dog bites the cat", "the cat kicks the horse loudly", "the horse bites the dog"]


@pytest.fixture
def lessons(tmp_path):
    tokenizer = tmp_path / "tokenizer.json"
    pipeline_from_pieces(PIECES, TextConfig(unit="bert")).tokenizer.save(str(tokenizer))
    judged = {"pairs": {}, "intents": {}}
    write_lessons(tmp_path, {"texts": TEXTS * 40, "judged": ["the dog"]}, owners=[],
                  tokenizer=tokenizer, judged=judged, processes=1)  # fmt: skip
    return Lessons.read(tmp_path, "cpu")


@pytest.fixture
def words():
    """Every animal stands near every other, and every deed near the other."""
    number = {piece: n for n, piece in enumerate(PIECES)}
    near = torch.arange(len(PIECES))[:, None].repeat(1, 2)
    for some in (("dog", "cat", "horse"), ("bites", "kicks", "bites")):
        for place, word in enumerate(some):
            others = [some[place - 1], some[place - 2]]
            near[number[word]] = torch.tensor([number[other] for other in others])
    content = torch.tensor([piece in WORDS[:5] for piece in PIECES])
    return Words(content, torch.tensor([piece == "##ly" for piece in PIECES]), near)


def test_an_edit_changes_drops_keeps_a_part_or_swaps(lessons, words):
    batch = lessons.batch(lessons.rows("texts"), 8)
    chance = torch.Generator().manual_seed(1)
    ids, kept = edited(batch.ids, batch.mask, words, chance)
    assert not kept[~batch.mask].any()
    assert kept.any(dim=1).all()
    before = [
        " ".join(PIECES[n] for n in row[m]) for row, m in zip(batch.ids, batch.mask, strict=True)
    ]
    after = [" ".join(PIECES[n] for n in row[m]) for row, m in zip(ids, kept, strict=True)]
    assert len(set(after)) > 10
    pairs = [(a.split(), b.split()) for a, b in zip(before, after, strict=True) if a != b]
    assert any(sorted(a) == sorted(b) for a, b in pairs)  # swapped
    assert any(" ".join(b) in " ".join(a) and len(b) < len(a) for a, b in pairs)  # a part, or less
    changed = [(a, b) for a, b in pairs if len(a) == len(b) and sorted(a) != sorted(b)]
    assert changed
    animals = {"dog", "cat", "horse"}
    assert all(
        (x in animals) == (y in animals) for a, b in changed for x, y in zip(a, b, strict=True)
    )


def test_texts_have_equal_keys_only_where_they_are_equal(lessons):
    batch = lessons.batch(lessons.rows("texts")[:3], 8)
    keys = keys_of(batch.ids, batch.mask)
    assert len(set(keys.tolist())) == 3
    assert torch.equal(keys, keys_of_texts(TEXTS, lessons.tokenizer, keys.device))
    cut = batch.mask.clone()
    cut[0, 0] = False  # without its first word, as if that had not been there
    alone = keys_of_texts(["dog bites the cat"], lessons.tokenizer, keys.device)
    assert keys_of(batch.ids, cut)[0] == alone[0]


def test_edited_texts_become_a_part_of_the_lessons(lessons, words, tmp_path, monkeypatch):
    (tmp_path / "held_out.json").write_text(json.dumps(["the cat bites the dog"]))
    monkeypatch.setattr(Words, "read", classmethod(lambda *given: words))
    given = ["varied", "--lessons", tmp_path, "--teacher", "none", "--count", "100"]
    monkeypatch.setattr(sys, "argv", list(map(str, given)))
    varied.main()
    found = Lessons.read(tmp_path, "cpu")
    made = found.rows("made")
    assert 50 < len(made) == len(found.owners) <= 100
    assert np.array_equal(found.batch(found.rows("judged"), 2).ids,
                          lessons.batch(lessons.rows("judged"), 2).ids)  # fmt: skip
    batch = found.batch(made, 8)
    texts = {
        " ".join(PIECES[n] for n in row[m]) for row, m in zip(batch.ids, batch.mask, strict=True)
    }
    assert "the cat bites the dog" not in texts
    with pytest.raises(SystemExit, match="made of its texts already"):
        varied.main()
