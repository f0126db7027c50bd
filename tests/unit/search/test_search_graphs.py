"""Forged graphs of vectors are refused when they are opened; none of them crashes the process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from softquery.search.storage import vector_recall
from softquery.search.storage.index_files import FolderWriter
from softquery.search.storage.vector_graph import GraphShape, check_graph

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")

SCRIPT = Path(__file__).with_name("forged_graphs.py")
MANY = pytest.param(600, marks=[pytest.mark.endurance, pytest.mark.timeout(0)])


@pytest.mark.parametrize("count", [60, MANY])
def test_no_forged_graph_crashes(count, tmp_path):
    command = [sys.executable, str(SCRIPT), str(tmp_path), "1", str(count)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    first, *forged = [json.loads(line) for line in result.stdout.splitlines()]
    assert first == {"kind": "sound", "became": "searched"}
    assert len(forged) == count
    assert [each for each in forged if each["became"] not in ("refused", "searched")] == []
    # Bytes that were changed at random may be a vector, or a place that nobody uses.
    unnoticed = {each["kind"] for each in forged if each["became"] == "searched"}
    assert unnoticed <= {"unchanged", "all_ones", "some_bytes"}


@pytest.mark.parametrize("num_rows", [101, 2500, 20_000])
@pytest.mark.parametrize("threads", [1, 2])
def test_what_usearch_writes_is_sound(num_rows, threads, tmp_path, monkeypatch):
    monkeypatch.setattr(vector_recall, "EXACT_ROWS", 100)
    vectors = np.random.default_rng(num_rows).normal(size=(num_rows, 4)).astype(np.float16)
    vector_recall.write_vectors(FolderWriter(tmp_path), vectors, threads=threads)
    content = np.fromfile(tmp_path / vector_recall.GRAPH, dtype=np.uint8)
    shape = GraphShape(num_rows=num_rows, vector_bytes=8, connectivity=vector_recall.CONNECTIVITY)
    check_graph(content, shape)
    with pytest.raises(ValueError, match="too short"):
        check_graph(content[:1000], shape)
    with pytest.raises(ValueError, match="its length differs"):
        check_graph(content[:-1], shape)
