"""The glossary and the pages name what exists: verbs, classes, modules and files."""

import ast
import importlib
import re
from typing import Any

import pytest
from repository import ROOT
from typer.main import get_group

import softquery
from softquery.cli import app
from softquery.errors import MissingExtra

DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "softquery"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
CODE = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(r"\bsoftquery(?:\.[A-Za-z_]\w*)+\b(?!/)")
FILE = re.compile(
    r"(?<![\w./-])(?:(?:[\w-]+/)+[a-z]\w*\.py|(?:benchmarks|docs|shipped)/[\w/-]+\.md)\b"
)
FOLDERS = (ROOT, ROOT / "src", SOURCE, DOCS)
"""Where a path on a page may begin."""
NOT_OURS = {"softquery.service", "softquery.md"}
"""A unit of systemd, and a page."""


def section(title: str) -> str:
    page = (DOCS / "glossary.md").read_text(encoding="utf-8")
    found = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    assert found, f"the glossary has no section {title!r}"
    return found


def tables(text: str) -> list[list[list[str]]]:
    """The rows of each table, without the head."""
    blocks = re.findall(r"(?:^\|.*\n)+", text + "\n", re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|").split(" | ")] for line in block.splitlines()[2:]]
        for block in blocks
    ]


def codes(text: str) -> list[str]:
    return CODE.findall(text)


(BUILT,) = tables(section("Tasks"))


def verbs() -> set[str]:
    return set(get_group(app).commands)


def classes() -> set[str]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")]
    return {
        node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    }


def resolve(name: str) -> Any:
    """A module, or what it holds; raises `ImportError` for what is not there."""
    found: Any = importlib.import_module("softquery")
    path = "softquery"
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(path)
    return found


def wrong_names(text: str) -> list[str]:
    wrong = []
    for name in sorted(set(DOTTED.findall(text)) - NOT_OURS):
        try:
            resolve(name)
        except MissingExtra:  # other people's package is not installed, but our file is there
            continue
        except ImportError:
            wrong.append(name)
    return wrong


def wrong_files(text: str) -> list[str]:
    found = sorted(set(FILE.findall(re.sub(r"https?://\S+", "", text))))
    return [path for path in found if not any((folder / path).exists() for folder in FOLDERS)]


def test_every_verb_is_in_the_glossary_and_no_other():
    tasks = [name for row in BUILT for name in codes(row[2])]
    (rows,) = tables(section("Other verbs"))
    others = [name for row in rows for name in codes(row[0])]
    # One verb may serve two tasks: what `embed` gives depends on the model.
    assert sorted([*set(tasks), *others]) == sorted(verbs())


@pytest.mark.parametrize("row", BUILT, ids=lambda row: row[4])
def test_a_task_has_its_class_and_its_folder(row):
    for name in codes(row[3]):
        assert isinstance(getattr(softquery, name), type)
    assert (SOURCE / "runtime" / row[4] / "__init__.py").exists()


def test_public_classes_are_those_of_the_tasks_and_the_index():
    named = {name for row in BUILT for name in codes(row[3])}
    public = {name for name in softquery.__all__ if isinstance(getattr(softquery, name), type)}
    assert named | {"Index"} == public


def test_classes_in_the_glossary_exist():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    text = text.replace(section("Former names"), "")
    named = {code for code in codes(text) if re.fullmatch(r"[A-Z][a-z]+\w*", code)}
    assert named - classes() == set()


@pytest.mark.parametrize("row", tables(section("Former names"))[0], ids=lambda row: row[0])
def test_former_names_warn(row):
    [former], [now] = codes(row[0]), codes(row[1])
    with pytest.warns(DeprecationWarning, match=now):
        found = getattr(softquery, former)
    assert found is getattr(softquery, now)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_name_what_exists(page):
    text = page.read_text(encoding="utf-8")
    assert wrong_names(text) == []
    assert wrong_files(text) == []


def test_what_does_not_exist_is_noticed():
    assert wrong_names("`softquery.nn.LayerMix`, `softquery.nn.Nothing`, softquery.none.x") == [
        "softquery.nn.Nothing",
        "softquery.none.x",
    ]
    assert wrong_files("`models/esim.py`, `docs/index.md`, `models/none.py`") == ["models/none.py"]
