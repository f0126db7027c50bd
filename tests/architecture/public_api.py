"""Every public name of `softquery` with its signature; `python tests/architecture/public_api.py`
writes them to `public_api.txt`, where a change of the API is seen in review.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import softquery

GOLDEN = Path(__file__).with_name("public_api.txt")
_SPECIAL = ("__init__", "__len__", "__contains__", "_repr_html_")


def signature(function: Any) -> str:
    """A signature as it is written, so that no version of Python or numpy changes it."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    returned = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    awaited = " (awaited)" if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"({ast.unparse(node.args)}){returned}{awaited}"


def members(kind: type) -> Iterator[str]:
    """The public members of a class and of what it inherits from us, in the order of names."""
    for name in sorted(dir(kind)):
        if name.startswith("_") and name not in _SPECIAL:
            continue
        member = inspect.getattr_static(kind, name)
        if isinstance(member, (classmethod, staticmethod)):
            yield f"{type(member).__name__} {name}{signature(member.__func__)}"
        elif inspect.isfunction(member):
            yield f"{name}{signature(member)}"
        elif not name.startswith("_"):
            yield f"property {name}"


def public_api() -> str:
    """All of it, a name per line."""
    lines = []
    for name in sorted(softquery.__all__):
        found = getattr(softquery, name)
        if isinstance(found, type):
            lines += [f"class {name}", *(f"    {member}" for member in members(found))]
        elif callable(found):
            lines.append(f"{name}{signature(found)}")
        else:
            lines.append(name)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    GOLDEN.write_text(public_api(), encoding="utf-8")
    print(f"written: {GOLDEN.name}")
