"""Bad and odd questions: one clear line or an answer, as docs/errors/read.md says, row by row."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from hostile_cases import ANY
from hostile_read import READING, TRAINING
from running import softquery
from tiny_questions import english, settings, write_json, write_questions

from softquery.bundle import read_bundle
from softquery.export import export_reader
from softquery.runtime.read.model import load_reader

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors" / "read.md"
SECTIONS = {"Training on bad input": TRAINING, "Reading bad input": READING}
EVERY = [case for cases in SECTIONS.values() for case in cases]
MISTAKE = 2
SMALL = settings(training__max_epochs=1)


@pytest.fixture(scope="session")
def sound_questions(tmp_path_factory):
    """A folder with data, a bundle, and the same one exported."""
    folder = tmp_path_factory.mktemp("sound-questions")
    write_questions(folder / "data", english(24))
    answer = softquery("train", "reader", "--data", folder / "data", "--output",
                       folder / "trained", *SMALL)  # fmt: skip
    assert answer.code == 0, answer.err
    export_reader(read_bundle(folder / "trained"), folder / "exported")
    return folder


@pytest.fixture
def place(sound_questions, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path / "home"))
    shutil.copytree(sound_questions / "data", tmp_path / "data")
    write_json(tmp_path / "questions.json", english(12, seed=2))
    shutil.copytree(sound_questions / "exported", tmp_path / "model")
    return tmp_path


def contents(folder):
    return {
        path.relative_to(folder).as_posix():
        hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
    }  # fmt: skip


def pattern(said):
    return "softquery: " + ".*".join(re.escape(part) for part in said.split(ANY))


@pytest.mark.parametrize("case", EVERY, ids=str)
def test_case(case, place):
    case.damage(place)
    before = contents(place)
    words = [*case.words[:2], *SMALL, *case.words[2:]] if case.verb == "train" else case.words
    answer = softquery(*words)
    assert (answer.code, answer.out) == (MISTAKE, ""), answer
    assert "Traceback" not in answer.err
    lines = answer.err.splitlines()
    assert re.fullmatch(pattern(case.said), lines[-1]), lines[-1]
    assert case.verb == "train" or len(lines) == 1, answer.err
    assert contents(place) == before


def rows_of(title):
    """The rows of a section's table on the page, its head left out."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2]
    lines = re.findall(r"^\| (.+) \|$", section.partition("\n## ")[0], re.MULTILINE)
    found = [tuple(line.split(" | ")) for line in lines]
    return [row for row in found if row[0] not in ("input", "---")]


ODD = {
    "a context of invisible characters": ("Who sang?", "\u200b\u00ad"),
    "a question of invisible characters": ("\u200b", "Ada sang in Rome."),
    "a question of which the model knows no word": ("Quis cecinit?", "Ada sang in Rome."),
    "a context of which the model knows no word": ("Who sang?", "arma virumque cano"),
    "an answer that is not in the context": ("Who sang?", "It rained all day."),
    "a context of one word": ("Who sang?", "Ada"),
    "a question of 1,000 words": ("Who " * 1_000, "Ada sang in Rome."),
    "a word of 10,000 letters": ("Who sang?", "a" * 10_000 + " sang."),
    "half of a character": ("Who sang?", "Ada \ud83d sang."),
    "a control character": ("Who sang?", "Ada \x07 sang."),
    "letters with marks that combine": ("Who sang?", "Ade\u0301le sang in Ro\u0302me."),
    "several scripts": ("谁 sang?", "Ада sang в 北京 🎬."),
    "line ends and tabs": ("Who\nsang?", "Ada\r\n\tsang."),
    "a reserved token, written out": ("Who <pad>?", "<pad> <unk> Ada <bos> sang."),
    "a document of 100,000 words": ("Who sang?", "It rained all day. " * 20_000 + "Ada sang."),
}
"""What is answered all the same."""


def test_the_page_says_what_odd_questions_get():
    assert [row[0] for row in rows_of("Odd questions and contexts")] == list(ODD)


@pytest.mark.parametrize("title", ODD)
def test_odd_questions(title, sound_questions, tmp_path):
    """Both backends say the same, and what they say stands in the text."""
    question, context = ODD[title]
    wanted = dict(rows_of("Odd questions and contexts"))[title]
    ours = load_reader(sound_questions / "exported")
    theirs = load_reader(sound_questions / "trained")
    (answer,), (other,) = (reader.predict([(question, context)]) for reader in (ours, theirs))
    assert (answer.text, answer.start, answer.end) == (other.text, other.start, other.end)
    assert answer.score == pytest.approx(other.score, abs=1e-5)
    assert (answer.text is None) == wanted.startswith("no answer")
    if answer.text is not None:
        assert context[answer.start : answer.end] == answer.text
        ours.explain(question, context).plot(tmp_path / "why.html")
    assert ours.num_long([context]) == ("in windows" in wanted)
    if title == "half of a character" or not question.strip("\u200b"):
        return  # no file of UTF-8 can hold the one; the other shows nothing to a reader of files
    line = json.dumps({"id": 1, "question": question, "context": context}) + "\n"
    (tmp_path / "in.jsonl").write_text(line, encoding="utf-8")
    told = softquery("read", "--input", tmp_path / "in.jsonl", "--model",
                     sound_questions / "exported")  # fmt: skip
    assert told.code == 0, told.err
    assert json.loads(told.out)["answer"] == answer.text
    assert ("read in windows" in told.err) == ("in windows" in wanted)
