"""The texts of the package that people read: messages by its syntax trees, help by its parser.

A message is what an error, a note or a heading says. Where it is an f-string, what is filled in
becomes a name in braces: `f"expected {count} columns"` is the text `expected {count} columns`. A
choice inside of it gives a text for each branch, and a variable of the same function, or a function
of the same file, gives texts of its own, because what it says is filled in later.
"""

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import product
from pathlib import Path

from softquery.language.text_catalogue import HOLE, is_open

ERRORS = {
    "SoftqueryError", "InputError", "StoreError", "ConfigError", "BundleError", "MissingExtra",
    "ValueError", "TypeError", "TagError", "BrokenMessageError",
}  # fmt: skip
SAYING = {"note", "say", "localised", "filled_in", "warn", "_leave", "_named"}
"""Functions whose first argument people read."""
SAYING_AT = {"refuse": 1, "error": 0, "damaged": 1, "printable": 0, "Misfit": 1}
"""Likewise, with the place of that argument."""
COLLECTED = ("notes.", "warnings.", "problems.")
"""Lists of lines that are said later."""
HEADINGS = {"print_table"}
ALONE = {*HEADINGS, "localised", "filled_in", "_named", "note", "_leave"}
"""What these are given is shown by itself, be it a single word."""
TEXT_ARGUMENTS = {
    "needed_for", "told", "noun", "printed", "found", "remedy", "says", "verdict", "problem",
    "expected", "note", "wanted", "hint", "reason", "what", "summary", "otherwise",
}  # fmt: skip
"""Names of arguments that are, or become part of, a message."""
TEXT_FUNCTIONS = {
    "require_input": (2,), "check_given": (2, 3), "check_picture": (), "require_choice": (),
    "Stop": (0,),
}  # fmt: skip
"""Functions of which some arguments by place become part of a message."""
FOR_PROGRAMMERS = (
    "attention", "nn", "models", "data", "tasks", "integrations", "serve", "bench", "decoding",
    "training/word2vec", "interop/protobuf", "measure", "explain",
)  # fmt: skip
"""Where `ValueError` and `TypeError` tell a caller in Python what is wrong, never a user."""
TABLES = {
    "bundle/card.py": ("SOURCE_COLUMNS",),
    "cli/terminal/localised_help.py": ("HELP_WORDS", "USAGE"),
    "cli/tune.py": ("FIGURES",),
    "demo/samples/__init__.py": ("SAMPLES",),
    "explain/layout.py": ("NOTE", "TITLE", "WHY"),
    "files/text_lines.py": ("_FOREIGN",),
}
"""Constants that hold what is shown; of a dictionary, its values."""
KEYED = {"cli/index.py": ("_report",)}
"""Functions that return a report whose names are shown."""
MOST_VARIANTS = 16
NAME = re.compile(r"[a-z_][a-z_0-9]*")
WORD = re.compile(r"[A-Za-z]{2}")


class Source:
    """A file of the package, and the texts in it.

    Args:
        path: The file.
        package: The folder of the package.
    """

    def __init__(self, path: Path, package: Path) -> None:
        self.name = path.relative_to(package).as_posix()
        self._tree = ast.parse(path.read_text(encoding="utf-8"))
        self._is_for_programmers = self.name.startswith(FOR_PROGRAMMERS)

    @cached_property
    def _functions(self) -> dict[str, ast.FunctionDef]:
        return {n.name: n for n in ast.walk(self._tree) if isinstance(n, ast.FunctionDef)}

    @cached_property
    def _constants(self) -> dict[str, list[ast.expr]]:
        return {name: [value] for node in self._tree.body for name, value in _targets(node)}

    def texts(self) -> Iterator[str]:
        """Every text, as often as it occurs."""
        yield from self._inside(self._tree, self._constants)
        for statement in self._tree.body:
            for name, value in _targets(statement):
                if name in TABLES.get(self.name, ()):
                    for part in value.values if isinstance(value, ast.Dict) else [value]:
                        yield from Reader({}, {}).read(part)
        for function in KEYED.get(self.name, ()):
            for node in ast.walk(self._functions[function]):
                if isinstance(node, ast.Dict):
                    yield from (each.value for each in node.keys if isinstance(each, ast.Constant))

    def _inside(self, node: ast.AST, scope: dict[str, list[ast.expr]]) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                yield from self._inside(child, {**scope, **_assigned(child)})
                continue
            if isinstance(child, ast.Call):
                for expression in self._spoken(child):
                    found = Reader(self._functions, scope).read(expression)
                    yield from (text for text in found if self._is_text(text, child))
            yield from self._inside(child, scope)

    @staticmethod
    def _is_text(text: str, call: ast.Call) -> bool:
        """Whether a text is shown as it is; single words of a message are names of something."""
        return _last_name(call.func) in ALONE or " " in text.strip()

    def _spoken(self, call: ast.Call) -> Iterator[ast.expr]:
        """The arguments of a call that people read, or that become part of what they read."""
        name = _last_name(call.func)
        if name in ERRORS and not self._is_unseen(name):
            yield from call.args[: 0 if name == "MissingExtra" else 1]
        if name in SAYING:
            yield from call.args[:1]
        if name == "append" and ast.unparse(call.func).startswith(COLLECTED):
            yield from call.args[:1]
        if name in SAYING_AT and not self._is_for_programmers:
            yield from call.args[SAYING_AT[name] :][:1]
        if name == "counted":
            yield call
        if name in HEADINGS:
            yield from call.args[1:2]
        for place in TEXT_FUNCTIONS.get(name, ()):
            yield from call.args[place : place + 1]
        known = {"needed_for"} if self._is_for_programmers else TEXT_ARGUMENTS
        yield from (each.value for each in call.keywords if each.arg in known)

    def _is_unseen(self, name: str) -> bool:
        return name in ("ValueError", "TypeError") and self._is_for_programmers


class Reader:
    """Reads the texts off an expression.

    Args:
        functions: Those of the same file, whose results may be filled in.
        scope: What the variables of the function are set to.
    """

    def __init__(
        self, functions: dict[str, ast.FunctionDef], scope: dict[str, list[ast.expr]]
    ) -> None:
        self._functions, self._scope = functions, scope
        self._seen: set[int] = set()
        self._parts: list[ast.expr] = []

    def read(self, expression: ast.expr) -> Iterator[str]:
        """The texts of an expression, and of what is filled into them."""
        self._parts.append(expression)
        while self._parts:
            part = self._parts.pop()
            if id(part) in self._seen:
                continue
            self._seen.add(id(part))
            if isinstance(part, ast.Call) and _last_name(part.func) == "counted":
                yield from _counted(part)
                continue
            for text in self._variants(part):
                if WORD.search(HOLE.sub("", text)):
                    yield " ".join(text.split()) if "\n" not in text else text

    def _variants(self, part: ast.expr) -> list[str]:
        if isinstance(part, ast.Constant):
            return [part.value] if isinstance(part.value, str) else []
        if isinstance(part, ast.IfExp):
            return [*self._variants(part.body), *self._variants(part.orelse)]
        if isinstance(part, ast.JoinedStr):
            return _joined([self._piece(each) for each in part.values])
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            return _joined([self._piece(part.left), self._piece(part.right)])
        if isinstance(part, ast.Call) and _last_name(part.func) == "format":
            form = part.func.value if isinstance(part.func, ast.Attribute) else part
            return [text.replace("{}", "{value}") for text in self._variants(form)]
        if isinstance(part, (ast.Tuple, ast.List)):
            self._parts += part.elts
        else:
            self._follow(part)
        return []

    def _piece(self, part: ast.expr) -> list[str]:
        """What a part of a text may say; a name in braces where that is not written there."""
        if isinstance(part, ast.FormattedValue):
            if part.format_spec is not None and ast.unparse(part.format_spec) == "f','":
                return ["{number}"]
            part = self._whole(part.value)
            if isinstance(part, ast.IfExp) and _is_written(part):
                return self._variants(part)
            if isinstance(part, (ast.JoinedStr, ast.Constant, ast.BinOp)) and _is_written(part):
                return self._variants(part)
            self._parts.append(part)
            return [f"{{{_name(part)}}}"]
        part = self._whole(part)
        if _is_written(part):
            return self._variants(part)
        self._parts.append(part)
        return [f"{{{_name(part)}}}"]

    def _whole(self, part: ast.expr) -> ast.expr:
        """What a variable is set to, where that is one text; it belongs to the text around it."""
        values = self._scope.get(part.id, []) if isinstance(part, ast.Name) else []
        if len(values) == 1 and not isinstance(values[0], ast.IfExp) and _is_written(values[0]):
            return values[0]
        return part

    def _follow(self, part: ast.expr) -> None:
        """Go on with what a variable was set to, and with what a function returns."""
        if isinstance(part, ast.Name):
            self._parts += self._scope.get(part.id, [])
        elif isinstance(part, ast.Dict):
            self._parts += part.values
        elif isinstance(part, (ast.Subscript, ast.Starred)):
            self._parts.append(part.value)
        elif isinstance(part, ast.BoolOp):
            self._parts += part.values
        elif isinstance(part, ast.Call) and _last_name(part.func) != "compile":
            self._parts += [each for each in part.args if _is_written(each)]
            if isinstance(part.func, ast.Attribute):
                self._parts.append(part.func.value)
            function = self._functions.get(_last_name(part.func))
            if function is not None and id(function) not in self._seen:
                self._seen.add(id(function))
                self._scope = {**_assigned(function), **self._scope}
                self._parts += [
                    each.value
                    for each in ast.walk(function)
                    if isinstance(each, ast.Return) and each.value is not None
                ]


def _counted(call: ast.Call) -> Iterator[str]:
    """A number with its noun, in the singular and in the plural."""
    words = [each.value for each in call.args[1:] if isinstance(each, ast.Constant)]
    if words:
        yield f"{{number}} {words[0]}"
        yield f"{{number}} {words[1] if len(words) > 1 else words[0] + 's'}"


def _assigned(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """What each variable of a function is set to."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        for name, value in _targets(node):
            if isinstance(node, ast.AugAssign):
                found[name] = [ast.BinOp(each, ast.Add(), value) for each in found.get(name, [])]
            else:
                found.setdefault(name, []).append(value)
    return found


def _targets(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement sets, each with what it is set to."""
    if not isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) or node.value is None:
        return
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Name):
            yield target.id, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for name, value in zip(target.elts, node.value.elts, strict=False):
                if isinstance(name, ast.Name):
                    yield name.id, value


def _joined(pieces: list[list[str]]) -> list[str]:
    return ["".join(each) for each, _ in zip(product(*pieces), range(MOST_VARIANTS), strict=False)]


def _is_written(part: ast.expr) -> bool:
    """Whether what a part says stands there, but for what is filled in."""
    if isinstance(part, ast.Constant):
        return isinstance(part.value, str)
    if isinstance(part, ast.IfExp):
        return _is_written(part.body) and _is_written(part.orelse)
    if isinstance(part, ast.BinOp):
        return isinstance(part.op, ast.Add) and (_is_written(part.left) or _is_written(part.right))
    return isinstance(part, ast.JoinedStr)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _name(part: ast.expr) -> str:
    """A name for what is filled in, as its expression suggests it."""
    for node in ast.walk(part):
        name = _last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
        if NAME.fullmatch(name.lower().strip("_")) and name not in ("self", "len", "str", "join"):
            name = name.lower().strip("_")
            return "count" if name.startswith("number") else name
    return "value"


def message_texts(package: Path) -> dict[str, list[str]]:
    """Every text with the files that it stands in.

    Texts that differ only in what they call what is filled in are one, as nothing else tells them
    apart. Those that say too little to be recognised are left out.
    """
    found: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for path in sorted(package.rglob("*.py")):
        source = Source(path, package)
        for text in map(numbered, source.texts()):
            if is_open(text):
                continue
            files = found.setdefault(first.setdefault(HOLE.sub("{}", text), text), [])
            if source.name not in files:
                files.append(source.name)
    return found


def numbered(text: str) -> str:
    """The text with names in braces that occur twice told apart.

    >>> numbered("{path}: {path} of {count}")
    '{path}: {path_2} of {count}'
    """
    counts: dict[str, int] = {}

    def told_apart(hole: re.Match[str]) -> str:
        name = hole[0][1:-1]
        counts[name] = counts.get(name, 0) + 1
        return hole[0] if counts[name] == 1 else f"{{{name}_{counts[name]}}}"

    return HOLE.sub(told_apart, text)
