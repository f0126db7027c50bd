"""Bad and odd texts: one clear line or an answer, as docs/errors/classify.md says, row by row."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from hostile_cases import ANY
from hostile_classify import CLASSIFYING, TRAINING
from running import softquery
from tiny_texts import reviews, settings, write_texts

from softquery.bundle import read_bundle
from softquery.export import export_classifier

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors" / "classify.md"
SECTIONS = {"Training on bad input": TRAINING, "Classifying bad input": CLASSIFYING}
EVERY = [case for cases in SECTIONS.values() for case in cases]
MISTAKE = 2
SMALL = settings(training__max_epochs=1)


@pytest.fixture(scope="session")
def sound_texts(tmp_path_factory):
    """A folder with data, and a bundle of each model."""
    folder = tmp_path_factory.mktemp("sound-texts")
    write_texts(folder / "data", reviews(100), num_dev=20)
    for recipe, name in (("attention-bilstm", "plain"), ("hierarchical-attention", "documents")):
        answer = softquery("train", recipe, "--data", folder / "data", "--output",
                           folder / f"{name}-trained", *SMALL, "--set",
                           "vocabulary.min_count=1")  # fmt: skip
        assert answer.code == 0, answer.err
        export_classifier(read_bundle(folder / f"{name}-trained"), folder / name)
    return folder


@pytest.fixture
def place(sound_texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path / "home"))
    shutil.copytree(sound_texts / "data", tmp_path / "data")
    shutil.copy(sound_texts / "data" / "dev.tsv", tmp_path / "texts.tsv")
    shutil.copytree(sound_texts / "plain", tmp_path / "model")
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
    return [row for row in found if row[0] not in ("input", "text", "---")]


ODD = {
    "only invisible characters": "\u200b\u00ad\u2060",
    "only white space of other kinds": "\u3000\u2028",
    "one emoji": "\U0001f600",
    "no word that the model knows": "zxcv qwerty",
    "a word of 10,000 letters": "a" * 10_000,
    "half of a character": "a fine \ud83d film",
    "a control character": "a \x07 fine film",
    "a reserved token, written out": "<pad> <unk> <bos>",
    "a marker that the model does not know": "a <e1>fine</e1> film",
    "several scripts": "a fine 电影 фильм 🎬",
    "a document of 100,000 tokens": "A fine film. " * 25_000,
    "100,000 tokens without a full stop": "fine " * 100_000,
}
"""What is answered all the same; a text that is all white space to Python is refused as empty."""


def test_the_page_says_what_odd_texts_get():
    assert [row[0] for row in rows_of("Odd texts")] == list(ODD)


@pytest.mark.parametrize("model", ["plain", "documents"])
@pytest.mark.parametrize("title", ODD)
def test_odd_texts(title, model, sound_texts, tmp_path):
    """Each backend answers, and both say the same; what is cut is told."""
    from softquery.runtime.classify.model import load_classifier

    text, wanted = ODD[title], dict(rows_of("Odd texts"))[title]
    theirs, ours = (
        load_classifier(sound_texts / f"{model}-trained"),
        load_classifier(sound_texts / model),
    )
    (answer,), (other,) = ours.predict([text]), theirs.predict([text])
    assert answer.label == other.label
    assert answer.score == pytest.approx(other.score, abs=1e-5)
    assert (ours.num_cut([text]) == 1) == ("cut" in wanted)
    if "as nothing" in wanted:
        nothing = ours.predict([""])[0]
        assert answer == nothing
    shown = ours.explain(text)
    shown.plot(tmp_path / "why.html")
    assert (not any(shown.sentences)) == ("as nothing" in wanted)
    if title in ("half of a character", "only white space of other kinds"):
        return  # no command line and no file can hold the one; the other is empty to both
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": text}) + "\n", encoding="utf-8")
    told = softquery("classify", "--input", tmp_path / "in.jsonl", "--model", sound_texts / model)
    assert told.code == 0, told.err
    assert json.loads(told.out)["label"] == answer.label
    assert ("text cut to the model's" in told.err) == ("cut" in wanted)
