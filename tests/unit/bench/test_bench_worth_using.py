"""Word vectors that are worth using: what the page shows, and how parallel two differences are."""

from importlib import import_module
from pathlib import Path

import numpy as np

from softquery.files import VectorTable
from softquery.runtime import WordVectors
from softquery.text import TextConfig

SCRIPT = "word2vec.worth_using_page"
ROOT = Path(__file__).resolve().parents[3]


def test_the_page_shows_what_was_measured(script):
    rows, page = script.read(), (script.HERE / "README.md").read_text("utf-8")
    tables = [
        script.analogies(rows, file, part)
        for file in script.files(rows, "rows")
        for part in ("rows", "by_rank")
    ]
    tables += [script.graded(rows, file) for file in script.files(rows, "spearman")]
    tables.append(script.parallels(rows))
    assert len(tables) >= 9
    assert [table for table in tables if table not in page] == []
    guide = (ROOT / "docs/word2vec.md").read_text("utf-8")
    for file in script.files(rows, "rows"):
        assert f"{script.cell(rows_of(rows, file)['all'], interval=False)} %" in guide


def rows_of(rows, file):
    row = next(row for row in rows if file in row)
    return {each["name"]: each for each in row[file]["rows"]}


def test_equal_differences_are_parallel(script):
    asking = import_module(script.__name__.removesuffix("_page"))
    words = ["king", "queen", "man", "woman", "up", "down"]
    matrix = np.array([[3, 4, 0], [4, 3, 0], [0.6, 0.8, 0], [0.8, 0.6, 0], [0, 0, 1], [0, 0, -1]])
    vectors = WordVectors(VectorTable(words, matrix.astype(np.float32)), text=TextConfig())
    found = asking.offsets(vectors, ["king queen man woman", "king queen up down"])["offsets"]
    assert [row["cosine"] for row in found] == [1.0, 0.0]
    assert 0 < found[0]["chance"] <= 1
