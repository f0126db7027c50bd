"""Every tutorial's notebook runs in Jupyter, and prints what its page shows."""

import doctest
import os
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("nbclient", reason="notebooks are run by `make integrations ONLY=notebooks`")
pytest.importorskip("ipykernel", reason="notebooks are run by `make integrations ONLY=notebooks`")
pytest.importorskip("softquery_models", reason='needs "softquery-models"')
pytest.importorskip("lightning_fabric", reason='needs "softquery[train]"')

import nbformat
from integration_table import ROOT
from nbclient import NotebookClient

NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SECONDS = 900
"""For a cell: what trains takes a minute where nothing else runs."""


REDRAWN = re.compile(r"\r|\x1b\[2K|\x1b\[1A")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
BAR = re.compile(r"^[\u2800-\u28ff] |^[\w ]+ +[━╸╺]| left +[\d:…-]+$")


def settled(text):
    """What is left on the screen of a terminal when a command has ended: no colours, no bars."""
    rows = [REDRAWN.split(row.rstrip("\r"))[-1] for row in text.split("\n")]
    plain = [ESCAPES.sub("", row) for row in rows]
    return "\n".join(row for row in plain if not BAR.search(row))


def printed(outputs):
    """What a cell printed and what it ended with, as text."""
    parts = []
    for output in outputs:
        if output["output_type"] == "stream":
            parts.append(output["text"])
        elif output["output_type"] == "execute_result":
            parts.append(output["data"]["text/plain"] + "\n")
    return settled("".join(parts))


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch, tmp_path):
    """As wide as the pages, in one colour, with this environment's softquery."""
    folder = Path(sys.executable).parent
    for name, value in {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1",
        "SOFTQUERY_HOME": str(tmp_path / "home"),
        "IPYTHONDIR": str(tmp_path / "ipython"),
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, tmp_path):
    written = nbformat.read(path, as_version=4)
    nbformat.validate(written)
    work = tmp_path / "work"
    work.mkdir()
    run = nbformat.from_dict(written)
    settings = {"metadata": {"path": str(work)}}
    NotebookClient(run, timeout=SECONDS, kernel_name="python3", resources=settings).execute()
    checker = doctest.OutputChecker()
    for wanted, cell in zip(nbformat.read(path, as_version=4).cells, run.cells, strict=True):
        if wanted.cell_type != "code" or "raises-exception" in wanted.metadata.get("tags", []):
            continue
        shown = printed(wanted.outputs)
        found = printed(cell.outputs)
        fits = not shown or checker.check_output(shown, found, OPTIONS)
        assert fits, f"{cell.source}\nshown:\n{shown}\nprinted:\n{found}"


SHOWN = {
    "import softquery as sq\nm = sq.load('nli-en')\nm.explain('A man eats.', 'He eats.')": "img",
    "sq.load('sentiment-en').explain('It is not bad.')": "img",
    "sq.load('translate-de-en').explain('Ein Hund.')": "img",
    "pairs = [('A man eats.', f'Someone eats {n}.') for n in range(300)]\n"
    "found = m.predict(pairs, progress=True)": 'progress value="300" max="300"',
    "found = sq.load('embed-en').encode(['a'] * 300, progress=True)": 'progress value="300"',
}  # fmt: skip


@pytest.mark.timeout(600)
def test_pictures_and_progress_are_shown_in_a_kernel(tmp_path):
    """Each cell has one output with a page; progress is updated in place."""
    cells = [nbformat.v4.new_code_cell(source) for source in SHOWN]
    run = nbformat.v4.new_notebook(cells=cells)
    settings = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(run, timeout=SECONDS, kernel_name="python3", resources=settings).execute()
    for cell, wanted in zip(run.cells, SHOWN.values(), strict=True):
        (output,) = [each for each in cell.outputs if "data" in each]
        assert f"<{wanted}" in output["data"]["text/html"], cell.source
        assert output["data"]["text/plain"]
