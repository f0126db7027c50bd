"""BERT's step by shapes alone: what a GPU does, checked where there is none."""

import dataclasses

import pytest
import torch

from bert_cases import BertCase, masked_batch
from softquery.attention import packed
from softquery.data import MaskedText, Masking
from softquery.models import Bert
from softquery.models.bert import presets
from softquery.tasks import MaskedLanguageModel


def text_on(device, unit="pieces"):
    return MaskedText(
        torch.zeros(5000, dtype=torch.int32, device=device),
        Masking(unit=unit),
        torch.zeros(900, dtype=torch.int64, device=device),
        torch.zeros(1000, dtype=torch.bool, device=device),
        (2, 3, 4, 0),
    )


@pytest.mark.parametrize("unit", ["pieces", "words"])
def test_a_whole_step_is_computed_by_shapes_alone(unit, monkeypatch):
    """On the meta device there are no numbers to look at: any look at one raises.

    The kernel for sequences end to end is called as on a GPU, with its backward pass.
    """
    monkeypatch.setattr(packed, "_has_kernel", lambda query: True)
    with torch.device("meta"):
        model = Bert(dataclasses.replace(presets()["mini"], vocab_size=1000)).bfloat16()
    rows = torch.zeros(16, 1 + 5 * 8, dtype=torch.int64, device="meta")
    batch = text_on("meta", unit).batch(rows, 128)
    assert batch.tokens.ids.shape == (16 * 128,)
    assert batch.places.shape == (308,)  # 15 % of all places, rounded up
    assert batch.tokens.packing.starts.shape == (16 * 9 + 1,)
    loss = MaskedLanguageModel().loss(model(batch), batch)
    loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_weights_begin_small_and_biases_at_nothing():
    model = BertCase().build()
    assert model.blocks[0].feed_forward.widen.weight.std().item() == pytest.approx(0.02, rel=0.4)
    assert model.embedding.words.weight.std().item() == pytest.approx(0.02, rel=0.4)
    assert not model.blocks[0].attention.query_projection.bias.any()
    assert (model.embedding.norm.weight == 1).all()


def test_only_hidden_places_meet_the_vocabulary(monkeypatch):
    model, seen = BertCase().build(), []
    model.word_head.register_forward_hook(lambda head, inputs, logits: seen.append(logits.shape))
    model(masked_batch())
    assert seen == [(len(masked_batch().places), model.config.vocab_size)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_recorded_step_trains_as_an_eager_one():
    import copy

    from random_documents import DOCUMENTS, PIPELINE
    from softquery.recipes import DocumentFiles
    from softquery.running.pretrain_bert import MaskedBatches
    from softquery.training import Training
    from softquery.training.loop import launch
    from softquery.training.optim import Optim, build_optimizer
    from softquery.training.steps import EagerStep, GraphedStep

    fabric = launch(devices=1, precision="bf16-mixed", seed=1)
    resident = dataclasses.replace(DOCUMENTS, ids=DOCUMENTS.ids.cuda())
    plan = MaskedBatches(
        text=MaskedText.of(resident.ids, PIPELINE, Masking(), device="cuda"),
        train=resident, tune=resident, pairs=True, training=Training(max_epochs=4),
        files=DocumentFiles(length=32, long_length=64, long_share=0.25, num_tokens=512),
    )  # fmt: skip
    case = BertCase(settings={"vocab_size": PIPELINE.vocab_size, "max_length": 64,
                              "hidden_size": 32, "num_heads": 2})  # fmt: skip
    first, found = case.build(), []
    for kind in (EagerStep, GraphedStep):
        model = copy.deepcopy(first).cuda()
        optimizer = build_optimizer(Optim(lr=1e-3), model.parameters(), fabric.device)
        wrapped, optimizer = fabric.setup(model, optimizer)
        step = kind(fabric, wrapped, optimizer, make_batch=plan.make_batch, clip_norm=1.0,
                    loss=MaskedLanguageModel().loss)  # fmt: skip
        for epoch in range(4):
            for slot in plan.slots(epoch):
                step(slot)
        found.append(float(step.loss_sum))
    assert len(step._graphs) == 2  # short and long
    assert found[0] == pytest.approx(found[1], rel=0.01)
