"""BERT's plan: equally many steps an epoch, short then long, drawn anew, the same when resumed."""

import numpy as np
import pytest
import torch

from bert_cases import BertCase
from random_documents import DOCUMENTS, PIPELINE
from softquery.data import MaskedText, Masking
from softquery.errors import ConfigError
from softquery.recipes import DocumentFiles
from softquery.running.pretrain_bert import MaskedBatches
from softquery.training import Training


def plan(*, seed=1, max_epochs=10, max_steps=None, pairs=True, **files):
    sizes = {"length": 16, "long_length": 32, "num_tokens": 320, "long_share": 0.25, **files}
    train, tune = DOCUMENTS.parted(0.1)
    return MaskedBatches(
        text=MaskedText.of(DOCUMENTS.ids, PIPELINE, Masking()),
        train=train,
        tune=tune,
        files=DocumentFiles(**sizes),
        pairs=pairs,
        training=Training(seed=seed, max_epochs=max_epochs, max_steps=max_steps),
    )


def test_every_epoch_has_as_many_steps_and_ends_long():
    made = plan()
    epochs = [made.slots(epoch) for epoch in range(10)]
    (count,) = {len(slots) for slots in epochs}
    lengths = [slot.length for slots in epochs for slot in slots]
    short = 10 * count - round(0.25 * 10 * count)
    assert lengths == [16] * short + [32] * (10 * count - short)
    assert {made.num_tokens(slot) for slots in epochs for slot in slots} == {320}


def test_a_limit_of_steps_moves_the_long_ones():
    made = plan(max_steps=8)
    assert [slot.length for slot in made.slots(0)[:8]] == [16] * 6 + [32] * 2
    assert {slot.length for slot in plan(long_share=0.0).slots(9)} == {16}
    assert {slot.length for slot in plan(long_share=1.0).slots(0)} == {32}


def rows(slots):
    return torch.cat([slot.rows for slot in slots])


def test_an_epoch_follows_from_the_seed_and_its_number():
    made, again = plan(), plan()
    later = [rows(made.slots(epoch)) for epoch in (0, 1, 2)]
    assert torch.equal(rows(again.slots(2)), later[2])  # as a resumed run asks
    assert not torch.equal(later[0], later[1])
    assert not torch.equal(rows(plan(seed=2).slots(0)), later[0])
    salts = {int(each[0, 0]) for each in later}
    assert len(salts) == 3  # by which words are hidden


def test_rounds_read_parts_of_the_text():
    made = plan(rounds=2, long_share=0.0, pairs=False)
    places = [rows(made.slots(epoch))[:, 1::5].flatten() for epoch in (0, 1)]
    first, second = (set(each[each > 0].tolist()) for each in places)
    assert not first & second
    assert max(first) < min(second)


def test_measures_are_the_same_each_time_and_leave_the_model_as_it_was():
    made = plan()
    model = BertCase(settings={"vocab_size": PIPELINE.vocab_size, "max_length": 32}).build()
    found = made.measure(model.train())
    assert model.training
    assert found == made.measure(model)
    assert next(iter(found)) == "tune_log_likelihood"
    both = found["tune_mlm_loss"], found["tune_long_mlm_loss"]
    assert found["tune_log_likelihood"] == pytest.approx(-sum(both) / 2)
    assert both[0] != both[1]
    assert {"tune_mlm_accuracy", "tune_nsp_loss", "tune_nsp_accuracy"} <= found.keys()
    single = BertCase(settings={
        "vocab_size": PIPELINE.vocab_size, "max_length": 32, "heads": "words", "pooler": False,
    }).build()  # fmt: skip
    alone = plan(pairs=False, long_share=0.0).measure(single)
    assert "tune_nsp_loss" not in alone
    assert alone["tune_log_likelihood"] == -alone["tune_mlm_loss"]


def test_a_run_that_diverges_is_told():
    model = BertCase(settings={"vocab_size": PIPELINE.vocab_size, "max_length": 32}).build()
    with torch.no_grad():
        model.word_head.bias.fill_(np.nan)
    with pytest.raises(ConfigError, match="the run diverged"):
        plan().measure(model)
    with pytest.raises(TypeError, match="expected a Bert, got Linear"):
        plan().measure(torch.nn.Linear(1, 1))


def test_text_beside_the_device_is_made_before_the_recording():
    assert plan().shaped_by_content is False
