"""Files and functions stay small, names say something, and nothing is left half done.

Each test goes through the whole package and names everything that offends.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from repository import PACKAGE, module_name, source_files

LONGEST_FILE = 450
LONGEST_FUNCTION = 70
MOST_ARGUMENTS = 8
"""Of a constructor."""
SHORTEST_PURPOSE = 15
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions() -> Iterator[tuple[Path, Function]]:
    for path in source_files():
        for node in ast.walk(tree(path)):
            if isinstance(node, Function):
                yield path, node


def num_lines(function: Function) -> int:
    """Lines from `def` to the end, the docstring aside."""
    total = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return total
    docstring = function.body[0]
    return total - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)


def test_the_package_was_found():
    assert {"softquery", "softquery.models.esim"} <= set(map(module_name, source_files()))


def test_files_are_short():
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in source_files()}
    assert {module_name(path): n for path, n in sizes.items() if n > LONGEST_FILE} == {}


def test_names_say_something():
    parts = {path: set(path.relative_to(PACKAGE).with_suffix("").parts) for path in source_files()}
    assert [module_name(path) for path, names in parts.items() if names & SAYS_NOTHING] == []


def test_nothing_is_left_unfinished():
    found = {path: UNFINISHED.findall(path.read_text(encoding="utf-8")) for path in source_files()}
    assert {module_name(path): marks for path, marks in found.items() if marks} == {}


def test_functions_are_short():
    long = {f"{module_name(path)}.{each.name}": num_lines(each) for path, each in functions()}
    assert {name: n for name, n in long.items() if n > LONGEST_FUNCTION} == {}


def test_constructors_take_few_arguments():
    counts = {
        f"{module_name(path)}:{each.lineno}": len(each.args.args + each.args.kwonlyargs) - 1
        for path, each in functions()
        if each.name == "__init__"
    }
    assert {place: n for place, n in counts.items() if n > MOST_ARGUMENTS} == {}


def test_modules_say_what_they_are_for():
    told = {path: (ast.get_docstring(tree(path)) or "").splitlines() for path in source_files()}
    silent = [
        path for path, lines in told.items() if not lines or len(lines[0]) <= SHORTEST_PURPOSE
    ]
    assert [module_name(path) for path in silent] == []


def test_shapes_are_evaluated():
    """Shape annotations are checked in the tests, which needs them as objects, not as strings."""
    texts = {path: path.read_text(encoding="utf-8") for path in source_files()}
    late = "from __future__ import annotations"
    assert [
        module_name(p) for p, text in texts.items() if "jaxtyping" in text and late in text
    ] == []


def test_length_counts_the_body_and_not_the_docstring():
    source = 'def f():\n    """One.\n\n    Two.\n    """\n    a = 1\n    return a\n'
    (function,) = ast.parse(source).body
    assert num_lines(function) == 3
