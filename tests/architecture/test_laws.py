"""The laws of the house: one name for one thing, and folders that hold one thing.

Each test goes through the whole package and names everything that offends.
"""

import ast
from collections import defaultdict
from pathlib import Path

from repository import PACKAGE, ROOT, module_name, source_files

MOST_FILES = 700
"""Python files of the package."""
LARGEST_FOLDER = 22
"""Python files of a folder, `__init__` aside: one of more holds two things."""

IN_EVERY_TASK = {"model", "backend", "onnx", "torch", "evaluate", "calibrate"}
"""What every task's folder in `runtime` may have."""
TASKS = {
    "match", "classify", "tag", "read", "generate", "encode", "embed", "vectors", "fill", "probe",
}  # fmt: skip
SYSTEMS = {
    "esim", "siamese", "decomposable", "attentive", "bidaf", "tagger", "elmo", "bert", "seq2seq",
    "pooled_encoder", "transformer", "word2vec",
}  # fmt: skip
REPEATED = IN_EVERY_TASK | TASKS | SYSTEMS | {"__init__", "__main__"}
"""Names that several files may bear; the files of `cli` are named after verbs and not counted."""


def modules() -> list[Path]:
    """Every file but those whose only work is to hand names on."""
    return [path for path in source_files() if path.stem != "__init__"]


def listed(offenders: dict[str, list[str]]) -> str:
    """A line for each."""
    return "\n" + "\n".join(f"{name}: {', '.join(found)}" for name, found in offenders.items())


def test_no_two_public_classes_share_a_name():
    places = defaultdict(list)
    for path in source_files():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module_name(path))
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert not shared, listed(shared)


def test_no_two_modules_share_a_name():
    places = defaultdict(list)
    for path in modules():
        if path.stem not in REPEATED and path.parent != PACKAGE / "cli":
            places[path.stem].append(module_name(path))
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert not shared, listed(shared)


def test_a_folder_holds_one_thing():
    sizes = defaultdict(int)
    for path in modules():
        sizes[path.parent.relative_to(PACKAGE).as_posix()] += 1
    large = {folder: [f"{n} files"] for folder, n in sizes.items() if n > LARGEST_FOLDER}
    assert not large, listed(large)


def test_the_package_has_few_files():
    assert (count := len(source_files())) <= MOST_FILES, f"{count} files"


def test_a_library_does_not_print():
    """The command line prints, and what the benchmarks run in processes of their own."""
    talkers = ("cli", "bench")
    found = {
        path: [node.lineno for node in ast.walk(ast.parse(path.read_text("utf-8"))) if prints(node)]
        for path in source_files()
        if path.relative_to(PACKAGE).parts[0] not in talkers
    }
    assert {module_name(path): lines for path, lines in found.items() if lines} == {}


def prints(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    )


def test_what_makes_the_models_stands_without_the_benchmarks():
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "shipped").rglob("*.py")}
    names = {path: imported(ast.parse(text)) for path, text in texts.items()}
    assert [path.name for path, found in names.items() if "benchmarks" in found] == []


def imported(tree: ast.Module) -> set[str]:
    """The top-level packages that a file imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found
