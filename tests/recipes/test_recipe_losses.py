"""Every recipe runs, and its first two steps are what they were; `two_steps.py` says how to renew.

A new recipe must get its losses.
"""

import json

import pytest
import torch
from two_steps import GOLDEN, first_losses

from softquery.bundle import read_bundle
from softquery.recipes import RECIPES, WITHOUT_TORCH, recipe

WANTED = json.loads(GOLDEN.read_text(encoding="utf-8"))
STEPPED = [name for name in RECIPES if name not in WITHOUT_TORCH]
"""What is trained in steps; the others are fitted at once, and have tests of their own."""


@pytest.fixture(autouse=True)
def _precision_stays_as_it_was():
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


def test_every_recipe_is_known_here():
    assert list(WANTED) == STEPPED
    assert set(STEPPED) == set(RECIPES) - {"classify-few", "classify-tuned"}


@pytest.mark.parametrize("name", STEPPED)
def test_the_first_losses_are_what_they_were(name, tmp_path):
    found = first_losses(name, tmp_path)
    assert len(found) == 2
    assert found == pytest.approx(WANTED[name], abs=1e-4)
    bundle = read_bundle(tmp_path / "model")
    assert bundle.config.model["name"] == recipe(name).model_name()
    training = bundle.metrics["training"]
    assert training.get("steps", training["epochs"]) == 2


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_says_what_it_is(name):
    run = recipe(name)
    assert run.name == name
    assert RECIPES[name].__name__ == name.replace("-", "_")
    assert len(run.summary) > 20
    assert RECIPES[name].__doc__
    assert recipe(name) == run  # a value: made anew, it is the same
    first = name.partition("-")[0]
    own = ("siamese", "decomposable", "elmo", "bert", "tagger", "word2vec")
    model = first if first in own else "esim"
    others = {"pos": "tagger", "ner": "tagger", "relations": "attentive",
              "hierarchical": "hierarchical", "left": "bert",
              "attention": "attentive", "sentiment": "attentive",
              "reader": "bidaf", "read": "bidaf", "classify": "sentence-head"}  # fmt: skip
    model = others.get(first, model)
    heads = {f"bert-{verb}": f"bert-{kind}" for verb, kind in
             (("classify", "classifier"), ("match", "matcher"), ("tag", "tagger"),
              ("read", "reader"))}  # fmt: skip
    heads |= {"sentiment-zh": "bert-classifier", "topic-zh": "bert-classifier",
              "ner-zh": "bert-tagger"}  # fmt: skip
    model = heads.get(name, model)
    recurrent = ("rnn", "bahdanau", "luong", "cove")
    if first in ("translate", "couplet"):
        model = "seq2seq" if any(f"-{kind}" in name for kind in recurrent) else "transformer"
    assert json.loads(json.dumps(run.to_dict()))["model_name"] == model
