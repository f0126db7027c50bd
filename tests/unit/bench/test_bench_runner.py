"""`python benchmarks`: every topic is listed, and a script is found by its words."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

SCRIPT = "__main__"


def test_every_topic_has_a_page_and_is_listed(script):
    folder = script.HERE
    for topic in script.topics():
        if topic != "shared":
            assert any((folder / topic).glob("*.md")), topic
        listed = script.listed(topic)
        assert listed.startswith(f"{topic}: ")
        assert all(f"  {name}.py: " in listed for name in script.scripts(topic))


def test_what_a_docstring_says_to_run_is_found(script):
    for topic in script.topics():
        for path in [*script.scripts(topic).values(), *(script.HERE / topic).glob("*.md")]:
            for words in re.findall(r"python benchmarks ([^\n`]+)", path.read_text("utf-8")):
                module, _ = script.chosen(words.split())
                assert (script.HERE.parent / f"{module.replace('.', '/')}.py").is_file(), words


def test_words_name_a_script_or_the_one_of_its_topic(script):
    assert script.chosen(["read", "report"]) == ("benchmarks.read.read", ["report"])
    assert script.chosen(["esim", "snli", "report"]) == ("benchmarks.esim.snli", ["report"])
    with pytest.raises(SystemExit, match="no topic 'nothing'; there are bert, classify"):
        script.chosen(["nothing"])
    with pytest.raises(SystemExit, match="esim needs one of decomposable, plain_esim, snli"):
        script.chosen(["esim", "train"])


def test_a_script_is_run_with_the_words_that_are_left(script):
    command = [sys.executable, str(script.HERE), "match", "startup", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: python benchmarks match startup")
    assert "--repeats" in done.stdout


@pytest.mark.skipif(not find_spec("torch"), reason="scripts train")
def test_what_scripts_import_of_the_package_exists(script):
    root = script.HERE.parent
    missing = []
    for path in [*(root / "benchmarks").rglob("*.py"), *(root / "shipped").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("softquery"):
                missing += [
                    f"{path.relative_to(root)}:{node.lineno}: {node.module}.{each.name}"
                    for each in node.names
                    if not exists(node.module, each.name)
                ]
    assert missing == []


def exists(module, name):
    try:
        return hasattr(import_module(module), name) or bool(find_spec(f"{module}.{name}"))
    except ModuleNotFoundError:
        return False
