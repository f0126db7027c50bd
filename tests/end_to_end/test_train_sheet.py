"""`softquery train classify FILE`: from a spreadsheet to a model, its report, and answers."""

import json
import re
from pathlib import Path

import pytest
from running import softquery

import softquery as sq
from softquery.bundle import read_bundle
from softquery.errors import ConfigError, InputError

KINDS = {
    "billing": ["my invoice is wrong", "refund the second payment", "you charged my card twice"],
    "login": ["I forgot my password", "my account is locked", "the code to sign in never came"],
    "parcel": ["my parcel is late", "the box arrived broken", "where is my delivery now"],
}
AGAIN = ["", " please help", " since Monday", " and I am angry", " again"]
ROWS = [
    (f"{text}{end}", label) for label, texts in KINDS.items() for text in texts for end in AGAIN
]


def write(path, head, rows, mark=";", start=""):
    lines = [mark.join(head)] if head else []
    lines += [mark.join(str(cell) for cell in row) for row in rows]
    path.write_text(start + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model of a file with semicolons, a byte order mark, and columns that are not asked for."""
    place = tmp_path_factory.mktemp("sheet")
    rows = [(n, f'"{text}"', label, "2024-05-01") for n, (text, label) in enumerate(ROWS)]
    file = write(
        place / "mails.csv", ["No", "Message", "Kind of mail", "Day"], rows, start="\ufeff"
    )
    answer = softquery("train", "classify", file, "--output", place / "mails")
    assert answer.code == 0, answer.err
    return place, answer


def test_what_was_found_is_said(made):
    _, answer = made
    assert "mails.csv: semicolons between 4 columns, the first row is the header" in answer.err
    assert "text: “Message” (by its name)" in answer.err
    assert "label: “Kind of mail” (3 values come again in 45 rows)" in answer.err
    assert "45 rows, 3 labels (billing, login, parcel)" in answer.err


def test_columns_are_kept_in_the_bundle(made):
    place, _ = made
    assert read_bundle(place / "mails").config.columns == {
        "text": "Message",
        "label": "Kind of mail",
    }
    other = write(place / "new.csv", ["Message", "Other"], [("my parcel is gone", 1)], mark=",")
    answer = softquery("classify", "--input", other, "--model", place / "mails")
    assert json.loads(answer.out)["label"] == "parcel"
    measured = softquery("evaluate", place / "mails", "--data", place / "mails.csv", "--json")
    assert json.loads(measured.out)["n"] == len(ROWS)


def test_report_says_what_was_measured(made):
    place, _ = made
    bundle = read_bundle(place / "mails")
    report = bundle.report
    assert report["figures"]["n"] == len(ROWS)
    assert report["figures"] == bundle.metrics["dev"]
    assert bundle.metrics["training"]["learnt"] is True
    assert [each["theirs"] for each in report["columns"]] == ["Message", "Kind of mail"]
    assert len(report["by_rows"]) >= 2
    assert "| accuracy |" in bundle.card
    assert "# mails" in bundle.card
    page = (place / "mails" / "report.html").read_text(encoding="utf-8")
    for title in (
        "What was found",
        "How it learnt",
        "What is taken for what",
        "Mistakes",
        "Use it",
    ):
        assert f"<h2>{title}</h2>" in page
    assert not re.search(r"<script|https?://|src=", page)
    assert "prefers-color-scheme: dark" in page


def test_report_does_not_travel(made):
    place, _ = made
    packed = softquery("models", "pack", place / "mails", "--output", place / "packed")
    assert packed.code == 0, packed.err
    assert not list((place / "packed").rglob("report.*"))


def test_folder_that_exists_is_refused(made):
    place, _ = made
    answer = softquery("train", "classify", place / "mails.csv", "--output", place / "mails")
    assert answer.code == 2
    assert "already exists; name another --output" in answer.err


def test_rows_in_memory_need_a_folder():
    with pytest.raises(ConfigError, match="name the folder to write"):
        sq.train([{"text": text, "label": label} for text, label in ROWS])


def test_python_opens_the_model(tmp_path):
    rows = [{"what": text, "sort": label} for text, label in ROWS]
    rows[3]["sort"] = "login"  # in truth of billing
    told = []
    model = sq.train(rows, output=tmp_path / "mine", say=told.append)
    assert [answer.label for answer in model.predict(["my parcel is lost"])] == ["parcel"]
    assert "label: “sort” (3 values come again in 45 rows)" in told
    suspects = model.report["suspects"]
    assert suspects[0]["row"] == 4
    assert suspects[0]["likelier"] == "billing"


def test_file_without_a_header(tmp_path):
    file = write(tmp_path / "plain.csv", [], ROWS[::2], mark=",")
    answer = softquery("train", "classify", file, "--output", tmp_path / "plain")
    assert answer.code == 0, answer.err
    assert "no header" in answer.err
    measured = softquery("evaluate", tmp_path / "plain", "--data", file, "--json")
    assert json.loads(measured.out)["n"] == len(ROWS[::2])


def test_rows_of_one_s_own_are_what_is_measured(tmp_path):
    file = write(tmp_path / "a.csv", ["text", "label"], ROWS[::2], mark=",")
    dev = write(tmp_path / "b.csv", ["text", "label"], ROWS[1::2], mark=",")
    answer = softquery(
        "train", "classify", file, "--dev", dev, "--output", tmp_path / "m", "--json"
    )
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["dev"]["n"] == len(ROWS[1::2])


def test_bad_rows_are_left_out_where_they_are_few(tmp_path):
    rows = [*ROWS, ("", "login"), ("no label here", ""), ("one, more", "login")]
    file = write(tmp_path / "a.csv", ["text", "label"], rows, mark=",")
    answer = softquery("train", "classify", file, "--output", tmp_path / "m")
    assert answer.code == 0, answer.err
    assert "left out: 1 row without “text” (row 47)" in answer.err
    assert "left out: 1 row that cannot be read (row 49): expected 2 columns" in answer.err


TABLES = {
    "one label": [("text", "label"), *[(f"text {n}", "a") for n in range(20)]],
    "one label, under a name of its own": [
        ("text", "mood"),
        *[(f"text {n}", "good") for n in range(20)],
    ],
    "one row": [("text", "label"), ("a text", "a")],
    "a header alone": [("text", "label")],
    "no text": [("label",), *[("ab"[n % 2],) for n in range(20)]],
    "another label in each row": [("text", "label"), *[(f"text {n}", f"l{n}") for n in range(20)]],
    "grades": [("text", "label"), *[(f"text {n}", n / 7 + 0.01) for n in range(60)]],
    "dates": [("text", "label"), *[(f"text {n}", f"2024-05-{n % 9 + 1}") for n in range(60)]],
    "forty columns": [
        ("text", *[f"c{n}" for n in range(39)]),
        *[(f"a text {n}", *["xy"[(n + m) % 2] for m in range(39)]) for n in range(20)],
    ],
    "ragged rows": [("text", "label"), *[("a", "b", *["c"] * (n % 2)) for n in range(20)]],
}


PAGE = Path(__file__).resolve().parents[2] / "docs" / "spreadsheet.md"
SAID = dict(re.findall(r"^\| ([^|]+) \| `…(.+)` \|$", PAGE.read_text("utf-8"), re.MULTILINE))


def test_page_has_every_kind():
    assert SAID.keys() == TABLES.keys()


@pytest.mark.parametrize("kind", TABLES)
def test_tables_that_teach_nothing(kind, tmp_path, monkeypatch):
    rows = TABLES[kind]
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", [], rows, mark=",")
    answer = softquery("train", "classify", "a.csv")
    assert answer.code == 2
    last = answer.err.splitlines()[-1]
    assert last == f"softquery: a.csv{':' if SAID[kind][0] == ' ' else ''}{SAID[kind]}"
    assert answer.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


FILES = {
    "empty.csv": (b"", "is empty"),
    "book.xlsx": (b"PK\x03\x04", "is a workbook; save the sheet as “CSV UTF-8”"),
    "binary.csv": (
        b"PK\x03\x04" + bytes(range(256)),
        "row 1: holds a ZIP archive or a spreadsheet",
    ),
    "wide.csv": ("text,label\na,b\n".encode("utf-16"), "is UTF-16 text; save the file as UTF-8"),
    "old.csv": ("text,label\n问题,标签\n".encode("gb18030"), "not valid UTF-8"),
    "notes.doc": (b"text", "expected a table whose name ends in .csv"),
    "none.csv": (None, "no such file"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_no_tables(name, tmp_path, monkeypatch):
    content, said = FILES[name]
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    answer = softquery("train", "classify", name)
    assert answer.code == 2
    assert said in answer.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["classify"], "missing argument 'FILE'; see softquery train --help"),
        (["classify", "a.csv", "--set", "optim.lr=1"], "--set: train classify reads one file"),
        (["classify", "a.csv", "--columns", "text=nothing"], 'no column "nothing"; found: text'),
        (["classify", "a.csv", "--columns", "txt=a"], 'no column is called "txt"; known: text'),
        (["classify", "a.csv", "--resume"], "there is no interrupted run here to resume"),
        (["esim", "a.csv"], "'a.csv': esim is a recipe, and reads --data"),
    ],
)
def test_options(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", ["text", "label"], ROWS, mark=",")
    answer = softquery("train", *words)
    assert answer.code == 2
    assert said in answer.err.splitlines()[-1]


def test_contradictions_are_named_by_their_rows(tmp_path):
    rows = [*ROWS, ("my invoice is wrong", "parcel")]
    file = write(tmp_path / "a.csv", ["text", "label"], rows, mark=",")
    answer = softquery("train", "classify", file, "--output", tmp_path / "m")
    assert "row 2 billing and row 47 parcel" in answer.err


def test_rows_in_memory_without_rows():
    with pytest.raises(InputError, match="there are none"):
        sq.train([], output="nowhere")
