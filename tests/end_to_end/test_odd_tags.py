"""Odd words and long sentences are tagged like any other, as docs/errors/tag.md says."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from hostile_tags import EVALUATE_TAGGER, TAG, TRAIN_TAGGER
from running import softquery
from tiny_tags import named, settings, write_columns, write_tagged

from small_elmo import write_elmo

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors" / "tag.md"
LIMIT = 512
INVISIBLE = "\u200b\u2060"
ODD = {
    "a word of invisible characters alone": [INVISIBLE, "reads"],
    "a word of 10,000 characters": ["Ada", "x" * 10_000, "reads"],
    "a sentence of 5,000 words": ["Ada", "reads"] * 2_500,
    "a text of spaces and invisible characters": [],
}
"""Input that is no bad one, as words."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd-tags")
    write_tagged(folder / "data", named(80))
    write_elmo(folder / "bilm")
    for recipe, extra in (("tagger", {}), ("tagger-elmo", {"elmo__bundle": folder / "bilm"})):
        words = settings(training__max_epochs=1, data__tune_share=0.1, **extra)
        answer = softquery("train", recipe, "--data", folder / "data", "--output", folder / recipe,
                           *words)  # fmt: skip
        assert answer.code == 0, answer.err
    return folder


def page_rows():
    section = PAGE.read_text(encoding="utf-8").partition("\n## Odd and bad input\n")[2]
    found = re.findall(r"^\| (.+?) \| (.+) \|$", section, re.MULTILINE)
    return dict(row for row in found if row[0] != "input")


def test_the_page_lists_all_of_them_and_repeats_what_is_said():
    said = {case.title: case.said for case in (*EVALUATE_TAGGER, *TAG, *TRAIN_TAGGER)}
    for title, fate in page_rows().items():
        if title in ODD:
            assert not fate.startswith("refused")
        else:
            assert fate == f"refused: `{said[title]}`"
    assert set(ODD) <= set(page_rows())


@pytest.mark.parametrize("recipe", ["tagger", "tagger-elmo"])
@pytest.mark.parametrize("title", ODD)
def test_odd_words_get_a_tag_each(title, recipe, place, tmp_path):
    words = ODD[title]
    source = tmp_path / "in.jsonl"
    text = " ".join(words) or f" {INVISIBLE} "
    source.write_text(json.dumps({"tokens": words} if words else {"text": text}))
    answer = softquery("tag", "--input", source, "--model", place / recipe)
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert found["tokens"] == words
    assert len(found["tags"]) == len(words)
    parts = f"1 sentence longer than {LIMIT} words, read in parts" in answer.err
    assert parts == (len(words) > LIMIT)
    told = softquery("tag", text, "--model", place / recipe, "--json")
    assert json.loads(told.out)["tokens"] == [word for word in words if word != INVISIBLE]


@pytest.mark.parametrize("recipe", ["tagger", "tagger-elmo"])
def test_odd_words_are_learnt_from_and_measured(recipe, place, tmp_path):
    odd = [[(word, "O") for word in words] for words in ODD.values() if words]
    data = write_tagged(tmp_path / "data", [*odd, *named(60)])
    extra = {"elmo__bundle": place / "bilm"} if recipe == "tagger-elmo" else {}
    small = settings(training__max_epochs=1, data__tune_share=0.1, **extra)
    answer = softquery("train", recipe, "--data", data, "--output", tmp_path / "model", *small)
    assert answer.code == 0, answer.err
    assert f"1 sentence is longer than {LIMIT} words; read in parts" in answer.err
    gold = write_columns(tmp_path / "gold.conll", odd)
    measured = softquery("evaluate", tmp_path / "model", "--data", gold, "--json")
    assert measured.code == 0, measured.err
    found = json.loads(measured.out)
    assert (found["n"], found["sentences_in_parts"]) == (3, 1)
    assert found["tokens"] == sum(map(len, odd))


@pytest.mark.parametrize("recipe", ["tagger", "tagger-elmo"])
def test_only_the_beginning_of_a_long_word_is_read(recipe, place):
    import softquery as sq

    scores = sq.load(place / recipe).backend.scores
    limit = 30 if recipe == "tagger" else 7  # what is read, of 32 and of 9 symbols, marks aside
    head = "x" * limit
    one, other = (scores([[head + tail]])[0][0] for tail in ("y" * 9_000, "z"))
    assert (one == other).all()
    assert abs(scores([["x" * (limit - 1) + "y"]])[0][0] - one).max() > 1e-6
