"""What the integrations are tried with: a shop's questions, and the examples of their page."""

import csv
import shutil
from importlib.util import find_spec

import pytest
from page_examples import run_section

SAMPLE = 40
"""Rows of the sample FAQ."""


@pytest.fixture(scope="session")
def faq(tmp_path_factory):
    """The folder of an index of the first rows of the sample FAQ."""
    if not (find_spec("usearch") and find_spec("bm25s")):
        pytest.skip('needs "softquery[search]"')
    from softquery.demo.samples import write_samples
    from softquery.search import Index

    samples, *_ = write_samples(tmp_path_factory.mktemp("samples"))
    with samples.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))[:SAMPLE]
    folder = tmp_path_factory.mktemp("index") / "faq.sq"
    Index.build(rows, folder, threads=1)
    return folder


@pytest.fixture
def run_examples(faq, tmp_path, monkeypatch):
    """Runs the examples below a heading of the page, beside the index that they open."""
    shutil.copytree(faq, tmp_path / "faq.sq")
    monkeypatch.chdir(tmp_path)
    return run_section
