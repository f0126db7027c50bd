"""What the stores are tried on: questions, searches beside those of a folder, writers that die."""

import json
import os
import random
import signal
import subprocess
import sys
from itertools import accumulate
from pathlib import Path

import numpy as np

from softquery.search import Index, IndexSettings, IndexView, is_index, migrate, open_index

NUM_ROWS = int(os.environ.get("SOFTQUERY_STORE_ROWS", "100000"))
"""Questions of the large comparison; fewer are for trying things out."""
NUM_QUERIES = 300
KEPT = os.environ.get("SOFTQUERY_STORE_FOLDER", "")
"""Where the folder of the large comparison is kept for the next run; it takes minutes to build."""
KILLS = int(os.environ.get("SOFTQUERY_STORE_KILLS", "20"))
"""How often a process is killed while it writes."""
KINDS = ("account", "delivery", "refunds", "shop")
WRITER = Path(__file__).with_name("store_writer.py")


def questions(count: int, seed: int = 1) -> list[dict[str, str]]:
    """Different questions of words as frequent as words are, with columns to filter by."""
    draw = random.Random(seed)
    words = _words()
    weights = list(accumulate(1 / (place + 10) for place in range(len(words))))
    found: dict[str, None] = {}
    while len(found) < count:
        for _ in range(count):
            length = draw.randint(4, 11)
            found.setdefault(" ".join(draw.choices(words, cum_weights=weights, k=length)) + "?")
    return [
        {
            "id": f"r{place:06d}",
            "question": text,
            "answer": f"Answer {place % (count // 2 + 1)}.",
            "kind": KINDS[place % len(KINDS)],
            "price": f"{place % 100}.50" if place % 3 else "free",
            "since": f"2026-{place % 12 + 1:02d}-{place % 28 + 1:02d}",
        }
        for place, text in enumerate(list(found)[:count])
    ]


def _words() -> list[str]:
    """English words, the most frequent first: the vocabulary of the shipped matcher."""
    from softquery.zoo import resolve

    data = json.loads((resolve("match-en") / "tokenizer.json").read_text(encoding="utf-8"))
    return [word for word in _strings(data) if word.isalpha() and word.islower()][:20_000]


def _strings(data: object) -> list[str]:
    """The longest list or mapping of words anywhere in a JSON document."""
    best: list[str] = []
    if isinstance(data, dict):
        own = [key for key in data if isinstance(key, str)]
        best = max([own, *map(_strings, data.values())], key=len)
    elif isinstance(data, list):
        own = [item for item in data if isinstance(item, str)]
        best = max(
            [own, *map(_strings, [each for each in data if not isinstance(each, str)])], key=len
        )
    return best


def reworded(rows: list[dict[str, str]], count: int, seed: int = 2) -> list[str]:
    """Queries: stored questions of which a word is left out, or stands elsewhere."""
    draw = random.Random(seed)
    found = []
    for row in draw.sample(rows, count):
        words = row["question"].rstrip("?").split()
        moved = words.pop(draw.randrange(len(words)))
        if draw.random() < 0.5:
            words.insert(draw.randrange(len(words) + 1), moved)
        found.append(" ".join(words))
    return found


def large_folder(rows: list[dict[str, str]], place: Path) -> Index:
    """The large index that others are compared with; one that is kept is built once."""
    kept = Path(KEPT) if KEPT else place
    if is_index(kept):
        index = Index.open(kept)
        assert len(index) == len(rows)
        assert next(index.rows())["question"] == rows[0]["question"]
        return index
    return folder(rows, kept)


def folder(rows: list[dict[str, str]], place: Path) -> Index:
    """The index that others are compared with."""
    settings = IndexSettings(min_score=0.0)
    return Index.build(rows, place, model="match-en", settings=settings)


def check_length(address: str, place: Path) -> None:
    """Further texts of a row are stored as rows are, and not counted as such."""
    rows = questions(9)
    settings = IndexSettings(min_score=0.0, text_columns=("answer",))
    index = Index.build(rows, place, model="match-en", settings=settings)
    stored = migrate(index, address)
    assert len(stored) == len(index) == len(rows) == 9
    assert stored.store.state().num_rows == 18
    other = open_index(address, model=stored.matcher)
    stored.add([{"id": "new", "question": "Where is it?", "answer": "Here."}])
    stored.delete([rows[0]["id"], rows[1]["id"]])
    assert len(stored) == len(list(stored.rows())) == 8
    assert other.refresh()
    assert len(other) == 8


def compare(first: IndexView, second: IndexView, queries: list[str], **options) -> dict[str, float]:
    """How alike the hits and scores of two indexes are."""
    same, differences, times = 0, [], ([], [])
    for query in queries:
        found = [index.find(query, **options) for index in (first, second)]
        hits = [each.hits + each.others for each in found]
        same += [hit["id"] for hit in hits[0][:1]] == [hit["id"] for hit in hits[1][:1]]
        scores = {hit["id"]: hit["score"] for hit in hits[1]}
        differences += [abs(h["score"] - scores[h["id"]]) for h in hits[0][:1] if h["id"] in scores]
        for each, seconds in zip(found, times, strict=True):
            seconds.append(each.seconds["total"])
    return {
        "same_first": same / len(queries),
        "largest_difference": max(differences, default=0.0),
        "within_1e-4": float(np.mean(np.array(differences) <= 1e-4)),
        "p50_ms": 1000 * float(np.median(times[1])),
        "folder_p50_ms": 1000 * float(np.median(times[0])),
    }


def told(num_rows: int, num_queries: int, found: dict[str, float]) -> str:
    """A comparison, for the table of results."""
    return (
        f"{num_rows:,} questions, {num_queries} queries: same first row "
        f"{found['same_first']:.1%}, its score within 1e-4 {found['within_1e-4']:.1%}, p50 "
        f"{found['p50_ms']:.0f} ms, of the folder {found['folder_p50_ms']:.0f} ms"
    )


class Writer:
    """A process that adds batch after batch, and says which of them are committed.

    Args:
        address: The index.
        name: What its ids begin with.
        first: The number of its first batch.
    """

    def __init__(self, address: str, name: str, first: int) -> None:
        self.name, self.committed = name, first - 1
        command = [sys.executable, str(WRITER), address, name, str(first)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def wait_for_one(self) -> None:
        """Wait until it has committed a batch."""
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        self.committed = int(line)

    def kill(self) -> None:
        """As when the machine loses power: nothing is said, nothing is closed."""
        self.process.send_signal(signal.SIGKILL)

    def finish(self) -> str:
        """Wait for its end and return what it said of errors."""
        # Not by `communicate`, which misses what is buffered here already.
        said, errors = self.process.stdout.read(), self.process.stderr.read()
        self.process.wait()
        numbers = [int(line) for line in said.splitlines() if line.strip().isdigit()]
        self.committed = max([self.committed, *numbers])
        return errors
