"""The same questions in a folder and in a database: are hits and scores the same, and how fast?

    python benchmarks search stores DATA STORE [--rows 100000] [--index FOLDER] [--output FILE.json]

The questions are those of the sets `qqp_*` below DATA, of which the first are stored and the last
are asked (`--queries`, 300). They are indexed once, in a folder, and copied to STORE as they are
stored. Where folder and store hold an index already, they are compared as they are. Times are
medians of the same queries in one run, one after the other, and given as a ratio.
"""

import argparse
import json
import os
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softquery.errors import InputError
from softquery.files import read_rows
from softquery.search import Index, IndexView, SearchResult, is_index, migrate, open_index

SUBSETS = (("words", "vectors", "rerank"), ("words",), ("vectors",))
LONGEST = 300


def questions(data: Path) -> list[str]:
    """Different questions, always in the same order."""
    found: dict[str, str] = {}
    for path in sorted((data / "pairs").glob("qqp*/*.tsv.xz")):
        for row in read_rows(path, columns=("sentence1", "sentence2")):
            for text in (row.values["sentence1"].strip(), row.values["sentence2"].strip()):
                if 0 < len(text) < LONGEST:
                    found.setdefault(text.lower(), text)
    texts = list(found.values())
    random.Random(1).shuffle(texts)
    return texts


def shown(result: SearchResult) -> dict[str, float]:
    """Scores of the first five rows by their ids, whether they are good enough or not."""
    return {hit["id"]: hit["score"] for hit in result.hits + result.others}


def compare(
    folder: IndexView, store: IndexView, queries: Sequence[str], stages: tuple[str, ...]
) -> dict[str, Any]:
    """How alike hits and scores are, by some stages."""
    first, every, differences, times = [], [], [], []
    for query in queries:
        results = [index.find(query, stages=stages) for index in (folder, store)]
        one, other = map(shown, results)
        first.append(list(one)[:1] == list(other)[:1])
        every.append(list(one) == list(other))
        differences += [abs(one[key] - other[key]) for key in list(one)[:1] if key in other]
        times.append([result.seconds["total"] for result in results])
    ours, theirs = np.median(times, axis=0)
    return {
        "stages": list(stages),
        "queries": len(queries),
        "same_first": float(np.mean(first)),
        "same_five": float(np.mean(every)),
        "first_score_within_1e-4": float(np.mean(np.array(differences) <= 1e-4)),
        "largest_difference": float(max(differences, default=0.0)),
        "p50_ms": float(1000 * theirs),
        "folder_p50_ms": float(1000 * ours),
        "p50_to_folder": float(theirs / ours),
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("store")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    texts = questions(given.data)
    with tempfile.TemporaryDirectory() as scratch:
        place = given.index or Path(scratch) / "folder.sq"
        if not is_index(place):
            stored = enumerate(texts[: given.rows])
            rows = [{"id": f"{number:06d}", "question": text} for number, text in stored]
            Index.build(rows, place, model="match-en", threads=1)
        folder = Index.open(place, threads=1)
        try:
            store = open_index(given.store, threads=1)
        except InputError:
            store = migrate(folder, given.store)
        queries = texts[-given.queries :]
        for index in (folder, store):  # what is made at the first search is no part of the others
            index.find(queries[0])
        found = [compare(folder, store, queries, stages) for stages in SUBSETS]
    for row in found:
        print(json.dumps(row))
    if given.output is not None:
        report = {"store": given.store.partition("://")[0], "rows": len(folder), "compared": found}
        given.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
