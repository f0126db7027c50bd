"""The names and signatures that users type change only where somebody means them to.

After a change that is meant: `python tests/architecture/public_api.py` and a line in the changelog.
"""

import inspect
import re

import pytest
from public_api import GOLDEN, public_api
from typer.main import get_command

import softquery
from softquery.cli import app
from softquery.serve.dialects import own

SHARED = {
    "rank": (softquery.Matcher.rank, None, {"query", "top_k", "label"}),
    "search": (softquery.Index.find, own.SearchBody,
               {"query", "top_k", "where", "min_score", "candidates", "explain", "stages"}),
    "fill": (softquery.MaskFiller.fill, own.FillBody, {"top_k", "candidates"}),
    "vectors nearest": (softquery.WordVectors.nearest, None, {"top_k"}),
    "vectors analogy": (softquery.WordVectors.analogy, None, {"top_k"}),
    "embed": (softquery.SentenceEncoder.encode, None, {"dimensions"}),
    "index": (softquery.Index.build, None, {"model", "language", "columns", "threads"}),
    "generate": (None, own.GenerateBody,
                 {"n_best", "beam", "prefix", "ban", "require", "rules", "rank"}),
}  # fmt: skip
"""Verbs with the call and the body that do the same, and the options that they share."""
COUNTED = ("rank", "search", "fill", "vectors nearest", "vectors analogy", "vectors plot")


def options(verb: str) -> dict[str, list[str]]:
    """The parameters of a verb with all their spellings."""
    command = get_command(app)
    for name in verb.split():
        command = command.commands[name]
    return {each.name: each.opts for each in command.params}


def test_names_and_signatures_are_those_that_were_agreed_on():
    assert public_api() == GOLDEN.read_text(encoding="utf-8")


def test_every_public_name_is_listed_and_there():
    assert set(softquery.__all__) <= set(dir(softquery))
    assert [name for name in dir(softquery) if re.match("_[^_]", name)] == []
    for name in softquery.__all__:
        assert getattr(softquery, name) is not None


@pytest.mark.parametrize("verb", SHARED)
def test_an_option_has_one_name_everywhere(verb):
    call, body, shared = SHARED[verb]
    assert shared <= set(options(verb))
    if call is not None:
        assert shared <= set(inspect.signature(call).parameters)
    if body is not None:
        assert shared <= set(body.model_fields)


@pytest.mark.parametrize("verb", COUNTED)
def test_the_number_of_answers_is_top_k(verb):
    spellings = options(verb)["top_k"]
    assert spellings[0] == "--top-k"
    assert spellings[1:] == ([] if verb == "fill" else ["--top"])
