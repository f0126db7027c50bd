"""The pages that compare search with others' say what the benchmark's tables say."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARK = (ROOT / "benchmarks" / "search" / "README.md").read_text(encoding="utf-8")
PAGES = {
    "docs/alternatives.md": {"our default": "ours", "MiniLM's cosine": "MiniLM", "BM25": "BM25"},
    "docs/zh/alternatives.md": {
        "我们的默认设置": "ours",
        "MiniLM 的余弦": "MiniLM",
        "BM25": "BM25",
    },
}


def row(text, name):
    """The cells of the first row of that name that begins with a share."""
    found = re.search(rf"^\| {re.escape(name)} \|( [01]\..*)\|$", text, re.MULTILINE)
    assert found is not None, name
    return [cell.strip() for cell in found.group(1).split("|")]


def measured(name):
    """First answers, coverage at 0.90 and 0.92, and with 15 % out of scope, in English."""
    tables = BENCHMARK.split("English, 10 sets, unweighted means:")[1].split("\n\n")
    right = row(tables[1], name)[0]
    coverage = [cell.split(" ")[0] for cell in row(tables[2], name)]
    return [right, coverage[1], coverage[2], coverage[5]]


@pytest.mark.parametrize("page", PAGES)
def test_figures_are_the_benchmarks(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, theirs in PAGES[page].items():
        assert row(text, name)[:4] == measured(theirs), (page, name)
