"""The nearest vectors are found, one by one or by the graph, whichever rows are allowed."""

import numpy as np
import pytest

from softquery.measure.word_scores import unit_rows
from softquery.search.storage import vector_recall
from softquery.search.storage.index_files import FolderWriter
from softquery.search.storage.vector_recall import VectorIndex, write_vectors
from softquery.search.storage.vector_scan import MORE, SCANNED_ROWS, SPARE, VectorScan, highest_rows

NUM_ROWS, SIZE = 3000, 16


@pytest.fixture(scope="module")
def matrix():
    draw = np.random.default_rng(2)
    return unit_rows(draw.normal(size=(NUM_ROWS, SIZE)).astype(np.float32))


@pytest.fixture(scope="module")
def graph(matrix, tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    before, vector_recall.EXACT_ROWS = vector_recall.EXACT_ROWS, 100
    write_vectors(FolderWriter(folder), matrix.astype(np.float16), threads=1)
    vector_recall.EXACT_ROWS = before
    return folder


def exact(matrix, query, allowed, count):
    scores = np.where(allowed, matrix.astype(np.float16).astype(np.float32) @ query, -np.inf)
    return np.argsort(-scores, kind="stable")[: min(count, int(allowed.sum()))]


def test_without_a_graph(matrix, tmp_path):
    write_vectors(FolderWriter(tmp_path), matrix.astype(np.float16), threads=1)
    assert not (tmp_path / vector_recall.GRAPH).exists()
    stored = VectorIndex(tmp_path, NUM_ROWS, SIZE, has_graph=False)
    allowed = np.arange(NUM_ROWS) % 3 == 0
    rows, scores = stored.nearest(matrix[7], 10, allowed, num_rows=NUM_ROWS)
    assert rows.tolist() == exact(matrix, matrix[7], allowed, 10).tolist()
    assert (np.diff(scores) <= 0).all()


@pytest.mark.parametrize("share", [2, 25, 500])
def test_with_a_graph(graph, matrix, share, monkeypatch):
    monkeypatch.setattr(vector_recall, "EXACT_ROWS", 100)
    stored = VectorIndex(graph, NUM_ROWS, SIZE, has_graph=True)
    allowed = np.arange(NUM_ROWS) % share == 0
    found = 0
    for query in matrix[:20]:
        rows, scores = stored.nearest(query, 10, allowed, num_rows=SCANNED_ROWS + 1)
        best = exact(matrix, query, allowed, 10)
        assert allowed[rows].all()
        assert (np.diff(scores) <= 1e-6).all()
        assert len(rows) == len(best)
        found += len(set(rows.tolist()) & set(best.tolist())) / len(best)
    assert found >= 19


def test_fewer_than_asked_for(graph, matrix):
    stored = VectorIndex(graph, NUM_ROWS, SIZE, has_graph=True)
    rows, _ = stored.nearest(matrix[0], 10, np.arange(NUM_ROWS) < 3, num_rows=NUM_ROWS)
    assert sorted(rows.tolist()) == [0, 1, 2]
    rows, _ = stored.nearest(matrix[0], 10, np.zeros(NUM_ROWS, dtype=bool), num_rows=NUM_ROWS)
    assert rows.tolist() == []


@pytest.mark.parametrize("share", [1, 2, 25])
def test_all_are_looked_at_in_an_index_of_moderate_size(graph, matrix, share, monkeypatch):
    monkeypatch.setattr(vector_recall, "EXACT_ROWS", 100)
    stored = VectorIndex(graph, NUM_ROWS, SIZE, has_graph=True)
    monkeypatch.setattr(stored, "_by_graph", None)  # which would miss some
    allowed = np.arange(NUM_ROWS) % share == 0
    for query in matrix[:20]:
        rows, _ = stored.nearest(query, 50, allowed, num_rows=SCANNED_ROWS)
        halved = query.astype(np.float16).astype(np.float32)
        assert set(rows.tolist()) == set(exact(matrix, halved, allowed, 50).tolist())


def test_a_scan_keeps_the_nearest_of_crowded_vectors():
    draw = np.random.default_rng(5)
    crowded = draw.normal(size=(6000, 48)) * 0.05 + draw.normal(size=48)
    crowded[17, 3] = 40.0  # far from all others, and beyond what the eight bits cover
    vectors = unit_rows(crowded.astype(np.float32)).astype(np.float16)
    scan, every = VectorScan(vectors), np.ones(len(vectors), dtype=bool)
    for query in vectors[:30].astype(np.float32):
        rows = scan.likeliest(query, 5, every)
        assert MORE * 5 + SPARE <= len(rows) <= MORE * 5 + SPARE + 1
        assert (np.diff(rows) > 0).all()
        assert set(exact(vectors, query, every, 50).tolist()) <= set(rows.tolist())


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_scan_of_equal_vectors(value):
    scan = VectorScan(np.full((300, 4), value, dtype=np.float16))
    rows = scan.likeliest(np.zeros(4, dtype=np.float32), 200, np.arange(300) < 250)
    assert rows.tolist() == list(range(250))


def test_a_row_that_is_far_in_what_is_not_looked_at_is_kept():
    draw = np.random.default_rng(6)
    spread = np.repeat([1.0, 0.01], [64, 64])
    vectors = (draw.normal(size=(4000, 128)) * spread / 8).astype(np.float16)
    vectors[5] = 0
    vectors[5, 100] = 1
    query = np.zeros(128, dtype=np.float32)
    query[100] = 1
    rows = VectorScan(vectors).likeliest(query, 1, np.arange(4000) != 7)
    assert 5 in rows
    assert 7 not in rows


@pytest.mark.parametrize("num_allowed", [3000, 650, 630])
def test_a_scan_keeps_no_row_that_may_not_be_found(num_allowed):
    draw = np.random.default_rng(8)
    vectors = (draw.normal(size=(3000, 64)) / 8).astype(np.float16)
    vectors[:100] *= 20  # far out
    allowed = np.arange(3000) >= 3000 - num_allowed
    rows = VectorScan(vectors).likeliest(vectors[5].astype(np.float32), 3, allowed)
    assert allowed[rows].all()
    assert len(rows) == min(num_allowed, MORE * 3 + SPARE + 100)


@pytest.mark.parametrize("count", [1, 50, 4000, 20_000, 20_003])
def test_the_highest_are_found_by_blocks_as_by_sorting(count):
    draw = np.random.default_rng(7)
    values = draw.permutation(20_003).astype(np.float32)
    values[values < 3000] = -np.inf
    rows = highest_rows(values, count)
    assert (np.diff(rows) > 0).all()
    assert np.sort(values[rows]).tolist() == np.sort(values)[len(values) - count :].tolist()
