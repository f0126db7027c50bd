"""Bulk work by the actors of a real Ray: the answers of one process, whatever is killed."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason='needs "softquery[ray]"')

import softquery as sq  # noqa: E402
from softquery.errors import ConfigError, InputError  # noqa: E402
from softquery.runtime.bulk import BulkAnswers, answer_rows  # noqa: E402
from softquery.runtime.task_rows import ParseOptions  # noqa: E402

pytestmark = pytest.mark.timeout(600)
MARK = "SOFTQUERY_TEST_OF_RAY"
"""In the environment of all processes of the cluster, so that no other's are killed."""
ACTOR, READER = "ShardActor", "read_shards"
CHUNK = 256
MANY = 24 * CHUNK + 17


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """One cluster for all tests, which its processes say in their environment."""
    os.environ[MARK] = str(os.getpid())
    yield
    ray.shutdown()
    del os.environ[MARK]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Files of several forms."""
    folder = tmp_path_factory.mktemp("pairs")
    draw = random.Random(1)
    who, what = (
        ("a man", "a woman", "two dogs", "the old pilot"),
        ("eats", "sleeps", "runs", "waits"),
    )
    texts = [f"{a} {b} near house {n}" for a in who for b in what for n in range(40)]

    def some(count):
        return [(draw.choice(texts), draw.choice(texts)) for _ in range(count)]

    lines = ["sentence1\tsentence2", *("\t".join(pair) for pair in some(MANY))]
    (folder / "many.tsv").write_text("\n".join(lines) + "\n")
    with gzip.open(folder / "few.jsonl.gz", "wt") as file:
        for first, second in some(300):
            file.write(json.dumps({"sentence1": first, "sentence2": second}) + "\n")
    return folder


@pytest.fixture(scope="module")
def alone(pairs, tmp_path_factory):
    """What a single process writes, file by file."""
    folder = tmp_path_factory.mktemp("alone")
    found = {}
    for name in ("many.tsv", "few.jsonl.gz"):
        output = folder / f"{name}.answers.jsonl"
        answers = BulkAnswers(sq.load("nli-en", threads=1))
        answer_rows(answers, answers.bulk.parse(pairs / name, ParseOptions()), output)
        found[name.partition(".")[0]] = output.read_bytes()
    return found


def softquery(*words, code=0):
    """Run a command; what it said."""
    ended = subprocess.run(
        [sys.executable, "-m", "softquery", *map(str, words)], capture_output=True, text=True
    )
    assert ended.returncode == code, ended.stderr
    return ended.stdout + ended.stderr


def joined(folder, stem):
    """All shards of a file, one behind the other."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob(f"{stem}-*.jsonl")))


def workers(name, mark):
    """Processes of a cluster whose title holds a name."""
    wanted = f"{MARK}={mark}\0".encode()
    for place in Path("/proc").iterdir():
        try:
            if place.name.isdigit() and wanted in (place / "environ").read_bytes():
                title = (place / "cmdline").read_text()
            else:
                continue
        except OSError:
            continue
        if name in title:
            yield int(place.name)


def killer(kills, killed, done, names=(ACTOR,)):
    """Kill some worker again and again, at random moments."""
    draw = random.Random(kills)
    while len(killed) < kills and not done.wait(draw.uniform(0.2, 2.0)):
        found = [number for name in names for number in workers(name, os.environ[MARK])]
        if found:
            os.kill(chosen := draw.choice(found), signal.SIGKILL)
            killed.append(chosen)


def test_two_actors_write_what_one_process_writes(pairs, alone, tmp_path):
    seen = []
    result = sq.ray.answer_files("nli-en", pairs, tmp_path / "out", actors=2, advance=seen.append)
    assert (result.num_files, result.num_rows, result.num_skipped) == (2, MANY + 300, 0)
    assert seen[0] == 0
    assert seen[-1] == MANY + 300
    assert seen == sorted(seen)
    for name, answers in alone.items():
        assert joined(tmp_path / "out", name) == answers


def test_five_killed_workers_lose_and_double_nothing(pairs, alone, tmp_path):
    killed, done = [], threading.Event()
    thread = threading.Thread(target=killer, args=(5, killed, done))
    thread.start()
    try:
        result = sq.ray.answer_files(
            "nli-en", pairs / "many.tsv", tmp_path / "out", actors=2, shard_rows=CHUNK
        )
    finally:
        done.set()
        thread.join()
    assert len(set(killed)) == 5
    assert joined(tmp_path / "out", "many") == alone["many"]
    assert result.num_shards == len(list((tmp_path / "out").glob("*.jsonl"))) == 25
    records = [json.loads(p.read_bytes()) for p in (tmp_path / "out" / "_commits").iterdir()]
    assert sum(each["num_answered"] for each in records) == MANY


def test_a_killed_reader_reads_again(pairs, alone, tmp_path):
    killed, done = [], threading.Event()
    thread = threading.Thread(target=killer, args=(2, killed, done, (READER,)))
    thread.start()
    try:
        sq.ray.answer_files(
            "nli-en", pairs / "many.tsv", tmp_path / "out", actors=2, shard_rows=CHUNK
        )
    finally:
        done.set()
        thread.join()
    assert killed
    assert joined(tmp_path / "out", "many") == alone["many"]


def test_a_killed_command_goes_on_where_it_was(pairs, alone, tmp_path):
    mark = f"{os.environ[MARK]}-killed"
    command = [
        sys.executable, "-m", "softquery", "match", "--model", "nli-en", "--pairs", str(pairs),
        "--output", str(tmp_path / "out"), "--engine", "ray", "--num-actors", "2",
    ]  # fmt: skip
    around = {**os.environ, MARK: mark}
    running = subprocess.Popen(command, env=around, stderr=subprocess.DEVNULL)
    commits = tmp_path / "out" / "_commits"
    while not (commits.is_dir() and any(commits.iterdir())):
        assert running.poll() is None
        time.sleep(0.05)
    running.kill()
    running.wait()
    try:
        wait_until(lambda: not any(workers(ACTOR, mark)))
        assert not (tmp_path / "out" / "_manifest.json").exists()
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.jsonl")}
        done = {path.stem for path in commits.iterdir()}
        told = softquery(*command[3:])
    finally:
        for number in workers("", mark):
            os.kill(number, signal.SIGKILL)
    assert f"{MANY + 300:,} pairs answered (" in told
    assert all(path.stat().st_mtime_ns == at for path, at in before.items() if path.stem in done)
    for name, answers in alone.items():
        assert joined(tmp_path / "out", name) == answers


def wait_until(condition, seconds=120):
    """Wait for something that takes the cluster a while."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_a_bad_row_stops_with_one_line_and_is_skipped_where_asked(pairs, tmp_path):
    file = tmp_path / "rows.tsv"
    file.write_text("sentence1\tsentence2\na man\ta dog\nalone\na dog\ta man\n")
    with pytest.raises(InputError, match=r"rows.tsv, row 3: expected 2 columns"):
        sq.ray.answer_files("nli-en", file, tmp_path / "out", actors=1)
    result = sq.ray.answer_files("nli-en", file, tmp_path / "out", actors=1, on_error="skip")
    assert (result.num_rows, result.num_skipped) == (2, 1)
    (note,) = (tmp_path / "out" / "_errors").iterdir()
    assert note.read_text().splitlines()[1].startswith("3\texpected 2 columns")


def test_what_the_cluster_lacks_is_refused(pairs, tmp_path):
    with pytest.raises(ConfigError, match="--gpus 1: the cluster has 0 GPUs"):
        sq.ray.answer_files("nli-en", pairs, tmp_path / "a", actors=sq.ray.Actors(gpus=1))
    with pytest.raises(ConfigError, match="99 actors of 1 thread: the cluster has"):
        sq.ray.answer_files("nli-en", pairs, tmp_path / "b", actors=99)


def test_a_data_set_keeps_its_columns_and_gets_answers(pairs):
    rows = [
        {"id": 1, "q1": "A man eats.", "q2": "Someone eats."},
        {"id": 2, "q1": "", "q2": "Nobody."},
        {"id": 3, "q1": "A man eats.", "q2": "Nobody eats."},
    ]
    columns = {"sentence1": "q1", "sentence2": "q2"}
    found = sq.ray.match(
        ray.data.from_items(rows), "nli-en", columns=columns, on_error="mark", actors=1
    ).take_all()
    expected = sq.load("nli-en", threads=1).predict([("A man eats.", "Someone eats.")])[0]
    by_id = {row["id"]: row for row in found}
    assert by_id[1]["label"] == expected.label
    assert by_id[1]["score"] == pytest.approx(expected.score, abs=1e-5)
    assert dict(by_id[1]["probabilities"]) == pytest.approx(expected.probabilities, abs=1e-5)
    assert (by_id[2]["label"], by_id[2]["error"]) == (None, "sentence1 is empty")
    assert (by_id[3]["q2"], by_id[3]["error"]) == ("Nobody eats.", None)


def test_a_data_set_of_vectors(pairs):
    texts = ["a man eats", "someone sleeps", ""]
    found = sq.ray.embed(
        ray.data.from_items([{"n": n, "text": t} for n, t in enumerate(texts)]),
        dimensions=16,
        actors=1,
    ).take_all()
    expected = sq.load("embed-en", threads=1).encode(texts, dimensions=16)
    for row in found:
        assert row["vector"] == pytest.approx(expected[row["n"]], abs=1e-5)
