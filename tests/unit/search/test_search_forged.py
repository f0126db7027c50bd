"""Indexes whose content was forged and whose checksums are right: one clear line, never a crash."""

import json
import re

import numpy as np
import pytest

from index_forging import change_json, put, seal, segment_folders
from softquery import Index
from softquery.errors import InputError, SoftqueryError
from softquery.search.storage import encodings as stored

HUGE = 10**30
MANIFEST = {
    "a model that is a number": (("model",), 7),
    "a model that is a list": (("model",), ["match-en"]),
    "a model with NUL": (("model",), "a\0b"),
    "a fingerprint that is missing": (("fingerprint",), None),
    "a source of vectors that is an object": (("vector_source",), {}),
    "a generation below zero": (("generation",), -3),
    "a generation that is huge": (("generation",), HUGE),
    "a generation that is true": (("generation",), True),
    "a width that is a text": (("vector_size",), "8"),
    "a width that is huge": (("vector_size",), HUGE),
    "columns that are a text": (("columns",), "id"),
    "columns that are numbers": (("columns",), [1, 2]),
    "unfinished as a number": (("unfinished",), 0),
    "settings that are a list": (("settings",), []),
    "settings of unknown names": (("settings", "colour"), "red"),
    "settings whose weight is a text": (("settings", "recall_weight"), "1"),
    "settings whose weight is beyond all floats": (("settings", "recall_weight"), 10**400),
    "settings whose threshold is beyond all floats": (("settings", "min_score"), 10**400),
    "settings whose weight is true": (("settings", "recall_weight"), True),
    "settings whose threshold is a text": (("settings", "min_score"), "0"),
    "settings whose vectors are a number": (("settings", "vectors"), 1),
    "settings whose words are a text": (("settings", "word_columns"), "question"),
    "settings whose words are numbers": (("settings", "word_columns"), [1]),
    "settings of another precision": (("settings", "encodings"), ["int8"]),
    "segments that are a number": (("segments",), 3),
    "a segment that is a text": (("segments", 0), "000001"),
    "a segment called ..": (("segments", 0, "name"), ".."),
    "a segment with NUL": (("segments", 0, "name"), "a\0b"),
    "a segment with a number as name": (("segments", 0, "name"), 1),
    "a segment of 10^30 rows": (("segments", 0, "num_rows"), HUGE),
    "a segment of a trillion rows": (("segments", 0, "num_rows"), 10**12),
    "a segment of true rows": (("segments", 0, "num_rows"), True),
    "a segment of -1 rows": (("segments", 0, "num_rows"), -1),
    "a segment of 12.0 rows": (("segments", 0, "num_rows"), 12.0),
    "deleted rows with NUL": (("segments", 0, "deleted"), "deleted-1.bin\0"),
    "deleted rows in ..": (("segments", 0, "deleted"), ".."),
    "deleted rows in another file": (("segments", 0, "deleted"), "cells.bin"),
    "deleted rows that are true": (("segments", 0, "num_deleted"), True),
    "more deleted rows than rows": (("segments", 0, "num_deleted"), 99),
    "a checksum that is a text": (("segments", 0, "deleted_crc"), "0"),
    "a format that is true": (("format",), True),
}
FACTS = {
    "a file of the system": (("files", "/dev/zero"), {"size": 0, "crc": 0}),
    "a file elsewhere": (("files", "../../manifest.json"), {"size": 0, "crc": 0}),
    "a file without a size": (("files", "cells.bin"), {}),
    "a size that is a text": (("files", "cells.bin", "size"), "9"),
    "files that are a list": (("files",), []),
    "a shape that is a list": (("shape",), []),
    "columns that are a text": (("shape", "columns"), "id"),
    "columns that repeat": (("shape", "columns"), ["id", "question", "question", "id"]),
    "no columns": (("shape", "columns"), []),
    "columns without a question": (("shape", "columns"), ["id", "a", "b", "c"]),
    "another precision": (("shape", "precision"), "float16"),
    "twice as precise": (("shape", "precision"), "int8"),
    "a precision that is a list": (("shape", "precision"), []),
    "a width of 0": (("shape", "vector_size"), 0),
    "a width of true": (("shape", "vector_size"), True),
    "a width that is half": (("shape", "vector_size"), 8),
    "an encoding of width 0": (("shape", "encoding_size"), 0),
    "an encoding of half the width": (("shape", "encoding_size"), 16),
    "an encoding of a huge width": (("shape", "encoding_size"), HUGE),
    "one vector per row": (("shape", "is_flat"), True),
    "one vector per row, as a number": (("shape", "is_flat"), 0),
    "another number of rows": (("num_rows",), 13),
}
FILES = (
    "cells.bin",
    "cell_ends.bin",
    "words.json",
    "word_starts.bin",
    "word_rows.bin",
    "words.bin",
    "vectors.bin",
    "encodings.bin",
    "encoding_scales.bin",
    "encoding_ends.bin",
    "segment.json",
)
FILLINGS = {
    "0xff": lambda content: b"\xff" * len(content),
    "emptied": lambda content: b"",
    "halved": lambda content: content[: len(content) // 2],
    "one byte less": lambda content: content[:-1],
    "doubled": lambda content: content * 2,
}


def use(path) -> None:
    """Everything that a user might do with an index."""
    opened = Index.open(path, threads=1)
    opened.search("w1 w41 w81", min_score=0.0, top_k=50)
    opened.search("w2", min_score=0.0, where={"kind": "even"})
    list(opened.rows())
    opened.duplicates(min_score=0.0)
    opened.add([{"id": "new", "question": "w3 w4"}])
    opened.delete(["r5"])
    opened.compact()
    opened.search("w1 w41 w81", min_score=0.0)


def refused(path) -> str:
    with pytest.raises(InputError) as caught:
        use(path)
    line = str(caught.value)
    assert "\n" not in line
    assert "damaged" in line or "does not know" in line
    assert path.name in line
    return line


@pytest.mark.parametrize(("keys", "value"), MANIFEST.values(), ids=MANIFEST)
def test_a_forged_manifest(index, keys, value):
    change_json(index.path / "manifest.json", lambda data: put(data, keys, value))
    seal(index.path)
    line = refused(index.path)
    if value != ["match-en"] and keys[0] != "format":
        named = [key for key in keys if isinstance(key, str)]
        assert any(key in line for key in named), line


def test_an_index_that_was_changed_too_often_stays_readable(index):
    change_json(index.path / "manifest.json", lambda data: put(data, ("generation",), 2**52))
    seal(index.path)
    opened = Index.open(index.path, threads=1)
    with pytest.raises(InputError, match="cannot be changed any more; build it anew"):
        opened.delete(["r1"])
    assert Index.open(index.path, threads=1).search("w1 w41 w81", top_k=1)[0]["id"] == "r1"


@pytest.mark.parametrize(("keys", "value"), FACTS.values(), ids=FACTS)
@pytest.mark.timeout(20)
def test_forged_facts_of_a_segment(index, keys, value):
    (segment,) = segment_folders(index.path)
    change_json(segment / "segment.json", lambda data: put(data, keys, value))
    if keys[:2] != ("files", "cells.bin"):
        seal(index.path)
    else:
        change_json(index.path / "manifest.json", lambda data: None)
        _seal_facts_alone(index.path, segment)
    refused(index.path)


def _seal_facts_alone(path, segment) -> None:
    import zlib

    crc = zlib.crc32((segment / "segment.json").read_bytes())
    change_json(path / "manifest.json", lambda data: put(data, ("segments", 0, "crc"), crc))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("filling", FILLINGS.values(), ids=FILLINGS)
def test_a_forged_file_of_a_segment(index, name, filling):
    (segment,) = segment_folders(index.path)
    (segment / name).write_bytes(filling((segment / name).read_bytes()))
    seal(index.path)
    if (name, filling) in HARMLESS:
        use(index.path)
        return
    assert "Error" not in refused(index.path)


HARMLESS = [("encodings.bin", FILLINGS["0xff"])]
"""Any byte is a number there: hits may be wrong, as they may be in any index of a stranger."""


@pytest.mark.parametrize("filling", FILLINGS.values(), ids=FILLINGS)
def test_forged_deletions(index, filling):
    index.delete(["r1", "r2"])
    (segment,) = segment_folders(index.path)
    (path,) = segment.glob("deleted-*.bin")
    path.write_bytes(filling(path.read_bytes()))
    seal(index.path)
    assert "Error" not in refused(index.path)


def test_deletions_that_are_forged_while_the_index_is_open(index):
    opened = Index.open(index.path, threads=1)
    index.delete(["r1"])
    change_json(
        index.path / "manifest.json", lambda data: put(data, ("segments", 0, "num_rows"), 10**9)
    )
    with pytest.raises(InputError, match="is damaged"):
        opened.refresh()


FORGED_NUMBERS = {
    "cells that go backwards": ("cell_ends.bin", np.int64, 4, 0),
    "cells beyond the end": ("cell_ends.bin", np.int64, 4, 10**9),
    "a row without a question": ("cell_ends.bin", np.int64, 1, "complement"),
    "words that go backwards": ("word_starts.bin", np.int64, 3, 0),
    "words before the beginning": ("word_starts.bin", np.int64, 0, -5),
    "a row that is not there": ("word_rows.bin", np.int32, 2, 12),
    "a row below zero": ("word_rows.bin", np.int32, 2, -1),
    "a weight that is no number": ("words.bin", np.float32, 2, np.nan),
    "a vector that is no number": ("vectors.bin", np.float16, 2, np.nan),
    "a scale that is no number": ("encoding_scales.bin", np.float32, 2, np.nan),
    "a scale without end": ("encoding_scales.bin", np.float32, 2, np.inf),
    "encodings that go backwards": ("encoding_ends.bin", np.int64, 3, 1),
    "an encoding of no tokens": ("encoding_ends.bin", np.int64, 0, 0),
}


@pytest.mark.parametrize(
    ("name", "dtype", "place", "value"), FORGED_NUMBERS.values(), ids=FORGED_NUMBERS
)
def test_forged_numbers(index, name, dtype, place, value):
    (segment,) = segment_folders(index.path)
    numbers = np.fromfile(segment / name, dtype=dtype)
    numbers[place] = ~numbers[place] if value == "complement" else value
    numbers.tofile(segment / name)
    seal(index.path)
    line = refused(index.path)
    assert name in line


def test_texts_that_are_cut_inside_a_character(model, tmp_path):
    path = tmp_path / "faq.sq"
    Index.build([{"id": "a", "question": "w1 é"}], path, model=model, threads=1)
    (segment,) = segment_folders(path)
    ends = np.fromfile(segment / "cell_ends.bin", dtype=np.int64)
    ends[0] += 4  # between the two bytes of é
    ends.tofile(segment / "cell_ends.bin")
    seal(path)
    assert "cell_ends.bin" in refused(path)


@pytest.mark.parametrize(
    "words",
    ["{}", "[1, 2]", '["a", "a"]', "[" * 100_000, '"words"', "7" * 5000, "null"],
    ids=["an object", "numbers", "too few", "nested", "a text", "a number", "null"],
)
def test_forged_words(index, words):
    (segment,) = segment_folders(index.path)
    (segment / "words.json").write_text(words)
    seal(index.path)
    assert "words.json" in refused(index.path)


@pytest.mark.parametrize("content", ["[" * 100_000, "9" * 5000, "null", "\udcff", "{}"])
@pytest.mark.parametrize("name", ["manifest.json", "segment.json"])
def test_forged_json(index, name, content):
    (segment,) = segment_folders(index.path)
    path = (segment if name == "segment.json" else index.path) / name
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    seal(index.path)
    assert name in refused(index.path)


def test_a_sparse_file_is_not_read_into_memory(index):
    (segment,) = segment_folders(index.path)
    with (segment / "words.json").open("r+b") as handle:
        handle.truncate(40 << 30)
    facts = segment / "segment.json"
    change_json(facts, lambda data: put(data, ("files", "words.json", "size"), 40 << 30))
    _seal_facts_alone(index.path, segment)
    assert re.search(r"words\.json: is damaged \(.* bytes", refused(index.path))


def test_float16_encodings_that_are_no_numbers(model, rows, tmp_path):
    from softquery.search import IndexSettings

    path = tmp_path / "faq.sq"
    Index.build(rows, path, model=model, settings=IndexSettings(encodings="float16"), threads=1)
    (segment,) = segment_folders(path)
    content = (segment / stored.VALUES).read_bytes()
    (segment / stored.VALUES).write_bytes(b"\xff" * len(content))
    with pytest.raises(SoftqueryError, match="encodings.bin: is damaged"):
        Index.open(path, threads=1).search("w1", min_score=0.0)


def test_a_graph_that_no_record_names_is_not_used(index):
    (segment,) = segment_folders(index.path)
    (segment / "vectors.usearch").write_bytes(b"usearch" * 100)
    use(index.path)


def test_segments_of_one_name(index):
    change_json(
        index.path / "manifest.json", lambda data: data.update(segments=data["segments"] * 2)
    )
    assert "segments" in refused(index.path)


def test_what_softquery_writes_stays_readable(index):
    assert json.loads((index.path / "manifest.json").read_bytes())["format"] == 2
    use(index.path)
