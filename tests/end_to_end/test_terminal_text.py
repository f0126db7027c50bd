"""What users and files say is data: nothing of it reaches the terminal as a command to it."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from io import StringIO

import pytest
from running import softquery

from softquery.cli.terminal import console
from softquery.cli.terminal.progress import TrainingBar

needs_index = pytest.mark.skipif(
    not all(map(find_spec, ("usearch", "bm25s"))), reason="an index needs the extra [search]"
)
EVIL = "\x1b]0;owned\x07\x1b[31m\x9b2J\x7f\u202edrow\u2066\u200f\u061c\r\u2028\U000e0041\ufeff"
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
    "\U000e0000-\U000e007f]"
)
KEPT = "怎么\u3000退款 naïve 👩\u200d👩 مرحبا"
"""Letters and spaces of all languages are no commands."""


def is_safe(text: str) -> bool:
    return UNSAFE.search(text) is None


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evil")
    rows = [
        {"id": f"1{EVIL}", "question": f"How do I pay{EVIL}?", "answer": f"{EVIL}{KEPT}\nby card"},
        {"id": "2", "question": f"How do I pay{EVIL}?", "answer": EVIL, f"col{EVIL}": "x"},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "faq.jsonl").write_text(lines, encoding="utf-8")
    answer = softquery("index", folder / "faq.jsonl", "--output", folder / f"f{EVIL[:9]}q.sq")
    assert answer.code == 0, answer.err
    return folder / f"f{EVIL[:9]}q.sq", answer


@needs_index
def test_building_an_index(index):
    _, answer = index
    assert "row 2 asks what row 1 asks: How do I pay\\x1b]0;owned\\x07" in answer.err
    assert is_safe(answer.err)
    assert is_safe(answer.out)


@needs_index
def test_searching(index):
    place, _ = index
    found = softquery("search", place, f"How do I pay{EVIL}?", "--min-score", 0)
    assert found.code == 0, found.err
    assert is_safe(found.out)
    assert "\\x1b]0;owned\\x07" in found.out.replace("│", "").replace(" ", "").replace("\n", "")
    assert "退款" in found.out
    assert "by card" in found.out
    foreign = softquery("search", place, f"{EVIL} moon {EVIL}", "--min-score", 1)
    assert "no good answer" in foreign.out
    assert is_safe(foreign.out)


@needs_index
def test_json_means_the_same(index):
    place, _ = index
    found = softquery("search", place, f"How do I pay{EVIL}?", "--min-score", 0, "--json")
    assert is_safe(found.out)
    hits = json.loads(found.out)["hits"]
    assert {hit["id"]: hit["answer"] for hit in hits} == {
        f"1{EVIL}": f"{EVIL}{KEPT}\nby card",
        "2": EVIL,
    }
    assert KEPT in found.out


@needs_index
def test_errors_name_rows_and_columns(index):
    place, _ = index
    for words in (
        ("search", place, "pay", "--where", f"none{EVIL}=1"),
        ("search", place, "pay", "--where", EVIL),
        ("index", "--output", place, "--delete", EVIL),
        ("search", place / EVIL, "pay"),
        ("search", place, "pay", f"--{EVIL}"),
        (f"{EVIL}verb",),
    ):
        answer = softquery(*words)
        assert answer.code == 2, words
        assert is_safe(answer.err)
        assert answer.err.count("\n") == 1


def test_tables(monkeypatch):
    monkeypatch.setattr(sys, "stdout", StringIO())
    console.print_table(f"title{EVIL}[/b]", (f"head{EVIL}[/b]", "[bold]"), [(EVIL, KEPT)])
    out = sys.stdout.getvalue()
    assert is_safe(out)
    assert "[/b]" in out
    assert "[bold]" in out
    assert KEPT in out


def test_lines_and_notes(monkeypatch, capsys):
    console.print_line([(f"{EVIL}{KEPT}", "italic")])
    console.note(f"first{EVIL}\nsecond {KEPT}")
    TrainingBar().say(f"first{EVIL}\nsecond {KEPT}")
    out, err = capsys.readouterr()
    assert is_safe(out)
    assert KEPT in out
    assert is_safe(err)
    assert err.count("\n") == 2, "a text could pretend to be another line"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_plain_text_is_exact_in_a_file_and_safe_on_a_terminal(is_terminal, monkeypatch):
    class Stream(StringIO):
        def isatty(self) -> bool:
            return is_terminal

    monkeypatch.setattr(sys, "stdout", Stream())
    console.print_text(f"{EVIL}{KEPT}")
    console.print_text(f"{EVIL}{KEPT}", end="")
    out = sys.stdout.getvalue()
    assert is_safe(out) is is_terminal
    assert (out == f"{EVIL}{KEPT}\n{EVIL}{KEPT}") is not is_terminal


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@needs_index
def test_a_real_terminal(index):
    """As a user sees it, with the colours and the progress that only a terminal gets."""
    place, _ = index
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "softquery", "search", str(place), "How do I pay?"]
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    child = subprocess.Popen(
        [*command, "--min-score", "0"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**plain, "TERM": "xterm", "COLUMNS": "200"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # how Linux tells that nobody writes any more
            break
        if not part:
            break
        shown += part
    assert child.wait() == 0
    os.close(ours)
    text = shown.decode()
    styled = re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r\n", "\n")  # rich's own colours
    assert "\x1b[" in text, "no colours: this was no terminal"
    assert "\x1b[31m" not in text
    assert "How do I pay" in styled
    assert is_safe(styled)
