"""What README and docs show is what happens: their examples run, their commands exist."""

import doctest
import re
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from markdown_examples import Command, Example, commands, examples
from repository import ROOT

from commands_here import run_here
from warm import launch

PAGES = [
    ROOT / "README.md",
    *ROOT.glob("README.*.md"),
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "packages").glob("*/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
GROUPS = ("import", "keys", "models", "probe", "vectors")
"""Commands that have commands of their own."""
WITH_TORCH = ("distill", "evaluate", "export", "train")
MISTAKE = 2
"""Exit code of what the user can put right; pages show such answers too."""


LONG = "<!-- run by: make integrations ONLY=notebooks -->\n"
"""How a page begins that trains for a minute: its notebook is run, here its commands are read."""


def page_name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def language(page: Path) -> str:
    """What the command line speaks on a page."""
    return "zh_CN" if "zh" in (*page.parts, *page.name.split(".")) else "en"


def exempt(pages: list[Path]) -> list[str]:
    return [
        f"{page_name(page)}:{example.line}: {example.exemption}"
        for page in pages
        for example in examples(page)
        if example.exemption is not None
    ]


def is_long(page: Path) -> bool:
    """Whether its notebook is run instead."""
    return page.read_text(encoding="utf-8").startswith(LONG)


@pytest.mark.parametrize("page", [page for page in PAGES if is_long(page)], ids=page_name)
def test_commands_of_long_pages_exist(page):
    assert page.with_suffix(".ipynb").exists()
    shown = [example for example in examples(page) if example.language == "sh"]
    for example in shown:
        for command in commands(example.code):
            if command.words[0] == "softquery":
                check_spelling(command, f"{page_name(page)}:{example.line}")


@pytest.mark.parametrize("page", [page for page in PAGES if not is_long(page)], ids=page_name)
def test_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for example in examples(page):
        if example.exemption is not None:
            continue
        if example.title is not None:
            file = tmp_path / example.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(example.code, encoding="utf-8")
        elif example.language == "python":
            run_doctest(example, page, names)
        elif example.language in ("sh", "bash", "console", "shell"):
            for command in commands(example.code):
                check_command(command, f"{page_name(page)}:{example.line}", language(page))


def run_doctest(example: Example, page: Path, names: dict[str, object]) -> None:
    place = f"{page_name(page)}:{example.line}"
    assert ">>> " in example.code, f"{place}: a python block needs prompts, a title or an exemption"
    # Blocks are read one by one; the names go on from one to the next. Each has a name of its own,
    # by which doctest finds the lines of a function that an earlier block defined.
    test = doctest.DocTestParser().get_doctest(
        example.code, names, place, str(page), example.line - 1
    )
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, "".join(report)


def check_command(command: Command, place: str, language: str = "en") -> None:
    program = command.words[0]
    if command.output is not None:
        assert program == "softquery", f"{place}: only softquery is run, not {command.text!r}"
        shown, printed = command.output, answer(command, language)
        fits = doctest.OutputChecker().check_output(shown, printed, OPTIONS)
        assert fits, f"{place}: $ {command.text}\nshown:\n{shown}\nprinted:\n{printed}"
    elif program == "softquery":
        check_spelling(command, place)
    elif program == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        unknown = [word for word in command.words[1:] if "=" not in word and word not in targets]
        assert unknown == [], place


def answer(command: Command, language: str) -> str:
    """What a command prints, both streams together, on a terminal of 100 columns."""
    environment = {"SOFTQUERY_LANG": language, **command.environment}
    code, printed = softquery(*command.words[1:], home=Path.cwd() / "home", **environment)
    assert code in (0, MISTAKE), printed
    assert "Traceback" not in printed
    return printed


def check_spelling(command: Command, place: str) -> None:
    """A command that is only shown: its verb and its options must exist."""
    flags = {word.partition("=")[0] for word in command.words if word.startswith("--")}
    depth = 2 if command.words[1:2] and command.words[1] in GROUPS else 1
    verbs = [word for word in command.words[1 : 1 + depth] if not word.startswith("-")]
    known = help_text(*verbs)
    unknown = sorted(flag for flag in flags if not re.search(rf"{flag}\b", known))
    assert unknown == [], f"{place}: {command.text!r} has options that do not exist"


@cache
def help_text(*verbs: str) -> str:
    code, printed = softquery(*verbs, "--help", home=Path.cwd())
    assert code == 0, f"softquery has no verb {verbs}"
    return printed


def softquery(*words: str, home: Path, **environment: str) -> tuple[int, str]:
    """What needs torch has a process of its own, in which signatures are not checked."""
    plain = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1", "SOFTQUERY_HOME": str(home)}
    around = {**plain, **environment}
    if words[0] in WITH_TORCH and "--help" not in words:
        process = launch(words, environment=around, streams=1)
        printed, _ = process.communicate(timeout=280)
        return process.returncode, printed
    heard = StringIO()
    code = run_here(words, out=heard, err=heard, environment=around)
    return code, heard.getvalue()


def test_exemptions_say_why():
    assert [line for line in exempt(PAGES) if line.endswith(": ")] == []


def test_a_wrong_example_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> 1 + 1\n3\n```\n")
    monkeypatch.setattr("test_documents.page_name", str)
    with pytest.raises(AssertionError, match=r"Expected:\s+3\s+Got:\s+2"):
        run_doctest(examples(page)[0], page, {})


def test_a_wrong_command_is_noticed():
    with pytest.raises(AssertionError, match=r"shown:\s+softquery 9\s+printed:\s+softquery \d"):
        check_command(Command(text="softquery --version", output="softquery 9\n"), "page.md:1")
    with pytest.raises(AssertionError, match=r"--no-such.*options that do not exist"):
        check_command(Command(text="softquery models --no-such 3", output=None), "page.md:1")


def test_blocks_are_read_as_they_stand(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- not run: takes an hour -->\n\n```sh\nsoftquery train \\\n  esim\n```\n"
        '- item\n\n    ```tsv title="a.tsv"\n    x\ty\n    ```\n'
        "```sh\n$ softquery models\nnone\n$ softquery --version\n```\n"
    )
    first, second, third = examples(page)
    assert (first.exemption, first.line) == ("takes an hour", 4)
    assert [command.words for command in commands(first.code)] == [["softquery", "train", "esim"]]
    assert (second.title, second.code, second.exemption) == ("a.tsv", "x\ty\n", None)
    assert commands(third.code) == [
        Command(text="softquery models", output="none\n"),
        Command(text="softquery --version", output="\n"),
    ]
