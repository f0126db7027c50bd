"""Every tutorial has its notebook, as the script writes it."""

import json
import runpy

import pytest
from repository import ROOT

FOLDER = ROOT / "docs" / "tutorials"
SCRIPT = runpy.run_path(str(FOLDER / "write_notebooks.py"))
PAGES = SCRIPT["pages"]()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_notebook_is_as_the_script_writes_it(page):
    written = SCRIPT["written"](page.stem, page.read_text(encoding="utf-8"))
    told = "python docs/tutorials/write_notebooks.py"
    assert page.with_suffix(".ipynb").read_text(encoding="utf-8") == written, told


def test_no_notebook_is_without_its_page():
    stems = {path.stem for path in FOLDER.glob("*.ipynb")}
    assert stems == {page.stem for page in PAGES}


def test_blocks_become_cells():
    page = (
        "<!-- run by: x -->\n# A\n\n```sh\npip install x\n```\n\n"
        '```csv title="a.csv"\nx\n```\n\n'
        "```sh\n$ softquery a \\\n    b\nout\n$ softquery c\n```\n\n"
        "```python\n>>> x = 1\n>>> x\n1\n>>> def f():\n...     return 2\n```\n\nend\n"
    )
    cells = SCRIPT["notebook"]("page", page)["cells"]
    found = [("".join(cell["source"]), cell.get("outputs")) for cell in cells]
    assert found == [
        ("# A\n\n```sh\npip install x\n```", None),
        ("%%writefile a.csv\nx", []),
        ("!softquery a b", [{"name": "stdout", "output_type": "stream", "text": ["out\n"]}]),
        ("!softquery c", []),
        ("x = 1\nx", [{"name": "stdout", "output_type": "stream", "text": ["1\n"]}]),
        ("def f():\n    return 2", []),
        ("end", None),
    ]
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_what_raises_is_marked():
    [cell] = SCRIPT["notebook"]("page", "```python\n>>> 1 / 0\nTraceback (most recent call last):\n"
                                "ZeroDivisionError: division by zero\n```\n")["cells"]  # fmt: skip
    assert cell["metadata"] == {"tags": ["raises-exception"]}
    assert json.dumps(cell)
