"""BERT's heads against those of `transformers`, and exported ones against torch."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

pytest.importorskip("transformers", reason="the other BERT is that of transformers")

import transformers

from bert_cases import PIECES, SMALL
from bert_head_cases import CASES, HeadCase
from softquery.bundle import read_bundle
from softquery.export import export_bert_head
from softquery.files import Row
from softquery.interop.bert_config import names
from softquery.runtime.bert.backends import open_bert
from softquery.runtime.bert.rows import BertRow

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
KINDS = {
    "bert-classifier": (transformers.BertForSequenceClassification, "classifier"),
    "bert-matcher": (transformers.BertForSequenceClassification, "classifier"),
    "bert-tagger": (transformers.BertForTokenClassification, "classifier"),
    "bert-reader": (transformers.BertForQuestionAnswering, "qa_outputs"),
}
ONE_EACH = [case for case in CASES if case.settings.get("decoder") != "crf"]
ROWS = [
    BertRow([2, 5, 6, 7, 3, 8, 9, 3], 5),
    BertRow([2, 10, 3], 3),
    BertRow([2, 3], 2),
    BertRow([2, 11, 12, 3, 13, 14, 15, 16, 17, 3], 4),
]


def theirs_of(case, model):
    """The same weights under their names."""
    config = transformers.BertConfig(
        vocab_size=len(PIECES), hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=12, max_position_embeddings=16, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, num_labels=case.task.output_size,
    )  # fmt: skip
    kind, head = KINDS[case.name]
    theirs = kind(config)
    own = model.state_dict()
    sizes = asdict(model.config.encoder)
    state = {f"bert.{them}": own[f"encoder.{us}"] for them, us, _ in names(sizes)}
    state |= {f"{head}.{part}": own[f"output.{part}"] for part in ("weight", "bias")}
    missing, unexpected = theirs.load_state_dict(state, strict=False)
    assert unexpected == []
    assert [name for name in missing if "position_ids" not in name] == []
    return theirs


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_scores_and_gradients_are_theirs(case, mode):
    model = case.build().train(mode == "train")
    theirs = theirs_of(case, model).train(mode == "train")
    batch = case.batch(extra_pad=2)
    segments = getattr(batch, "segments", torch.zeros_like(batch.tokens.ids))
    found = theirs(
        input_ids=batch.tokens.ids, attention_mask=batch.tokens.mask.long(), token_type_ids=segments
    )
    mask = batch.tokens.mask
    ours = model.scores(batch.tokens, segments)
    if case.kind == "reader":
        wanted = torch.stack([found.start_logits, found.end_logits], dim=-1)
    else:
        wanted = found.logits
    if case.kind in ("tagger", "reader"):
        ours, wanted = ours[mask], wanted[mask]
    torch.testing.assert_close(ours, wanted, **CLOSE)
    ours.square().mean().backward()
    wanted.square().mean().backward()
    torch.testing.assert_close(
        model.encoder.embedding.words.weight.grad,
        theirs.bert.embeddings.word_embeddings.weight.grad,
        **CLOSE,
    )


@pytest.mark.parametrize("activation", ["gelu", "relu", "gelu_tanh"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_graph_says_what_torch_says(case, activation, tmp_path, monkeypatch):
    monkeypatch.setattr("bert_head_cases.SMALL", replace(SMALL, activation=activation))
    bundle = case.write(tmp_path / "model")
    report = export_bert_head(bundle, tmp_path / "exported", int8=False, limit=0.5, rows=[])
    assert report.difference < 1e-5
    theirs = open_bert(bundle, "torch", None, "cpu")
    ours = open_bert(read_bundle(tmp_path / "exported"), "onnx", 2, None)
    for one, other in zip(ours.answers(ROWS), theirs.answers(ROWS), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    alone = [ours.answers([row])[0] for row in ROWS]
    for one, other in zip(alone, ours.answers(ROWS), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    if case.kind == "classifier":
        row = ROWS[1]
        np.testing.assert_allclose(ours.looks(row), theirs.looks(row), rtol=1e-4, atol=1e-6)
        assert ours.looks(row).sum() == pytest.approx(1, abs=1e-5)


def test_int8_is_near_and_company_changes_nothing(tmp_path, monkeypatch):
    wide = replace(SMALL, hidden_size=64, inner_size=128)
    monkeypatch.setattr("bert_head_cases.SMALL", wide)
    case = HeadCase(name="bert-classifier")
    bundle = case.write(tmp_path / "model", case.build(std=0.05))
    texts = ["the cat sat", "a b c", "sat the cat", "ax by cz"]
    rows = [
        Row({"text": text, "label": label}, number, "rows.tsv")
        for number, (text, label) in enumerate(zip(texts, "abca", strict=True))
    ]
    report = export_bert_head(bundle, tmp_path / "small", int8=True, limit=100.0, rows=rows)
    assert report.precision == "int8"
    assert report.gate.n == 4
    stored = read_bundle(tmp_path / "small").read_weights()
    assert stored["encoder.blocks.0.attention.query_projection.weight"].dtype == np.int8
    ours = open_bert(read_bundle(tmp_path / "small"), "onnx", 2, None)
    theirs = open_bert(bundle, "torch", None, "cpu")
    for one, other in zip(ours.answers(ROWS), theirs.answers(ROWS), strict=True):
        np.testing.assert_allclose(one, other, atol=0.05)
    alone = [ours.answers([row])[0] for row in ROWS]
    for one, other in zip(alone, ours.answers(ROWS), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
