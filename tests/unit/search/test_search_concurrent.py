"""Other processes see one state or the next while one writes, and one writer keeps others out."""

import json
import os
import shutil
import subprocess
import sys
import threading
import zlib

import pytest

from softquery import Index
from softquery.errors import InputError
from softquery.search.changes import merging

WRITER = """
import sys
from softquery import Index
index = Index.open(sys.argv[1], threads=1)
for number in range(int(sys.argv[2])):
    rows = [{"id": f"x{k}", "question": f"w{k} w{number % 50}", "answer": str(number)}
            for k in range(3)]
    index.add(rows)
    if number % 5 == 4:
        index.compact()
"""


def test_two_readers_while_one_writes(index, rows):
    command = [sys.executable, "-c", WRITER, str(index.path), "14"]
    writer = subprocess.Popen(command, env=dict(os.environ))
    seen = [set(), set()]
    faults = []

    def read(number):
        reader = Index.open(index.path, threads=1)
        while writer.poll() is None:
            try:
                reader.refresh()
                found = {row["id"]: row.get("answer") for row in reader.rows()}
                answers = {found.get(f"x{k}") for k in range(3)}
                assert len(answers) == 1, found  # three rows are one change
                assert {row["id"] for row in rows} <= set(found)
                seen[number] |= answers
                assert reader.search("w1 w41", top_k=20, min_score=0.0)
            except Exception as error:
                faults.append(error)
                raise

    readers = [threading.Thread(target=read, args=(number,)) for number in range(2)]
    for each in readers:
        each.start()
    for each in readers:
        each.join()
    assert faults == []
    assert writer.wait() == 0
    assert min(map(len, seen)) > 2
    assert index.refresh()
    assert not index.refresh()
    assert {row["answer"] for row in index.rows() if row["id"].startswith("x")} == {"13"}


def test_a_view_stays_as_it_was(index, rows):
    other = Index.open(index.path)
    before = other.search("w3 w43", top_k=12)
    index.delete([row["id"] for row in rows[1:]])
    index.compact()
    assert len(list((index.path / "segments").iterdir())) == 1
    assert other.search("w3 w43", top_k=12) == before
    assert len(other) == len(rows)
    assert other.refresh()
    assert len(other) == 1


def test_one_writer_at_a_time(index):
    other = Index.open(index.path)
    with index._store.writing():
        with pytest.raises(InputError, match="is being written by another process"):
            other.add([{"question": "w1"}])
        with pytest.raises(InputError, match="is being written by another process"):
            other.delete(["r1"])
    other.add([{"question": "w1"}])
    index.delete(["r1"])  # begins with what the other one left
    assert len(index) == 12


def test_searching_from_many_threads(index, rows):
    wanted = [index.search(row["question"], top_k=3) for row in rows]
    found = [None] * len(rows)

    def ask(place):
        for _ in range(5):
            found[place] = index.search(rows[place]["question"], top_k=3)

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(rows))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == wanted


def test_rest_of_a_crash_is_swept_away(index):
    segments = index.path / "segments"
    shutil.copytree(next(segments.iterdir()), segments / "000009-0123abcd")
    (segments / ".000009-0123abcd.0123456789abcdef.tmp").mkdir()
    index.add([{"question": "w1"}])
    names = {path.name for path in segments.iterdir()}
    assert names == {entry.name for entry in index.manifest.segments}


def test_segments_that_are_mostly_deleted_are_rewritten(index, rows, monkeypatch):
    monkeypatch.setattr(merging, "WASTED", 5)
    index.delete([row["id"] for row in rows[:8]])
    (entry,) = index.manifest.segments
    assert (entry.num_rows, entry.num_deleted) == (4, 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"columns": []}, "is damaged"),
        ({"vector_size": 7}, "is damaged"),
        ({"encoding_size": 3}, "is damaged"),
        ({"precision": "int2"}, r"is damaged \(precision of shape is 'int2'"),
        ({"colour": "red"}, r"is damaged \(shape has an unknown key 'colour'"),
    ],
)
def test_facts_that_do_not_fit_are_refused(index, change, said):
    (folder,) = (index.path / "segments").iterdir()
    facts = json.loads((folder / "segment.json").read_bytes())
    facts["shape"].update(change)
    (folder / "segment.json").write_text(json.dumps(facts))
    manifest = json.loads((index.path / "manifest.json").read_bytes())
    manifest["segments"][0]["crc"] = zlib.crc32((folder / "segment.json").read_bytes())
    (index.path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=said):
        Index.open(index.path)


def test_one_matcher_for_several_indexes(index):
    other = Index.open(index.path, model=index.matcher)
    assert other.matcher is index.matcher
    assert other.search("w1 w41") == index.search("w1 w41")
