"""Rows come back as they were written, from every form of file."""

import csv
import gzip
import io
import json
import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import InputError
from softquery.files import Row, find_split, parse_columns, read_rows

PACKERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}
NAMES = ("sentence1", "sentence2", "label")


def visible(exclude):
    """Texts that are not blank and hold no character that the form cannot."""
    letters = st.characters(codec="utf-8", exclude_characters=exclude)
    return st.text(letters, min_size=1, max_size=20).filter(str.strip)


def tables(exclude="\0"):
    text = visible(exclude)
    return st.lists(st.tuples(text, text, text), max_size=8)


def tsv(rows):
    return "".join("\t".join(row) + "\n" for row in [NAMES, *rows]).encode()


def comma_separated(rows):
    handle = io.StringIO(newline="")
    csv.writer(handle).writerows([NAMES, *rows])
    return handle.getvalue().encode()


def jsonl(rows, *, ascii_only):
    lines = [json.dumps(dict(zip(NAMES, r, strict=True)), ensure_ascii=ascii_only) for r in rows]
    return "".join(f"{line}\n" for line in lines).encode()


def parquet(rows):
    pyarrow = pytest.importorskip("pyarrow")
    parquet_files = pytest.importorskip("pyarrow.parquet")
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    strings = [pyarrow.array(column, pyarrow.string()) for column in columns]
    handle = io.BytesIO()
    parquet_files.write_table(pyarrow.table(strings, names=list(NAMES)), handle)
    return handle.getvalue()


def values_of(path, **options):
    return [tuple(row.values.values()) for row in read_rows(path, columns=NAMES, **options)]


def save(folder, name, contents):
    suffix = name[name.rindex(".") :]
    path = folder / name
    path.write_bytes(PACKERS.get(suffix, bytes)(contents))
    return path


@settings(max_examples=60, deadline=None)
@given(rows=tables("\0\t\n\r"), packed=st.sampled_from(list(PACKERS)))
def test_tsv_round_trip(tmp_path_factory, rows, packed):
    path = save(tmp_path_factory.mktemp("tsv"), f"a.tsv{packed}", tsv(rows))
    assert values_of(path) == rows


@settings(max_examples=60, deadline=None)
@given(rows=tables(), packed=st.sampled_from(list(PACKERS)))
def test_csv_round_trip(tmp_path_factory, rows, packed):
    path = save(tmp_path_factory.mktemp("csv"), f"a.csv{packed}", comma_separated(rows))
    assert values_of(path) == rows


@settings(max_examples=60, deadline=None)
@given(rows=tables(), packed=st.sampled_from(list(PACKERS)), ascii_only=st.booleans())
def test_jsonl_round_trip(tmp_path_factory, rows, packed, ascii_only):
    folder = tmp_path_factory.mktemp("jsonl")
    contents = jsonl(rows, ascii_only=ascii_only) or b"\n"
    path = save(folder, f"a.jsonl{packed}", contents)
    if not rows:
        with pytest.raises(InputError, match="is empty"):
            values_of(path)
        return
    assert values_of(path) == rows


@settings(max_examples=30, deadline=None)
@given(rows=tables(), packed=st.sampled_from(list(PACKERS)))
def test_parquet_round_trip(tmp_path_factory, rows, packed):
    path = save(tmp_path_factory.mktemp("parquet"), f"a.parquet{packed}", parquet(rows))
    assert values_of(path) == rows


@settings(max_examples=30, deadline=None)
@given(rows=tables())
def test_iterable_round_trip(rows):
    mappings = [dict(zip(NAMES, row, strict=True)) for row in rows]
    assert values_of(mappings) == rows


def test_txt_fills_the_only_required_column(tmp_path):
    path = save(tmp_path, "a.txt.gz", b'one "two"\tthree\r\n four\n\n\n')
    assert list(read_rows(path, columns=["text"], optional=["label"])) == [
        Row({"text": 'one "two"\tthree'}, 1, str(path)),
        Row({"text": " four"}, 2, str(path)),
    ]


def test_quotes_in_a_tsv_are_data(tmp_path):
    path = save(tmp_path, "a.tsv", b'sentence1\tsentence2\tlabel\n"a\tb"\t"\n')
    assert values_of(path) == [('"a', 'b"', '"')]


def test_numbers_are_editor_lines_in_tsv_and_csv(tmp_path):
    path = save(tmp_path, "a.tsv", tsv([("a", "b", "c"), ("d", "e", "f")]))
    assert [row.number for row in read_rows(path, columns=NAMES)] == [2, 3]
    path = save(tmp_path, "a.csv", b'sentence1\r\n"two\r\nlines"\r\n"three\n\nlines"\nlast\r\n')
    rows = list(read_rows(path, columns=["sentence1"]))
    assert [(row.number, row.values["sentence1"]) for row in rows] == [
        (2, "two\r\nlines"),
        (4, "three\n\nlines"),
        (7, "last"),
    ]


def test_numbers_stay_right_across_blocks(tmp_path):
    rows = [(f"{'é' * (n % 50)}{n}", "x" * 30, "y") for n in range(20_000)]
    for packed in PACKERS:
        path = save(tmp_path, f"a.tsv{packed}", tsv(rows))
        read = list(read_rows(path, columns=["sentence1"]))
        assert [row.number for row in read] == list(range(2, 20_002))
        assert [row.values["sentence1"] for row in read] == [row[0] for row in rows]


def test_columns_are_found_by_name_renamed_and_kept(tmp_path):
    path = save(tmp_path, "a.tsv", b"\xef\xbb\xbfid\tq2\tq1 \tsentence1\n7\tb\ta\tother\n")
    options = {"rename": parse_columns("sentence1=q1,sentence2=q2")}
    columns = ["sentence1", "sentence2"]
    (row,) = read_rows(path, columns=columns, optional=["label"], **options)
    assert row.values == {"sentence1": "a", "sentence2": "b"}
    (row,) = read_rows(path, columns=columns, optional=["id"], keep_others=True, **options)
    assert row.values == {"sentence1": "a", "sentence2": "b", "id": "7"}


def test_others_are_kept_in_the_files_order_in_every_form(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet_files = pytest.importorskip("pyarrow.parquet")
    record = {"b": "1", "text": "t", "a": "2"}
    save(tmp_path, "a.tsv", b"b\ttext\ta\n1\tt\t2\n")
    save(tmp_path, "a.csv", b"b,text,a\n1,t,2\n")
    save(tmp_path, "a.jsonl", json.dumps(record).encode())
    parquet_files.write_table(pyarrow.Table.from_pylist([record]), tmp_path / "a.parquet")
    for source in [*sorted(tmp_path.iterdir()), [record]]:
        (row,) = read_rows(source, columns=["text"], keep_others=True)
        assert list(row.values.items()) == [("text", "t"), ("b", "1"), ("a", "2")]
        (row,) = read_rows(source, columns=["text"])
        assert row.values == {"text": "t"}


def test_optional_values_may_be_empty(tmp_path):
    save(tmp_path, "a.tsv", b"text\tlabel\nt\t\n")
    save(tmp_path, "a.csv", b"text,label\nt,\n")
    save(tmp_path, "a.jsonl", b'{"text": "t", "label": null}\n')
    for source in [*sorted(tmp_path.iterdir()), [{"text": "t", "label": None}]]:
        (row,) = read_rows(source, columns=["text"], optional=["label"])
        assert row.values == {"text": "t", "label": ""}


def test_json_numbers_stay_as_written(tmp_path):
    line = b'{"text": 1.50, "label": true, "big": 123456789012345678901234567890, "list": [1, "a"]}'
    path = save(tmp_path, "a.jsonl", line)
    (row,) = read_rows(path, columns=["text", "label"], keep_others=True)
    assert row.values == {
        "text": "1.50",
        "label": "true",
        "big": "123456789012345678901234567890",
        "list": '["1", "a"]',
    }


def test_parquet_and_iterable_numbers_become_text(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet_files = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"text": ["t"], "label": [3], "share": [0.5], "flag": [False]})
    parquet_files.write_table(table, tmp_path / "a.parquet")
    record = {"text": "t", "label": np.int64(3), "share": np.float64(0.5), "flag": np.False_}
    for source in (tmp_path / "a.parquet", [record]):
        (row,) = read_rows(source, columns=["text", "label", "share", "flag"])
        assert row.values == {"text": "t", "label": "3", "share": "0.5", "flag": "false"}


def test_parquet_rows_are_numbered_across_batches(tmp_path):
    rows = [(str(n), "b", "c") for n in range(20_000)]
    path = save(tmp_path, "a.parquet", parquet(rows))
    read = list(read_rows(path, columns=["sentence1"]))
    assert [row.number for row in read] == list(range(1, 20_001))
    assert [row.values["sentence1"] for row in read] == [row[0] for row in rows]


@pytest.mark.parametrize(("name", "contents"), [("a.tsv", tsv([])), ("a.csv", comma_separated([]))])
def test_header_alone_yields_nothing(tmp_path, name, contents):
    assert values_of(save(tmp_path, name, contents)) == []
    assert values_of(save(tmp_path, name, contents.rstrip())) == []


def test_blank_lines_at_the_end_are_ignored(tmp_path):
    for name, contents in [
        ("a.tsv", tsv([("a", "b", "c")])),
        ("a.csv", comma_separated([("a", "b", "c")])),
        ("a.jsonl", jsonl([("a", "b", "c")], ascii_only=True)),
    ]:
        for end in (b"\n\n\n", b"\r\n\r\n", b"\n" * 300_000):
            assert values_of(save(tmp_path, name, contents + end)) == [("a", "b", "c")]


def test_blank_lines_across_blocks_inside_a_file_keep_the_numbers(tmp_path):
    path = save(tmp_path, "a.txt", b"one\n" + b"\n" * 300_000 + b"two\n" + b"\n" * 300_000)
    errors = []
    rows = list(read_rows(path, columns=["text"], on_bad=errors.append))
    assert [row.number for row in rows] == [1, 300_002]
    assert [errors[0].row, errors[-1].row, len(errors)] == [2, 300_001, 300_000]


def test_rows_stream_without_reading_ahead():
    drawn = []

    def source():
        for n in range(10):
            drawn.append(n)
            yield {"text": str(n)}

    rows = read_rows(source(), columns=["text"])
    assert drawn == []
    next(rows)
    assert drawn == [0]


def test_a_large_file_is_read_block_by_block(tmp_path):
    path = save(tmp_path, "a.tsv", tsv([("a" * 100, "b", "c")] * 50_000))
    with path.open("rb") as handle:
        handle.seek(0, 2)
        size = handle.tell()
    rows = read_rows(path, columns=NAMES)
    next(rows)
    frame = rows.gi_frame.f_locals
    assert sum(map(len, frame["block"].lines)) < size / 10


def test_parse_columns_keeps_further_equal_signs():
    assert parse_columns("text=a=b") == {"text": "a=b"}


@pytest.mark.parametrize("spec", ["", "text", "text=", "=q1", "text=a,", "text=a,,label=b"])
def test_parse_columns_says_what_it_expects(spec):
    with pytest.raises(InputError, match=r"--columns: expected NAME=COLUMN,NAME=COLUMN"):
        parse_columns(spec)


def test_parse_columns_refuses_a_name_twice():
    with pytest.raises(InputError, match=r'--columns: "text" is named twice'):
        parse_columns("text=a,text=b")


@pytest.mark.parametrize("name", ["train.tsv", "train.tsv.xz", "train.jsonl.gz", "train.parquet"])
def test_find_split_finds_any_form(tmp_path, name):
    for other in (name, "dev.tsv", "train.md", "train.de.xz", "mytrain.tsv"):
        (tmp_path / other).touch()
    assert find_split(tmp_path, "train") == tmp_path / name


def test_find_split_lists_what_is_there(tmp_path):
    (tmp_path / "test.tsv").touch()
    with pytest.raises(InputError, match=r"no file for train, such as .*; found: test\.tsv"):
        find_split(tmp_path, "train")
    (tmp_path / "train.tsv").touch()
    (tmp_path / "train.tsv.xz").touch()
    match = r"expected one file for train, found train\.tsv, train\.tsv\.xz"
    with pytest.raises(InputError, match=match):
        find_split(tmp_path, "train")
    with pytest.raises(InputError, match="is a file, expected a folder"):
        find_split(tmp_path / "train.tsv", "train")
    with pytest.raises(InputError, match="no such folder"):
        find_split(tmp_path / "none", "train")
