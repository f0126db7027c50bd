"""Every link inside the repository leads to a file, and to a heading where it names one."""

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
from repository import ROOT

FOLDERS = ("docs", "benchmarks", "shipped", "packages", "examples", "deploy", "src")
PAGES = sorted(
    page
    for folder in (ROOT, *(ROOT / name for name in FOLDERS))
    for pattern in ("*.md", "*.ipynb")
    for page in (folder.glob(pattern) if folder == ROOT else folder.rglob(pattern))
)
CODE = re.compile(r"^( *)```.*?^\1```|(`+)(?!`).+?\2", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(<?(?P<target>[^)>\s]+)>?(?:\s+\"[^\"]*\")?\)")
SOURCE = re.compile(r"<(?:img|a)\b[^>]*?(?:src|href)=\"(?P<target>[^\"]+)\"")
ELSEWHERE = ("https://", "http://", "mailto:")


def prose(page: Path) -> str:
    """A page, or the Markdown cells of a notebook, without code."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if is_prose(cell))
    return CODE.sub("", text)


def is_prose(cell: dict[str, object]) -> bool:
    return cell["cell_type"] == "markdown"


def targets(text: str) -> list[str]:
    found = [each["target"] for pattern in (LINK, SOURCE) for each in pattern.finditer(text)]
    return [target for target in found if not target.startswith(ELSEWHERE)]


@cache
def headings(page: Path) -> frozenset[str]:
    """Anchors as GitHub and the site make them of headings, and of objects of the API."""
    fenced = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
    text = fenced.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", unlinked(title).lower()).strip() for title in titles)
    named = re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    return frozenset((*(re.sub(r"[-\s]+", "-", title) for title in plain), *named))


def unlinked(title: str) -> str:
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", title)


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    return [target for target in targets(prose(page)) if not leads_somewhere(page, target)]


def leads_somewhere(page: Path, target: str) -> bool:
    path, _, anchor = unquote(target).partition("#")
    file = (page.parent / path) if path else page
    if not file.exists():
        return False
    return not anchor or file.suffix != ".md" or anchor in headings(file.resolve())


def test_all_links_lead_somewhere():
    wrong = [f"{page.relative_to(ROOT)}: {link}" for page in PAGES for link in broken(page)]
    assert wrong == []


def test_pages_are_found():
    names = {page.relative_to(ROOT).as_posix() for page in PAGES}
    assert {"README.md", "CHANGELOG.md", "docs/index.md", "benchmarks/README.md"} <= names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](none.md)", ["none.md"]),
        ("[a](page.md#no)", ["page.md#no"]),
        ("[a](#no) and [b](#a-b-c)", ["#no"]),
        ('![a](none.svg "a title")', ["none.svg"]),
        ('<img src="none.png" width="4">', ["none.png"]),
        ("`[a](none.md)`\n\n```\n[a](none.md)\n```\n", []),
        ("[a](https://example.com/none.md#no)", []),
    ],
)
def test_a_broken_link_is_noticed(text, expected, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# A `b`: c\n\n{text}\n", encoding="utf-8")
    assert broken(page) == expected


def test_a_broken_link_of_a_notebook_is_noticed(tmp_path):
    notebook = tmp_path / "page.ipynb"
    cells = [
        {"cell_type": "markdown", "source": ["[a](none.md)"]},
        {"cell_type": "code", "source": ["x = y[a](b)"]},
    ]
    notebook.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert broken(notebook) == ["none.md"]
