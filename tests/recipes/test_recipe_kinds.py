"""Every recipe is of a kind that can be trained, and each kind refuses what it has no use for."""

import pytest

from softquery.errors import ConfigError
from softquery.recipes import RECIPES, recipe
from softquery.running.run_options import RunOptions
from softquery.running.train import TRAINERS, check_options, train

OPTIONS = {"vectors", "columns", "init", "devices"}


def silent(line: str) -> None: ...


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_of_a_known_kind(name):
    run = recipe(name)
    assert type(run) in TRAINERS
    assert set(run.refused) <= OPTIONS
    check_options(run, {})
    check_options(run, dict.fromkeys(OPTIONS))


@pytest.mark.parametrize("name", ["elmo-small", "bert-mini", "word2vec"])
def test_an_option_without_use_is_refused_with_the_reason(name):
    run = recipe(name)
    assert run.refused
    for option, reason in run.refused.items():
        with pytest.raises(ConfigError, match=f"^--{option}: {name} {reason}$"):
            check_options(run, {option: "something"})


@pytest.mark.parametrize(
    ("given", "option"),
    [({"init": "model"}, "init"), ({"devices": 2}, "devices"), ({"rename": {"a": "b"}}, "columns")],
)
def test_python_is_refused_what_the_command_line_is(given, option, tmp_path):
    with pytest.raises(ConfigError, match=f"--{option}: word2vec"):
        train(
            recipe("word2vec"),
            RunOptions(
                data=tmp_path,
                output=tmp_path / "vectors",
                observer=None,  # never asked
                say=silent,
                **given,
            ),
        )
    assert list(tmp_path.iterdir()) == []


def test_matching_refuses_nothing():
    assert recipe("esim").refused == {}
