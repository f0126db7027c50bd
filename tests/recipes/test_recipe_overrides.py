"""`--set`: typed as declared, and what does not exist is told with what does."""

import json
import typing
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from softquery.errors import ConfigError
from softquery.models import AskingConfig, Seq2SeqConfig, TransformerConfig
from softquery.recipes import RECIPES, override, recipe

few = hypothesis_settings(max_examples=50, deadline=None)


def leaves(value, prefix=""):
    """Every setting of a run, as plain values, by its path."""
    for name, part in value.items():
        path = f"{prefix}{name}"
        if path == "model_name":  # noted, but not set
            continue
        if isinstance(part, dict):
            yield from leaves(part, f"{path}.")
        else:
            yield path, part


def at(run, path):
    for name in path.split("."):
        run = getattr(run, name)
    return run


def as_typed(value):
    """As a user types a value."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("optim.lr=3e-4", "optim.lr", 3e-4),
        (" optim.lr = 1 ", "optim.lr", 1.0),
        ("optim.betas=0.8, 0.95", "optim.betas", (0.8, 0.95)),
        ("training.max_steps=20", "training.max_steps", 20),
        ("training.max_steps=none", "training.max_steps", None),
        ("training.max_steps=", "training.max_steps", None),
        ("training.precision=bf16-mixed", "training.precision", "bf16-mixed"),
        ("vocabulary.frozen=yes", "vocabulary.frozen", True),
        ("vocabulary.frozen=FALSE", "vocabulary.frozen", False),
        ("text.unit=bpe", "text.unit", "bpe"),
        ("model.parts=own,product", "model.parts", ("own", "product")),
        ("model.embedding_dropout=0.1", "model.embedding_dropout", 0.1),
        ("data.train=train,more", "data.train", ("train", "more")),
        ("vectors=a.txt,b=c.txt", "vectors", ("a.txt", "b=c.txt")),
        ("summary=a = b", "summary", "a = b"),
    ],
)
def test_a_value_is_read_as_its_field_is_declared(setting, path, value):
    before = recipe("esim")
    found = at(override(before, [setting]), path)
    assert (found, type(found)) == (value, type(value))
    assert before == recipe("esim")


def test_later_settings_win_and_others_stay():
    run = override(recipe("esim-snli"), ["optim.lr=1", "task.consistency=0.5", "optim.lr=2"])
    assert (run.optim.lr, run.task.consistency) == (2.0, 0.5)
    assert run.task.labels == recipe("esim-snli").task.labels
    assert override(run, ["optim.lr=1e-3", "task.consistency=1"]) == recipe("esim-snli")


@pytest.mark.parametrize("name", RECIPES)
def test_every_setting_can_be_set_to_what_it_is(name):
    """`softquery recipes NAME` lists settings as `--set` takes them."""
    run = recipe(name)
    listed = [(path, value) for path, value in leaves(run.to_dict())]
    assert listed
    for path, value in listed:
        assert override(run, [f"{path}={as_typed(value)}"]) == run, path


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("optim.lr", "--set takes key=value, got 'optim.lr'"),
        ("optim.lrr=1", r"unknown setting 'optim.lrr': there is no 'lrr'; did you mean 'lr'\?"),
        ("optm.lr=1", r"unknown setting 'optm.lr': there is no 'optm'; did you mean 'optim'\?"),
        ("model.hiden_size=1", r"did you mean 'hidden_size'\?"),
        ("zzz=1", r"unknown setting 'zzz': there is no 'zzz' \(known: name, summary, model"),
        ("=1", "unknown setting ''"),
        ("optim.lr.more=1", "optim.lr.more: lr has no parts to set in this recipe"),
        ("task.labels=a,b", "task.labels: task has no parts to set in this recipe"),
        ("task=a", "task cannot be set on the command line"),
        ("optim=1", "optim is a group; set one of its fields: optim.lr, optim.betas"),
        ("optim.lr=fast", "optim.lr must be a finite number, got 'fast'"),
        ("optim.lr=nan", "optim.lr must be a finite number, got 'nan'"),
        ("optim.lr=-1", "optim.lr: lr must be positive, got -1.0"),
        ("optim.betas=0.9", "optim.betas takes 2 values, got '0.9'"),
        ("training.max_epochs=1.5", "training.max_epochs must be a whole number, got '1.5'"),
        ("training.max_epochs=none", "training.max_epochs must be a whole number, got 'none'"),
        ("training.precision=16", "training.precision must be one of 32-true, bf16-mixed"),
        ("vocabulary.frozen=perhaps", "vocabulary.frozen must be true or false, got 'perhaps'"),
        ("model.dropout=1", r"model.dropout: dropout must be in \[0, 1\), got 1.0"),
        ("model.parts=own,others", "model.parts: parts must be some of"),
        ("data.tune_share=0", "data.tune_share: tune_share must be between 0 and 1, got 0.0"),
        ("text.unit=word", "text.unit must be one of words, characters"),
        ("schedule.decay=slow", "schedule.decay must be one of none, linear, cosine"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(setting, message):
    with pytest.raises(ConfigError, match=message) as caught:
        override(recipe("esim"), [setting])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("esin", r"unknown recipe 'esin'; did you mean 'esim'\?"),
        ("siamese_graded", r"did you mean 'siamese-graded'\?"),
        ("ESIM-ZH", r"did you mean 'esim-zh'\?"),
        ("", r"unknown recipe '' \(known: esim, esim-fast, esim-snli"),
    ],
)
def test_an_unknown_recipe_names_the_nearest(name, message):
    with pytest.raises(ConfigError, match=message):
        recipe(name)


@few
@given(st.floats(min_value=1e-30, max_value=1e6))
def test_floats_arrive_exactly(value):
    assert override(recipe("esim"), [f"optim.lr={value!r}"]).optim.lr == value


@few
@given(st.integers(min_value=1, max_value=2**40))
def test_whole_numbers_arrive_exactly(value):
    assert override(recipe("esim"), [f"training.max_epochs={value}"]).training.max_epochs == value


letters = st.characters(exclude_categories=("Cs", "Cc", "Z"), exclude_characters=",")
words = st.text(letters, min_size=1, max_size=9)


@few
@given(st.lists(words, max_size=4))
def test_lists_of_names_arrive_exactly(names):
    assert override(recipe("esim"), ["vectors=" + ",".join(names)]).vectors == tuple(names)


@few
@given(st.sampled_from(sorted(RECIPES)), st.text(max_size=30), st.text(max_size=30))
def test_nonsense_is_refused_and_never_breaks(name, key, value):
    run = recipe(name)
    for setting in (key, f"{key}={value}", f"optim.{key}={value}", f"training.seed={value}"):
        with suppress(ConfigError):
            json.dumps(override(run, [setting]).to_dict())


LEAVES = sorted(
    path for path, _ in leaves(recipe("esim-snli").to_dict()) if len(path.split(".")[-1]) > 4
)


@few
@given(st.sampled_from(LEAVES), st.data())
def test_a_missing_letter_is_forgiven_with_a_hint(path, data):
    *group, name = path.split(".")
    place = data.draw(st.integers(min_value=0, max_value=len(name) - 1))
    letters = name[:place] + name[place + 1 :]
    typed = ".".join([*group, letters])
    meant = "tags|task" if letters == "tas" else name  # one letter is missing from either
    with pytest.raises(ConfigError, match=f"unknown setting '{typed}'.*did you mean '({meant})'"):
        override(recipe("esim-snli"), [f"{typed}=1"])


CHOICES = {
    AskingConfig: ("asker", "score"),
    Seq2SeqConfig: ("cell", "direction", "context", "tie"),
    TransformerConfig: ("norm", "positions", "tie"),
}


@pytest.mark.parametrize("config", CHOICES, ids=lambda config: config.__name__)
def test_the_page_on_writing_names_every_choice(config):
    page = (Path(__file__).parents[2] / "docs" / "generate.md").read_text(encoding="utf-8")
    kinds = typing.get_type_hints(config)
    for name in CHOICES[config]:
        (row,) = (line for line in page.splitlines() if f".{name}`" in line.split(" | ")[0])
        missing = [each for each in typing.get_args(kinds[name]) if f"`{each}`" not in row]
        assert not missing, row
