"""BM25 over segments is BM25 over all rows; Chinese and English are cut as they should be."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.search.storage.index_files import FolderWriter
from softquery.search.storage.word_recall import (
    K1,
    B,
    SearchTokenizer,
    WordIndex,
    idf,
    query_weights,
    write_words,
)
from softquery.text import TextConfig

WORD = st.sampled_from("abcdefgh")
ROWS = st.lists(st.lists(WORD, min_size=3, max_size=3), min_size=1, max_size=9)


def bm25(query, rows):
    """As Robertson & Zaragoza (2009) write it, with Lucene's idf."""
    mean = sum(map(len, rows)) / len(rows)
    scores = []
    for row in rows:
        total = 0.0
        for word in query:
            count = row.count(word)
            with_it = sum(word in other for other in rows)
            saturated = count / (count + K1 * (1 - B + B * len(row) / mean))
            total += idf(len(rows), with_it) * saturated if count else 0.0
        scores.append(total)
    return scores


@settings(max_examples=40, deadline=None)
@given(rows=ROWS, query=st.lists(WORD, max_size=4), cut=st.integers(0, 9))
def test_segments_score_as_one(rows, query, cut, tmp_path_factory):
    parts = [part for part in (rows[:cut], rows[cut:]) if part]
    segments = []
    for part in parts:
        folder = tmp_path_factory.mktemp("words")
        write_words(FolderWriter(folder), part)
        segments.append(WordIndex(folder, len(part)))
    counts = {word: sum(each.num_rows_with(word) for each in segments) for word in query}
    weights = query_weights(query, counts, len(rows))
    scores = np.concatenate([each.scores(weights) for each in segments])
    np.testing.assert_allclose(scores, bm25(query, rows), rtol=1e-5, atol=1e-6)


def test_rows_without_words(tmp_path):
    write_words(FolderWriter(tmp_path), [[], []])
    words = WordIndex(tmp_path, 2)
    assert words.num_rows_with("a") == 0
    assert words.scores({"a": 1.0}).tolist() == [0, 0]


def test_longer_rows_count_less(tmp_path):
    write_words(FolderWriter(tmp_path), [["a"], ["a", "b", "c", "d"]])
    short, long = WordIndex(tmp_path, 2).scores({"a": 1.0}).tolist()
    assert short > long > 0


def test_idf_is_never_negative():
    assert idf(10, 10) > 0
    assert idf(10, 1) == pytest.approx(math.log(1 + 9.5 / 1.5))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Where's MY order no. 12?", ["where", "'s", "my", "order", "no", "12"]),
        ("¿?!…", []),
        ("退款多久到账", [*"退款多久到账", "退款", "款多", "多久", "久到", "到账"]),
        ("用PayPal付款", [*["用", "paypal", "付", "款"], "付款"]),
        ("電腦", ["电", "脑", "电脑"]),
    ],
)
def test_cutting(text, words):
    assert SearchTokenizer(TextConfig(unit="characters", simplify=True)).words(text) == words


def test_words_are_weighed_without_starting_jax(tmp_path):
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("print('JAX was started')")
    (tmp_path / "jax" / "lax.py").write_text("def top_k(*_): pass")
    program = (
        "import sys; from pathlib import Path; "
        "from softquery.search.storage.index_files import FolderWriter; "
        "from softquery.search.storage.word_recall import write_words; "
        "write_words(FolderWriter(Path(sys.argv[1])), [['one', 'word']]); "
        "import jax"
    )
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    ran = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    # Once: by the last line, which shows that it can still be had.
    assert ran.stdout == "JAX was started\n", ran.stderr
