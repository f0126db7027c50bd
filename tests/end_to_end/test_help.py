"""Help as it is shown: lines as long as the terminal, and examples that can be typed."""

import shlex

import pytest
from running import softquery
from typer.main import get_command

from softquery.cli import app
from softquery.cli.terminal.localised_help import EXAMPLES

WIDTH = 80


def verbs(command, path=()):
    """Every command that does something by itself, by the words that name it."""
    found = getattr(command, "commands", {})
    if not found:
        yield " ".join(path)
    for name, each in found.items():
        yield from verbs(each, (*path, name))


def parsed(words):
    """The options and arguments of a command line, as its verb gets them."""
    command, context = get_command(app), None
    while hasattr(command, "commands"):
        context = command.context_class(command, parent=context, info_name="softquery")
        name, found, words = command.resolve_command(context, words)
        if found is None or name not in command.commands:
            raise AssertionError(f"no verb {name}")
        command = found
    return command.make_context(command.name, list(words)).params


def test_every_verb_has_examples():
    hidden = {"models card"}  # `softquery models NAME`, which the examples of models show
    assert set(EXAMPLES) == {*verbs(get_command(app)), "models"} - hidden


@pytest.mark.parametrize("verb", EXAMPLES)
def test_examples_can_be_typed(verb):
    for example in EXAMPLES[verb]:
        assert len(example) < WIDTH - 1
        program, *words = shlex.split(example)
        if program == "softquery" and verb != "models":  # its NAME is the verb `models card`
            assert words[: len(verb.split())] == verb.split()
            assert parsed(words)


@pytest.mark.parametrize("words", [["match", "--no-such"], ["rank", "a"], ["nothing"]])
def test_a_wrong_example_is_noticed(words):
    with pytest.raises(Exception, match="No such option|Missing parameter|No such command"):
        parsed(words)


@pytest.mark.parametrize("verb", ["index", "evaluate"])
def test_help_flows_and_ends_with_examples(verb, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    shown = softquery(verb, "--help").out
    described, _, rest = shown.partition("╭")
    text = "\n".join(line.rstrip() for line in described.splitlines())
    lines = [line for each in text.split("\n\n") for line in each.splitlines()[:-1] if line]
    assert len(lines) > 4
    assert min(map(len, lines)) > WIDTH - 20
    assert rest.rstrip().endswith("Examples:\n " + "\n ".join(EXAMPLES[verb]))
    monkeypatch.setenv("SOFTQUERY_LANG", "zh_CN")
    assert "示例：" in softquery(verb, "--help").out
