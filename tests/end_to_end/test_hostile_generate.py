"""Odd and bad input to `softquery generate`: what docs/errors/generate.md says happens."""

import re

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")
pytest.importorskip("sacrebleu", reason="BLEU needs sacrebleu ([train])")

from hostile_generate import ANSWERED, ANY, CASES, REFUSED
from running import softquery
from tiny_generation import couplets, german, settings, write_folder


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    write_folder(folder / "data", german(80))
    write_folder(folder / "couplets", couplets(80))
    for recipe, name, data in (
        ("translate", "translator", "data"),
        ("couplet", "poet", "couplets"),
        ("translate-rnn", "forgetful", "data"),
    ):
        answer = softquery(
            "train",
            recipe,
            "--data",
            folder / data,
            "--output",
            folder / name,
            *settings(recipe, training__max_steps=12, data__tune_share=0.1),
        )
        assert answer.code == 0, answer.err  # fmt: skip
    (folder / "lines.txt").write_text("zwei Hunde\n\nacht Katzen\n", encoding="utf-8")
    (folder / "upper.txt").write_text("春花\n秋月\n", encoding="utf-8")
    (folder / "other.tsv").write_text("text\tmore\na\tb\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_said(case, place, monkeypatch):
    monkeypatch.chdir(place)
    before = sorted(place.rglob("*"))
    answer = softquery("generate", *case.words, "--model", case.model)
    assert answer.code == case.code, answer.err
    lines = [line.removeprefix("softquery: ") for line in answer.err.splitlines()]
    pattern = re.escape(case.said).replace(ANY, ".*")
    assert any(re.fullmatch(pattern, line) for line in lines), answer.err
    assert "Traceback" not in answer.err
    if case.code == ANSWERED:
        assert len(answer.out.splitlines()) == 1  # an answer, and generation has ended
    else:
        assert not answer.out
        assert sorted(place.rglob("*")) == before


def test_lines_without_an_answer_are_left_out(place, tmp_path, monkeypatch):
    """Also where it is the search that finds none, and in the last rows of a file."""
    monkeypatch.chdir(tmp_path)
    hopeless = "春花山日天红来明秋月水风地绿去清"
    (tmp_path / "upper.txt").write_text(f"春花\n{hopeless}\n秋月\n{hopeless}\n", encoding="utf-8")
    asked = ("generate", "--input", "upper.txt", "--model", place / "poet")
    stopped = softquery(*asked, "--output", "out.jsonl")
    assert stopped.code == REFUSED
    assert "upper.txt, row 2: the rules leave no text for this source" in stopped.err
    assert [path.name for path in tmp_path.iterdir()] == ["upper.txt"]
    answer = softquery(*asked, "--output", "out.jsonl", "--on-error", "skip")
    assert answer.code == ANSWERED, answer.err
    assert "2 texts answered: out.jsonl\n2 bad rows skipped: out.jsonl.errors.tsv" in answer.err
    reason = "the rules leave no text for this source"
    bad = (tmp_path / "out.jsonl.errors.tsv").read_text(encoding="utf-8")
    assert bad == f"row\treason\n2\t{reason}\n4\t{reason}\n"
    assert len((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    (tmp_path / "two.txt").write_text(f"春花\n{hopeless}\n", encoding="utf-8")
    both = softquery("generate", "--input", "two.txt", "--model", place / "poet",
                     "--output", "one.jsonl", "--on-error", "skip")  # fmt: skip
    assert "1 text answered: one.jsonl\n1 bad row skipped: one.jsonl.errors.tsv" in both.err
    printed = softquery(*asked, "--on-error", "skip")
    assert printed.out == (tmp_path / "out.jsonl").read_text(encoding="utf-8")
    assert f"skipped: upper.txt, row 4: {reason}" in printed.err
