"""What holds for a BERT with any of its four heads."""

import dataclasses
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch

from bert_head_cases import CASES, HeadCase
from registered import registered_heads
from softquery.errors import BundleError
from softquery.models import BertClassifierConfig, BertConfig
from softquery.runtime.torch_models import build_model, load_task_model
from softquery.training import Optim
from softquery.training.optim import layers_above

BERT_HEADS = registered_heads()

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
every_head = pytest.mark.parametrize("case", CASES, ids=str)


def answers(case, model, batch):
    with torch.inference_mode():
        return case.answers(model(batch), batch)


def assert_close(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


def test_every_head_has_cases_and_every_choice_is_tried():
    assert {case.name for case in CASES} == set(BERT_HEADS)
    for name, (config, _) in BERT_HEADS.items():
        for setting, kind in get_type_hints(config).items():
            if get_origin(kind) is Literal:
                tried = {case.settings.get(setting) for case in CASES if case.name == name}
                assert tried == set(get_args(kind)), setting


@every_head
def test_answers_have_their_shapes(case):
    batch = case.batch(extra_pad=2)
    sizes = [tuple(each.shape) for each in answers(case, case.build(), batch)]
    if case.kind == "reader":
        more = case.settings["no_answer"] == "learnt"
        assert sizes == [(count + more, 2) for count in (2, 1, 3, 2, 4)]
    elif case.kind == "tagger":
        assert sizes == [(count, case.task.output_size) for count in (2, 1, 0, 3, 1)]
    else:
        assert sizes == [(3,)] * 5


@every_head
def test_every_parameter_gets_a_gradient(case):
    model, batch = case.build(), case.batch()
    case.task.loss(model(batch), batch).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        # A key's bias moves all scores of a query alike, which no softmax sees.
        assert parameter.grad.any() or name.endswith("key_projection.bias"), name


@every_head
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_padding_changes_nothing(case, mode):
    model = case.build().train(mode == "train")
    plain, padded = (answers(case, model, case.batch(extra_pad=pad)) for pad in (0, 4))
    assert_close(padded, plain)


@every_head
def test_order_and_company_in_the_batch_change_nothing(case):
    model, order = case.build().eval(), [3, 0, 4, 2, 1]
    together = answers(case, model, case.batch())
    assert_close(answers(case, model, case.batch(order)), [together[row] for row in order])
    alone = [answers(case, model, case.batch([row]))[0] for row in range(5)]
    assert_close(alone, together)


@every_head
def test_dropout_acts_in_training_alone(case):
    model, batch = case.build(dropout=0.5), case.batch()
    noisy = answers(case, model.train(), batch)[0]
    assert not torch.allclose(answers(case, model, batch)[0], noisy)
    calm = answers(case, model.eval(), batch)[0]
    assert torch.equal(answers(case, model, batch)[0], calm)


@every_head
def test_four_examples_are_learnt_by_heart(case):
    model, batch = case.build(std=0.1), case.batch([0, 1, 3, 4])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(300):
        optimizer.zero_grad()
        loss = case.task.loss(model(batch), batch)
        loss.backward()
        optimizer.step()
        if loss < 0.05:
            break
    assert case.task.loss(model.eval()(batch), batch) < 0.1


@every_head
def test_a_bundle_brings_the_model_back(case, tmp_path):
    model = case.build(dropout=0.5)
    back = load_task_model(case.write(tmp_path / "model", model))
    assert not back.training
    assert back.config == model.config
    for one, other in zip(answers(case, back, case.batch()),
                          answers(case, model.eval(), case.batch()), strict=True):  # fmt: skip
        assert torch.equal(one, other)


@every_head
def test_a_bundle_whose_sizes_lie_is_refused_in_one_line(case, tmp_path):
    lie = {**dataclasses.asdict(case.build().config)["encoder"], "inner_size": 13}
    with pytest.raises(BundleError, match="does not fit config.json") as caught:
        load_task_model(case.write(tmp_path / "model", encoder=lie))
    assert "\n" not in str(caught.value)


@every_head
def test_an_unknown_setting_is_named(case):
    settings = dataclasses.asdict(case.build().config)
    settings["encoder"]["hiden_size"] = 3
    with pytest.raises(BundleError, match=rf"{case.name}.encoder has no setting 'hiden_size'"):
        build_model(case.name, settings)


@every_head
def test_layers_are_counted_from_the_head(case):
    model = case.build()
    names = [name for name, _ in model.named_parameters()]
    found = dict(zip(names, layers_above(Optim(layer_decay=0.5), model), strict=True))
    assert set(found.values()) == {0, 1, 2, 3}
    assert found["output.weight"] == 0
    assert found["encoder.blocks.1.feed_forward.widen.bias"] == 1
    assert found["encoder.blocks.0.feed_forward.widen.bias"] == 2
    assert found["encoder.embedding.words.weight"] == 3


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"encoder": BertConfig()}, "encoder.heads must be none"),
        ({"encoder": BertConfig(heads="none", pooler=False)}, "encoder.pooler must be true"),
        ({"encoder": BertConfig(heads="none", direction="left")}, "must be both"),
        ({"output_size": 0}, "output_size must be positive, got 0"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
    ],
)
def test_a_config_is_loud(settings, reason):
    with pytest.raises(ValueError, match=reason):
        BertClassifierConfig(**settings)


def test_a_swapped_pair_is_the_other_pair():
    data = HeadCase(name="bert-matcher").data()
    batch = data.batch(torch.arange(5), 14)
    other = dataclasses.replace(data, first=data.second, second=data.first)
    wanted = other.batch(torch.arange(5), 14)
    found = batch.swapped(torch.ones(5, dtype=torch.bool))
    assert torch.equal(found.tokens.ids, wanted.tokens.ids)
    assert torch.equal(found.segments, wanted.segments)
    same = batch.swapped(torch.zeros(5, dtype=torch.bool))
    assert torch.equal(same.tokens.ids, batch.tokens.ids)
    assert torch.equal(same.segments, batch.segments)
