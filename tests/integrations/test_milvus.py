"""An index in Milvus, for which Milvus Lite stands in: hits and scores of a folder, and repairs."""

import contextlib
import json
import random
import sys
import time

import pytest
from store_cases import (
    KILLS,
    NUM_QUERIES,
    NUM_ROWS,
    Writer,
    check_length,
    compare,
    folder,
    large_folder,
    questions,
    reworded,
    told,
)
from store_writer import ROWS, SLOTS, batch

from softquery.cli import main
from softquery.errors import InputError
from softquery.search import IndexSettings, StoreIndex, migrate, open_index

pytest.importorskip("pymilvus", reason='needs "softquery[milvus]"')
pytest.importorskip("milvus_lite", reason="needs milvus-lite")

SETTINGS = IndexSettings(min_score=0.0)


@pytest.fixture
def address(tmp_path):
    """An address at which there is no index yet."""
    return f"milvus://{tmp_path / 'milvus.db'}#faq"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    rows = questions(1500)
    return rows, folder(rows, tmp_path_factory.mktemp("small") / "faq.sq")


def check_counts(index):
    """What is counted is what is there."""
    store = index.store
    num_rows = num_words = 0
    words = {}
    for row in store.scan():
        num_rows += 1
        num_words += sum(row.words.values())
        for word in row.words:
            words[word] = words.get(word, 0) + 1
    found = store.statistics(words)
    assert (found.num_rows, found.num_words) == (num_rows, num_words)
    assert dict(found.counts) == words
    assert store.state().num_rows == num_rows == store._rows.count()


def test_hits_scores_and_filters_are_those_of_a_folder(small, address):
    rows, index = small
    stored = StoreIndex.build(rows, address, model="match-en", settings=SETTINGS)
    assert len(stored) == len(index)
    assert stored.facts().near == pytest.approx(index.facts().near, abs=1e-4)
    queries = reworded(rows, 40)
    for stages in (None, ["words"], ["vectors"], ["words", "vectors"], ["vectors", "rerank"]):
        found = compare(index, stored, queries, stages=stages)
        assert found["same_first"] >= 0.975, (stages, found)
        assert found["within_1e-4"] >= 0.975, (stages, found)
    filters = [
        {"kind": "refunds"},
        {"kind": ["refunds", "shop"], "price": {"<": 20}},
        {"price": {">=": 50, "<": 60}, "since": {">": "2026-06-15"}},
        {"price": {"!=": "free"}, "since": {"<=": "2026-02-03"}},
    ]
    for where in filters:
        found = compare(index, stored, queries[:10], where=where)
        assert found["same_first"] == 1.0, (where, found)
        assert found["within_1e-4"] >= 0.9, (where, found)  # a graph is searched beside a filter
    for wrong in ({"nope": "x"}, {"answer": {"<": 5}}):
        with pytest.raises(InputError) as first:
            index.search("a", where=wrong)
        with pytest.raises(InputError) as second:
            stored.search("a", where=wrong)
        assert str(first.value).split(" to ")[0] == str(second.value).split(" to ")[0]


def test_changes_copies_and_refusals(small, address, tmp_path):
    rows, index = small
    with pytest.raises(InputError, match="no such index; build one"):
        open_index(address)
    stored = migrate(index, address)
    with pytest.raises(InputError, match="exists already"):
        StoreIndex.build(rows[:3], address, model="match-en")
    copy = migrate(stored, tmp_path / "copy.sq")
    (before,), (after,) = index.segments, copy.segments
    for name in ("encodings.bin", "encoding_scales.bin", "vectors.bin", "words.bin"):
        assert (before.folder / name).read_bytes() == (after.folder / name).read_bytes(), name
    odd = 'a "zebra" \\ of\nédition'
    changes = stored.add(
        [{**rows[0], "question": "zebra crossing"}, {"id": odd, "question": odd}, rows[1]]
    )
    assert (changes.added, changes.updated, changes.unchanged) == (1, 1, 1)
    assert {hit["id"] for hit in stored.search("zebra", stages=["words"])} == {"r000000", odd}
    check_counts(stored)
    assert stored.delete([odd, rows[1]["question"]]).deleted == 2
    assert len(stored) == len(rows) - 1
    assert [hit["id"] for hit in stored.search("zebra", stages=["words"])] == ["r000000"]
    with pytest.raises(InputError, match="no row has the id or the question 'gone'"):
        stored.delete(["gone"])
    with pytest.raises(InputError, match="may have 65,535 in Milvus"):
        stored.add([{"id": "n", "question": "a b", "answer": "x" * 70_000}])
    check_counts(stored)
    stored.compact()
    check_counts(stored)


def test_rows_are_counted_without_their_further_texts(address, tmp_path):
    check_length(address, tmp_path / "faq.sq")


def test_an_encoding_that_is_too_long_is_made_when_it_is_needed(address, tmp_path):
    long = " ".join(f"parcel number {place}" for place in range(120)) + "?"
    rows = [{"id": "long", "question": long}, {"id": "short", "question": "Where is my parcel?"}]
    index = folder(rows, tmp_path / "faq.sq")
    stored = migrate(index, address)
    kept = {row.columns["id"]: row for row in stored.store.scan(with_encodings=True)}
    assert kept["short"].encoding
    assert not kept["long"].encoding
    expected = {hit["id"]: hit["score"] for hit in index.search(long)}
    found = {hit["id"]: hit["score"] for hit in stored.search(long)}
    assert found == pytest.approx(expected, abs=1e-4)
    assert migrate(stored, tmp_path / "copy.sq").search(long)[0]["id"] == "long"


def test_its_size_is_not_told(address, capsys, monkeypatch):
    StoreIndex.build(batch("a", 0), address, model="match-en", settings=SETTINGS)
    monkeypatch.setattr(sys, "argv", ["softquery", "index", "--store", address, "--json"])
    with contextlib.suppress(SystemExit):
        main()
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == ROWS
    assert "bytes" not in told


def forget_to_write(store, monkeypatch):
    """A process that is gone holds no right to write, which this one would go on to hold."""
    monkeypatch.setattr(store._lease, "held", contextlib.nullcontext)
    monkeypatch.setattr(store._lease, "renew", lambda: None)


class Killed(BaseException):
    """What stands for the end of a process."""


@pytest.mark.parametrize("moment", ["before rows", "after rows", "before the end"])
def test_what_a_dead_writer_has_begun_is_repaired(address, monkeypatch, moment):
    stored = StoreIndex.build(batch("a", 0), address, model="match-en", settings=SETTINGS)
    store = stored.store
    died = {"before rows": (store._rows, "upsert"), "after rows": (store, "_finish_change")}
    place, name = died.get(moment, (store._log, "remove"))
    was = getattr(place, name)

    def die(*given):
        if moment == "before the end":
            was(*given)
        raise Killed

    monkeypatch.setattr(place, name, die)
    forget_to_write(store, monkeypatch)
    with pytest.raises(Killed):
        stored.add([*batch("a", 6), {"id": "new", "question": "a zebra", "batch": "6"}])
    stored.close()
    again = open_index(address, model=stored.matcher)
    check_counts(again)
    batches = {row["batch"] for row in again.rows()}
    assert batches == ({"0"} if moment == "before rows" else {"6"})
    assert not [each for each in again.store._log.records() if each.startswith("begun")]
    again.add(batch("a", 12))
    assert {row["batch"] for row in again.rows() if row["id"] != "new"} == {"12"}
    check_counts(again)


def test_a_deletion_that_died_is_repaired(address, monkeypatch):
    stored = StoreIndex.build(batch("a", 0), address, model="match-en", settings=SETTINGS)
    forget_to_write(stored.store, monkeypatch)
    monkeypatch.setattr(stored.store, "_finish_change", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        stored.delete(["a-0-0", "a-0-1"])
    stored.close()
    again = open_index(address, model=stored.matcher)
    assert len(again) == ROWS - 2
    check_counts(again)


def test_one_process_writes_at_a_time(address):
    stored = StoreIndex.build(batch("a", 0), address, model="match-en", settings=SETTINGS)
    other = {"token": "x", "host": "another machine", "process": 1, "started": "1"}
    stored.store._log.write("writer", {**other, "until": time.time() + 60})
    with pytest.raises(InputError, match="is being written by another process"):
        stored.add(batch("a", 6))
    assert stored.search("parcel", stages=["words"])
    stored.store._log.write("writer", {**other, "until": time.time() - 1})
    stored.add(batch("a", 6))
    check_counts(stored)


def test_many_changes_become_one_record(address, monkeypatch):
    monkeypatch.setattr("softquery.search.stores.milvus.milvus_store.MOST_DONE", 3)
    stored = StoreIndex.build(batch("a", 0), address, model="match-en", settings=SETTINGS)
    for number in range(1, 9):
        stored.add(batch("a", number))
    kinds = [each.partition("-")[0] for each in stored.store._log.records()]
    assert kinds.count("base") == 1
    assert kinds.count("done") <= 3
    check_counts(stored)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_100_000_questions(address, tmp_path, record_property):
    rows = questions(NUM_ROWS)
    index = large_folder(rows, tmp_path / "large.sq")
    stored = migrate(index, address)
    found = compare(index, stored, reworded(rows, NUM_QUERIES))
    record_property("comparison", told(NUM_ROWS, NUM_QUERIES, found))
    assert found["same_first"] >= 0.99, found
    assert found["within_1e-4"] >= 0.99, found


def leave(index):
    """Let another process use the file, which this one has served to itself."""
    from milvus_lite.server_manager import server_manager_instance

    index.close()
    server_manager_instance.release_all()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_kills_leave_whole_rows_and_true_counts(address, record_property):
    draw = random.Random(5)
    index = StoreIndex.build(batch("x", 0), address, model="match-en", settings=SETTINGS)
    matcher, first, num_repaired = index.matcher, 1, 0
    for _ in range(KILLS):
        leave(index)
        writer = Writer(address, "x", first)
        writer.wait_for_one()
        time.sleep(draw.random() * 1.5)
        writer.kill()
        writer.finish()
        index = open_index(address, model=matcher)
        check_counts(index)
        rows = list(index.rows())
        newest = max(int(row["batch"]) for row in rows)
        assert newest in (writer.committed, writer.committed + 1)
        slots = {slot: newest - (newest - slot) % SLOTS for slot in range(SLOTS)}
        for row in rows:
            number, slot = int(row["batch"]), int(row["id"].split("-")[1])
            assert row in batch("x", number)  # a row is whole
            is_last = slots[slot] == newest > writer.committed
            assert number == slots[slot] or (is_last and number == newest - SLOTS)
        num_repaired += newest > writer.committed
        first = newest + 1
    done = f"{num_repaired} of {KILLS} kills left a change that was begun, and each was repaired"
    record_property("kills", done)
    assert index.search(f"parcel number {first - 1}", stages=["words"])
