"""kill -9 at random moments of indexing and updating: what was committed is there, and no more.

One process, this file run as a script, builds an index and goes on to change it, telling after each
change what it has done; it is killed at a random moment, and started again. After every kill the
index is opened, its rows are compared with what was told, and some are searched for.
"""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

from softquery import Index
from softquery.errors import InputError
from softquery.search.changes import building

MODEL = "match-en"
ROWS = 3000
KILLS = 20
SEED = 1
LONGEST = 4.0
"""Seconds until a kill, at most."""
COMMIT = 500
"""Rows of the first indexing that are committed together here."""
WORDS = [
    "how",
    "do",
    "i",
    "pay",
    "send",
    "cancel",
    "change",
    "return",
    "parcel",
    "order",
    "note",
    "account",
    "card",
    "gift",
    "pen",
    "ink",
]


def question(number: int) -> str:
    draw = random.Random(number)
    return " ".join([*draw.choices(WORDS, k=draw.randint(3, 9)), f"x{number}"])


def rows(start: int, count: int, version: int) -> list[dict[str, str]]:
    return [
        {"id": str(number), "question": question(number), "answer": f"version {version}"}
        for number in range(start, start + count)
    ]


def change(step: int, num_rows: int) -> tuple[str, list[dict[str, str]]]:
    """What is done in a step: rows that come, rows that change, rows that go."""
    draw = random.Random(1000 + step)
    start = draw.randrange(num_rows)
    if step % 3 == 2:
        return "delete", rows(start, 5, step)
    return "add", rows(start if step % 3 else num_rows + 20 * step, 200, step)


def apply(table: dict[str, str], step: int, num_rows: int) -> None:
    kind, changed = change(step, num_rows)
    for row in changed:
        if kind == "add":
            table[row["id"]] = row["answer"]
        else:
            table.pop(row["id"], None)


def work(place: Path, num_rows: int, done: int) -> None:
    """Build or go on, step by step, for ever."""
    building.COMMIT_ROWS = COMMIT
    if done == 0:
        Index.build(rows(0, num_rows, 0), place, model=MODEL)
        print(json.dumps({"done": 1}), flush=True)
        done = 1
    index = Index.open(place)
    for step in range(done, 10**6):
        kind, changed = change(step, num_rows)
        if kind == "add":
            index.add(changed)
        else:
            there = {row["id"] for row in index.rows()}
            index.delete([row["id"] for row in changed if row["id"] in there])
        print(json.dumps({"done": step + 1}), flush=True)


def states(place: Path, num_rows: int, done: int) -> list[dict[str, str]]:
    """What may be there once so much was told: that, or what the next step makes of it."""
    table: dict[str, str] = {}
    if done == 0:
        every = {row["id"]: row["answer"] for row in rows(0, num_rows, 0)}
        ends = [*range(0, num_rows, COMMIT), num_rows]
        return [dict(list(every.items())[:end]) for end in ends]
    table = {row["id"]: row["answer"] for row in rows(0, num_rows, 0)}
    for step in range(1, done):
        apply(table, step, num_rows)
    after = dict(table)
    apply(after, done, num_rows)
    return [table, after]


def check(place: Path, num_rows: int, done: int) -> tuple[bool, int, int]:
    """Whether the index is as it should be, its rows, and how many steps it shows."""
    try:
        index = Index.open(place)
    except InputError as error:
        return done == 0 and "no such index" in str(error), 0, 0
    found = {row["id"]: row["answer"] for row in index.rows()}
    allowed = states(place, num_rows, done)
    if found not in allowed:
        return False, len(found), done
    draw = random.Random(len(found))
    for key in draw.sample(sorted(found), min(5, len(found))):
        hits = index.search(question(int(key)), top_k=5, min_score=0.0)
        if key not in [hit["id"] for hit in hits]:
            return False, len(found), done
    finished = not index.manifest.unfinished
    step = done + (found == allowed[-1] and finished and found != allowed[0])
    return True, len(found), step


def test_every_kill_leaves_what_was_committed(tmp_path):
    draw, done, place, unsound = random.Random(SEED), 0, tmp_path / "faq.sq", []
    for kill in range(KILLS):
        command = [sys.executable, __file__, str(place), str(done)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        time.sleep(draw.uniform(0.3, LONGEST))
        process.kill()
        told = (process.communicate()[0] or "").splitlines()
        done = json.loads(told[-1])["done"] if told else done
        sound, count, done = check(place, ROWS, done)
        if not sound:
            unsound.append(f"kill {kill + 1}: {count:,} rows after {done} steps")
    assert not unsound
    assert done > 1, "no change was ever made: the kills came too early"


if __name__ == "__main__":
    work(Path(sys.argv[1]), ROWS, int(sys.argv[2]))
