"""Files and functions stay small, names say something, and nothing is left half done."""

import ast
import re
from pathlib import Path

import pytest
from repository import PACKAGE, module_name, source_files

LONGEST_FILE = 450
LONGEST_FUNCTION = 70
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def num_lines(function: Function) -> int:
    """Lines from `def` to the end, the docstring aside."""
    total = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return total
    docstring = function.body[0]
    return total - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)


def test_the_package_was_found():
    assert len(source_files()) > 50


@pytest.mark.parametrize("path", source_files(), ids=module_name)
def test_file(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_FILE
    assert not SAYS_NOTHING & set(path.relative_to(PACKAGE).with_suffix("").parts)
    assert UNFINISHED.findall(text) == []


@pytest.mark.parametrize("path", source_files(), ids=module_name)
def test_functions_are_short(path):
    functions = [node for node in ast.walk(tree(path)) if isinstance(node, Function)]
    long = {each.name: num_lines(each) for each in functions if num_lines(each) > LONGEST_FUNCTION}
    assert long == {}


@pytest.mark.parametrize("path", source_files(), ids=module_name)
def test_module_says_what_it_is_for(path):
    docstring = ast.get_docstring(tree(path))
    assert docstring is not None
    assert len(docstring.splitlines()[0]) > 15


@pytest.mark.parametrize("path", source_files(), ids=module_name)
def test_shapes_are_evaluated(path):
    """Shape annotations are checked in the tests, which needs them as objects, not as strings."""
    text = path.read_text(encoding="utf-8")
    assert "jaxtyping" not in text or "from __future__ import annotations" not in text


def test_length_counts_the_body_and_not_the_docstring():
    source = 'def f():\n    """One.\n\n    Two.\n    """\n    a = 1\n    return a\n'
    (function,) = ast.parse(source).body
    assert num_lines(function) == 3
