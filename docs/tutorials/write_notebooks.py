"""Make a notebook of every tutorial: python docs/tutorials/write_notebooks.py.

The page is the source. Its text becomes cells of text, a `python` block becomes cells of code that
end where something is printed, a session of `$ softquery …` becomes a cell per command, and a block
with a title becomes a file. What the page shows as output is the cell's output.
"""

import doctest
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
FENCE = re.compile(
    r"^```(?P<language>[\w+-]*) *(?P<options>[^\n]*)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
TITLE = re.compile(r'title="(?P<title>[^"]+)"')
TOLD = re.compile(r"^<!-- .*? -->\n+", re.DOTALL | re.MULTILINE)
SETTINGS = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell, and what it prints."""

    kind: str
    source: str
    printed: str = ""


def cells(page: str) -> Iterator[Cell]:
    """The cells of a page, in order."""
    page = TOLD.sub("", page)
    end = 0
    for fence in FENCE.finditer(page):
        found = list(cells_of(fence["language"], fence["options"], fence["code"]))
        if found:
            yield from text(page[end : fence.start()])
            yield from found
            end = fence.end()
    yield from text(page[end:])


def text(part: str) -> Iterator[Cell]:
    """A cell of text, unless there is none."""
    if part.strip():
        yield Cell(kind="markdown", source=part.strip())


def cells_of(language: str, options: str, code: str) -> Iterator[Cell]:
    """The cells of a block; none where it only shows what to type."""
    title = TITLE.search(options)
    if title:
        yield Cell(kind="code", source=f"%%writefile {title['title']}\n{code.rstrip()}")
    elif language == "python" and ">>> " in code:
        yield from python_cells(code)
    elif language == "sh" and code.startswith("$ "):
        yield from shell_cells(code)


def python_cells(code: str) -> Iterator[Cell]:
    """Statements up to one that prints something; what it prints."""
    lines: list[str] = []
    for example in doctest.DocTestParser().get_examples(code):
        lines.append(example.source.rstrip("\n"))
        if example.want:
            yield Cell(kind="code", source="\n".join(lines), printed=example.want)
            lines = []
    if lines:
        yield Cell(kind="code", source="\n".join(lines))


def shell_cells(code: str) -> Iterator[Cell]:
    """A cell per command, with its output."""
    for command in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        typed, _, printed = re.sub(r" *\\\n *", " ", command).partition("\n")
        yield Cell(kind="code", source=f"!{typed}", printed=printed)


def notebook(name: str, page: str) -> dict[str, Any]:
    """The notebook of a page, by its name without an ending."""
    made = [as_json(f"{name}-{number}", cell) for number, cell in enumerate(cells(page))]
    return {"cells": made, "metadata": SETTINGS, "nbformat": 4, "nbformat_minor": 5}


def as_json(identity: str, cell: Cell) -> dict[str, Any]:
    """A cell as nbformat 4.5 has it."""
    found = {"cell_type": cell.kind, "id": identity, "metadata": {}, "source": lines(cell.source)}
    if cell.kind == "code":
        shown = {"name": "stdout", "output_type": "stream", "text": lines(cell.printed)}
        found |= {"execution_count": None, "outputs": [shown] if cell.printed.strip() else []}
        if cell.printed.startswith("Traceback"):
            found["metadata"] = {"tags": ["raises-exception"]}
    return found


def lines(text: str) -> list[str]:
    """Text as notebooks keep it."""
    return text.splitlines(keepends=True)


def written(name: str, page: str) -> str:
    """The file of a notebook."""
    return json.dumps(notebook(name, page), indent=1, ensure_ascii=False) + "\n"


def pages() -> list[Path]:
    """Every tutorial."""
    return sorted(FOLDER.glob("*.md"))


def main() -> None:
    """Write all notebooks."""
    for page in pages():
        made = written(page.stem, page.read_text(encoding="utf-8"))
        page.with_suffix(".ipynb").write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
