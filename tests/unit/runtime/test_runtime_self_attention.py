"""Self-attention shown, computed of states and matrices: as torch has it; picture and data."""

import json

import numpy as np
import pytest

pytest.importorskip("torch", reason="the models are made with torch")

import torch

from bert_cases import BertCase, write_bert
from softquery.data import Tokens
from softquery.errors import BundleError, InputError
from softquery.explain import SelfAttention
from softquery.runtime import load
from softquery.runtime.embed import self_looks
from softquery.runtime.embed.self_looks import explain_encoder
from softquery.runtime.loading import opened

TEXT = "the cat sat ax"


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("self")
    model = BertCase().build(std=1.0).eval()
    return model, write_bert(folder / "bert", model)


def test_weights_are_those_of_torch(bert):
    model, folder = bert
    encoder = load(folder)
    shown = encoder.explain(TEXT)
    assert shown.tokens[0] == "[CLS]"
    assert shown.tokens[-1] == "[SEP]"
    ids = torch.tensor([[encoder.pipeline.token_id(token) for token in shown.tokens]])
    with torch.inference_mode():
        wanted = model.look(Tokens(ids, torch.ones_like(ids, dtype=torch.bool)))[0].numpy()
    np.testing.assert_allclose(shown.weights, wanted, atol=1e-5)
    np.testing.assert_allclose(shown.weights.sum(-1), 1, atol=1e-5)
    assert shown.weights.std() > 0.05  # not all alike


def test_a_layer_and_a_head_can_be_chosen(bert):
    shown = load(bert[1]).explain(TEXT)
    np.testing.assert_allclose(shown.chosen(2, 1), shown.weights[1, 0])
    np.testing.assert_allclose(shown.chosen(2), shown.weights[1].mean(0), atol=1e-6)
    first = shown.strongest(top=1, layer=1, head=2)[0].partners[0]
    assert first.position == int(shown.weights[0, 1, 0].argmax())
    for layer, head, said in ((3, None, "layer must be from 1 to 2"), (1, 9, "head must be"),
                              (None, 1, "name the layer")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            shown.chosen(layer, head)


def test_data_and_pictures_hold_every_head(bert, tmp_path):
    shown = load(bert[1]).explain(TEXT)
    found = json.loads(shown.plot(tmp_path / "why.json").read_text("utf-8"))
    np.testing.assert_allclose(found["weights"], shown.weights, atol=1e-6)
    svg = shown.plot(tmp_path / "why.svg").read_text("utf-8")
    page = shown.plot(tmp_path / "why.html").read_text("utf-8")
    for text in (svg, page):
        assert all(f"layer {layer}, head {head}" in text for layer in (1, 2) for head in (1, 2))
        assert "cat → sat" in text


@pytest.mark.parametrize("text", ["", "  ", 3])
def test_no_text_is_refused(bert, text):
    with pytest.raises(InputError, match="expected a text"):
        load(bert[1]).explain(text)


def test_a_long_text_is_not_drawn(bert, monkeypatch):
    monkeypatch.setattr(self_looks, "MOST_PIECES", 4)
    with pytest.raises(InputError, match="at most 4 are drawn"):
        load(bert[1]).explain(TEXT)


def test_a_text_beyond_the_model_keeps_its_marks(bert):
    shown = load(bert[1]).explain("the cat sat " * 9)
    assert (len(shown.tokens), shown.tokens[-1]) == (16, "[SEP]")


def test_a_model_without_self_attention_is_refused_by_name():
    with pytest.raises(BundleError, match="pooled-encoder has no self-attention to show"):
        explain_encoder(opened("embed-en"), "the cat")


@pytest.mark.parametrize("shape", [(1, 1, 2, 3), (2, 2), (0, 1, 2, 2)])
def test_other_weights_are_refused(shape):
    with pytest.raises(ValueError, match="weights must be"):
        SelfAttention(text="a b", tokens=("a", "b"), weights=np.ones(shape))
