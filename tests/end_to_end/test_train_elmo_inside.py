"""`softquery train esim-elmo`: a biLM inside a matcher, from the command line to an answer."""

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from running import settings, softquery
from safetensors.numpy import load_file
from tiny_pairs import inference, write_folder

import softquery as sq
from small_elmo import write_elmo
from softquery.bundle import read_bundle


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inside")
    write_folder(folder / "data", inference(120), num_dev=20)
    write_elmo(folder / "bilm")
    return folder


def train(place, output, *words, **groups):
    changes = settings(training={"max_epochs": 2, "graphs": "auto"}, optim={"lr": 0.01}, **groups)
    return softquery("train", "esim-elmo", "--data", place / "data", "--output", place / output,
                     *changes, *words)  # fmt: skip


def test_a_frozen_bilm_stays_as_it_was_and_answers_come(place):
    answer = train(place, "frozen", "--set", f"elmo.bundle={place / 'bilm'}")
    assert answer.code == 0, answer.err
    assert "8 wide at the input and output, frozen" in answer.err
    ours, theirs = (load_file(place / n / "model.safetensors") for n in ("frozen", "bilm"))
    for name, value in theirs.items():
        if not name.startswith("softmax."):
            assert (ours[f"embedder.bilm.{name}"] == value).all(), name
    nested = read_bundle(place / "frozen").config.model["config"]["embedder"]
    assert (nested["name"], nested["settings"]["places"]) == ("elmo", ["input", "output"])
    model = sq.load(place / "frozen")
    first, second = model.predict([("A man eats.", "Some man eats."), ("A man eats.", "No one.")])
    assert first.label in ("entailment", "neutral", "contradiction")
    assert first.probabilities != second.probabilities


def test_a_tuned_bilm_learns(place):
    answer = train(place, "tuned", elmo={"bundle": place / "bilm", "tuning": "tuned",
                                         "places": "input", "beside_words": "false"})  # fmt: skip
    assert answer.code == 0, answer.err
    ours, theirs = (load_file(place / n / "model.safetensors") for n in ("tuned", "bilm"))
    name = "forwards.layers.0.input_weight"
    assert (ours[f"embedder.bilm.{name}"] != theirs[name]).any()
    assert not [name for name in ours if name.startswith("embedder.words")]


@pytest.mark.parametrize(
    ("elmo", "said"),
    [
        ({}, "esim-elmo needs a biLM; name its bundle with --set elmo.bundle=DIR"),
        ({"bundle": "none/such"}, "none/such: no such model folder"),
        ({"bundle": "BILM", "places": "output", "beside_words": "no"},
         "elmo: without a table of words there must be a mix at the input"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(elmo, said, place):
    chosen = {key: place / "bilm" if value == "BILM" else value for key, value in elmo.items()}
    answer = train(place, "none", elmo=chosen)
    assert answer.code == 2
    assert answer.err.splitlines()[-1] == f"softquery: {said}"
    assert not (place / "none").exists()


def test_a_matcher_is_no_bilm(place):
    answer = train(place, "nested", elmo={"bundle": place / "frozen"})
    assert answer.code == 2
    assert answer.err.splitlines()[-1].endswith("expected an elmo, found 'esim'")


def test_export_says_that_it_cannot(place):
    answer = softquery("export", place / "frozen", "--output", place / "exported")
    assert answer.code == 2
    assert "a matcher with ELMo inside runs on torch alone so far" in answer.err
