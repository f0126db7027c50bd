"""A small matcher and what it indexes, each made once."""

import os
from importlib.util import find_spec

import pytest

collect_ignore_glob = (
    [] if all(map(find_spec, ("torch", "onnx", "usearch", "bm25s"))) else ["test_search_*.py"]
)


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    """Only a loss of power would show whether writes had reached the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """An exported ESIM of random weights with two classes."""
    from small_bundles import exported, make_bundle

    plain = make_bundle(tmp_path_factory.mktemp("plain") / "model", size=8, outputs=2)
    return exported(plain, tmp_path_factory.mktemp("search") / "model").bundle


@pytest.fixture(scope="session")
def siamese(tmp_path_factory):
    """An exported Siamese matcher."""
    from small_bundles import exported, make_bundle

    plain = make_bundle(tmp_path_factory.mktemp("plain") / "siamese", "siamese", size=9, outputs=2)
    return exported(plain, tmp_path_factory.mktemp("search") / "siamese").bundle


@pytest.fixture
def rows():
    """Some rows; words that no other row has make each one findable."""
    return [
        {
            "id": f"r{number}",
            "question": f"w{number} w{number + 40} w{number + 80}",
            "answer": f"answer {number}",
            "kind": "even" if number % 2 == 0 else "odd",
        }
        for number in range(12)
    ]


@pytest.fixture
def index(rows, model, tmp_path):
    from softquery.search import Index, IndexSettings

    settings = IndexSettings(min_score=0.0)
    return Index.build(rows, tmp_path / "faq.sq", model=model, settings=settings, threads=1)
