"""Each fault of a row is one line that names file, row and what was expected."""

import gzip
import lzma
import re
import sys

import pytest

from softquery.errors import InputError, MissingExtra
from softquery.files import read_rows

PAIR = ("sentence1", "sentence2")
LONG = b"x" * ((1 << 20) + 1)


def save(folder, name, contents):
    path = folder / name
    path.write_bytes(contents)
    return path


BAD_ROWS = [
    ("a.tsv", b"a\tb\tc", "expected 2 columns (sentence1, sentence2), found 3"),
    ("a.tsv", b"a", "expected 2 columns (sentence1, sentence2), found 1"),
    ("a.tsv", b"", "expected 2 columns (sentence1, sentence2), found a blank line"),
    ("a.tsv", b"a\t", "sentence2 is empty"),
    ("a.tsv", b" \tb", "sentence1 is empty"),
    ("a.tsv", b"a\t\xe3\x80\x80", "sentence2 is empty"),
    ("a.tsv", b"a\tb\xff", "not valid UTF-8 (byte 0xff at column 4); save the file as UTF-8"),
    ("a.tsv", b"a\tb\0", "holds a NUL byte (at column 4), expected text"),
    ("a.tsv", LONG, "the line is longer than 1,048,576 characters"),
    ("a.csv", b"a,b,c", "expected 2 columns (sentence1, sentence2), found 3"),
    ("a.csv", b"", "expected 2 columns (sentence1, sentence2), found a blank line"),
    ("a.csv", b'"",b', "sentence1 is empty"),
    (
        "a.csv",
        b'"a"x,b',
        "text follows a closing quote; a quote inside quotes is written twice",
    ),
    ("a.csv", b"a\rb,c", "a carriage return stands outside quotes"),
    ("a.csv", b'a,"b\xe9"', "not valid UTF-8 (byte 0xe9 at column 5); save the file as UTF-8"),
    ("a.csv", b"a,b\0", "holds a NUL byte (at column 4), expected text"),
    ("a.csv", LONG, "the line is longer than 1,048,576 characters"),
    ("a.csv", b"a," + LONG[:200_000], "a column is longer than 131,072 characters"),
    ("a.jsonl", b'{"sentence1": "a", ', "not valid JSON (Expecting property name"),
    ("a.jsonl", b"", "not valid JSON (Expecting value at column 1)"),
    ("a.jsonl", b'["a", "b"]', "expected a JSON object in braces, found a list"),
    ("a.jsonl", b'"a"', "expected a JSON object in braces, found text or a number"),
    ("a.jsonl", b"null", "expected a JSON object in braces, found null"),
    ("a.jsonl", b"[" * 200_000, "not usable JSON (nested too deeply)"),
    ("a.jsonl", b'{"sentence1": "a"}', 'no column "sentence2"'),
    ("a.jsonl", b'{"sentence1": "a", "sentence2": null}', "sentence2 is empty"),
    ("a.jsonl", b'{"sentence1": "a", "sentence2": ["b"]}', "sentence2 is a list, expected text or"),
    ("a.jsonl", b'{"sentence1": "a", "sentence2": {}}', "sentence2 is an object, expected text"),
    ("a.jsonl", rb'{"sentence1": "a", "sentence2": "\ud83d"}', "sentence2 holds half a character"),
    ("a.jsonl", rb'{"sentence1": "a\u0000", "sentence2": "b"}', "sentence1 holds a NUL character"),
    ("a.jsonl", b'{"sentence1": "\xff", "sentence2": "b"}', "not valid UTF-8 (byte 0xff at"),
    ("a.jsonl", LONG, "the line is longer than 1,048,576 characters"),
]
GOOD = {
    "a.tsv": (b"sentence1\tsentence2\n", b"good\trow\n"),
    "a.csv": (b"sentence1,sentence2\n", b'"good",row\n'),
    "a.jsonl": (b"", b'{"sentence1": "good", "sentence2": "row"}\n'),
}


@pytest.mark.parametrize(("name", "bad", "reason"), BAD_ROWS, ids=range(len(BAD_ROWS)))
def test_bad_row_is_named_and_can_be_skipped(tmp_path, name, bad, reason):
    header, good = GOOD[name]
    path = save(tmp_path, name, header + good * 3 + bad + b"\n" + good * 2)
    row = header.count(b"\n") + 4
    with pytest.raises(InputError, match=re.escape(f"{path}, row {row}: {reason}")) as caught:
        list(read_rows(path, columns=PAIR))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(path))

    errors = []
    rows = list(read_rows(path, columns=PAIR, on_bad=errors.append))
    assert [error.row for error in errors] == [row]
    assert reason in str(errors[0])
    expected = [row - 3, row - 2, row - 1, row + 1, row + 2]
    assert [kept.number for kept in rows] == expected
    assert all(kept.values == {"sentence1": "good", "sentence2": "row"} for kept in rows)


def test_rows_before_a_bad_one_are_handed_over_first(tmp_path):
    path = save(tmp_path, "a.tsv", b"text\none\ntwo\n\xff\nfour\n")
    rows = read_rows(path, columns=["text"])
    assert [next(rows).values["text"], next(rows).values["text"]] == ["one", "two"]
    with pytest.raises(InputError, match="row 4: not valid UTF-8"):
        next(rows)


def test_on_bad_may_stop_the_reading(tmp_path):
    path = save(tmp_path, "a.tsv", b"text\none\n\xff\n")

    def stop(error):
        raise KeyError(error.row)

    with pytest.raises(KeyError, match="3"):
        list(read_rows(path, columns=["text"], on_bad=stop))


def test_a_broken_line_inside_csv_quotes_spoils_its_whole_record(tmp_path):
    contents = b'text,label\n"one\n\xff broken\nthree",x\ngood,y\n"open\0,z\nlost",w\nlast,v\n'
    path = save(tmp_path, "a.csv", contents)
    errors = []
    rows = list(read_rows(path, columns=["text", "label"], on_bad=errors.append))
    assert [(row.number, row.values["text"]) for row in rows] == [(5, "good"), (8, "last")]
    assert [error.row for error in errors] == [3, 6]


def test_a_long_line_at_the_end_is_not_taken_for_a_blank_one(tmp_path):
    path = save(tmp_path, "a.txt", b"good\n" + b"x" * (5 << 20) + b"\n\n")
    errors = []
    rows = list(read_rows(path, columns=["text"], on_bad=errors.append))
    assert [row.number for row in rows] == [1]
    assert [error.row for error in errors] == [2]


def test_open_quote_is_named_where_it_opens(tmp_path):
    path = save(tmp_path, "a.csv", b'text\ngood\n"open\nmore\n')
    with pytest.raises(InputError, match="row 3: a quote is opened and never closed"):
        list(read_rows(path, columns=["text"]))


def test_broken_header_is_raised_even_when_rows_may_be_skipped(tmp_path):
    for name in ("a.tsv", "a.csv"):
        path = save(tmp_path, name, b"te\xffxt\ngood\n")
        with pytest.raises(InputError, match="row 1: not valid UTF-8"):
            list(read_rows(path, columns=["text"], on_bad=lambda error: None))


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_missing_columns_are_listed_with_a_hint(tmp_path, name):
    mark = "\t" if name == "a.tsv" else ","
    path = save(tmp_path, name, mark.join(["Sentence1", "sentense2", "label"]).encode())
    match = re.escape(
        f'{path}, row 1: no column "sentence1", "sentence2" (did you mean "Sentence1"?); '
        "found: Sentence1, sentense2, label; expected: sentence1, sentence2; "
        "other names are given with --columns sentence1=NAME,sentence2=NAME"
    )
    with pytest.raises(InputError, match=match):
        list(read_rows(path, columns=PAIR))


def test_wrong_separator_is_guessed(tmp_path):
    path = save(tmp_path, "a.tsv", b"p;q\n1;2\n")
    with pytest.raises(InputError, match=r"are the columns separated by semicolons\?"):
        list(read_rows(path, columns=PAIR))


def test_text_in_place_of_a_header_is_cut_short(tmp_path):
    path = save(tmp_path, "a.tsv", b"\t".join([b"A long sentence " * 50] * 30) + b"\n")
    with pytest.raises(InputError, match="…, and 18 more") as caught:
        list(read_rows(path, columns=PAIR))
    assert len(str(caught.value)) < 1000


def test_renamed_column_is_asked_for_under_the_files_name(tmp_path):
    path = save(tmp_path, "a.tsv", b"question1\tanswer\n")
    with pytest.raises(InputError, match=r'no column "question" \(did you mean "question1"\?\)'):
        list(read_rows(path, columns=["text"], rename={"text": "question"}))


def test_rename_of_an_unknown_column_is_refused_at_once():
    match = r'--columns: no column is called "sentense1" \(did you mean "sentence1"\?\); known: s'
    with pytest.raises(InputError, match=match):
        read_rows([], columns=PAIR, rename={"sentense1": "q1"})


def test_column_that_appears_twice_is_refused_where_it_matters(tmp_path):
    path = save(tmp_path, "a.tsv", b"text\tid\tid\na\t1\t2\n")
    assert len(list(read_rows(path, columns=["text"]))) == 1
    with pytest.raises(InputError, match=r'row 1: column "id" appears twice'):
        list(read_rows(path, columns=["text"], keep_others=True))
    with pytest.raises(InputError, match=r'row 1: column "id" appears twice'):
        list(read_rows(path, columns=["id"]))


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl", "a.txt"])
@pytest.mark.parametrize("contents", [b"", b"\n\n", b"\r\n"])
def test_empty_file_is_told(tmp_path, name, contents):
    for path in (
        save(tmp_path, name, contents),
        save(tmp_path, f"{name}.gz", gzip.compress(contents)),
    ):
        with pytest.raises(InputError, match=re.escape(f"{path}: is empty")):
            list(read_rows(path, columns=["text"]))


@pytest.mark.parametrize("name", ["a.json", "a.xlsx", "a", "a.gz", "a.tsv.zip"])
def test_unknown_suffix_lists_the_known_ones_at_once(tmp_path, name):
    path = save(tmp_path, name, b"text\n")
    match = r"unknown kind of file; expected a name ending in \.tsv, \.csv, \.jsonl, \.parquet, "
    with pytest.raises(InputError, match=match):
        read_rows(path, columns=["text"])


def test_missing_file_is_told_at_once(tmp_path):
    with pytest.raises(InputError, match=r"none\.tsv: no such file"):
        read_rows(tmp_path / "none.tsv", columns=["text"])
    with pytest.raises(InputError, match="is a folder, expected a file"):
        read_rows(tmp_path, columns=["text"])


def test_txt_serves_one_column_only(tmp_path):
    path = save(tmp_path, "a.txt", b"one\n")
    match = r"a \.txt holds one text per line, but 2 columns are needed \(sentence1, sentence2\)"
    with pytest.raises(InputError, match=match):
        list(read_rows(path, columns=PAIR))


def test_blank_line_inside_a_txt_is_named(tmp_path):
    path = save(tmp_path, "a.txt", b"one\n\nthree\n")
    with pytest.raises(InputError, match=r"a\.txt, row 2: text is empty"):
        list(read_rows(path, columns=["text"]))


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl"])
def test_truncated_archive_raises_even_when_rows_may_be_skipped(tmp_path, suffix, pack, name):
    header, good = GOOD[name]
    packed = pack(header + good * 100_000)
    path = save(tmp_path, name + suffix, packed[: len(packed) // 2])
    rows = []
    with pytest.raises(InputError, match=r"breaks off here \(truncated\)") as caught:
        rows.extend(read_rows(path, columns=PAIR, on_bad=lambda error: None))
    assert caught.value.source == str(path)
    assert caught.value.row > 1


def test_iterable_faults_are_named(tmp_path):
    good = {"sentence1": "a", "sentence2": "b"}
    for bad, reason in [
        ({"sentence1": "a"}, 'no column "sentence2"'),
        ({"sentence1": "a", "sentence2": " "}, "sentence2 is empty"),
        ({"sentence1": "a", "sentence2": b"\xff"}, "sentence2 is not valid UTF-8 text"),
        ({"sentence1": "a", "sentence2": object()}, "sentence2 is a object, expected text"),
        ({"sentence1": "a", "sentence2": "x" * len(LONG)}, "sentence2 is longer than 1,048,576"),
        (("a", "b"), "expected a mapping, found a tuple"),
    ]:
        with pytest.raises(InputError, match=f"the data, row 2: {reason}"):
            list(read_rows([good, bad, good], columns=PAIR))
        errors = []
        kept = list(read_rows([good, bad, good], columns=PAIR, on_bad=errors.append))
        assert ([row.number for row in kept], len(errors)) == ([1, 3], 1)


class TestParquet:
    @pytest.fixture
    def arrow(self):
        pytest.importorskip("pyarrow")
        import pyarrow
        import pyarrow.parquet

        return pyarrow

    def test_junk_and_truncation(self, tmp_path, arrow):
        path = save(tmp_path, "a.parquet", b"text\tlabel\n" * 100)
        with pytest.raises(InputError, match=r"a\.parquet: not a readable Parquet file"):
            list(read_rows(path, columns=["text"]))
        arrow.parquet.write_table(arrow.table({"text": ["a"] * 100}), path)
        save(tmp_path, "a.parquet", path.read_bytes()[:-20])
        with pytest.raises(InputError, match="not a readable Parquet file"):
            list(read_rows(path, columns=["text"]))
        path = save(tmp_path, "b.parquet.gz", gzip.compress(b"x" * 1000)[:-10])
        with pytest.raises(InputError, match="breaks off here"):
            list(read_rows(path, columns=["text"]))
        with pytest.raises(InputError, match="not a readable Parquet file"):
            list(read_rows(save(tmp_path, "c.parquet", b""), columns=["text"]))

    def test_missing_extra_is_named(self, tmp_path, monkeypatch):
        path = save(tmp_path, "a.parquet", b"PAR1")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingExtra, match=r'needs .*pip install "softquery\[parquet\]"'):
            list(read_rows(path, columns=["text"]))

    def test_missing_column(self, tmp_path, arrow):
        arrow.parquet.write_table(arrow.table({"texts": ["a"]}), tmp_path / "a.parquet")
        with pytest.raises(InputError, match=r'no column "text" \(did you mean "texts"\?\)'):
            list(read_rows(tmp_path / "a.parquet", columns=["text"]))

    def test_bad_values(self, tmp_path, arrow):
        path = tmp_path / "a.parquet"
        arrow.parquet.write_table(arrow.table({"text": ["a", None, "b\0", "c"]}), path)
        errors = []
        rows = list(read_rows(path, columns=["text"], on_bad=errors.append))
        assert [row.number for row in rows] == [1, 4]
        assert [str(error) for error in errors] == [
            f"{path}, row 2: text is empty",
            f"{path}, row 3: text holds a NUL character, expected text",
        ]

    def test_broken_utf_8(self, tmp_path, arrow):
        path = tmp_path / "a.parquet"
        column = arrow.array([b"good", b"b\xff", b"end"]).view(arrow.string())
        arrow.parquet.write_table(arrow.table({"text": column}), path)
        with pytest.raises(InputError, match="row 2: text is not valid UTF-8"):
            list(read_rows(path, columns=["text"]))
        rows = list(read_rows(path, columns=["text"], on_bad=lambda error: None))
        assert [row.values["text"] for row in rows] == ["good", "end"]
