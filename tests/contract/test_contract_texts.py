"""What holds for every model of one text, whatever is inside it."""

import dataclasses
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch
from stored import stored
from text_cases import CASES, FOUR, PIPELINE, RAGGED

from registered import registered
from softquery.errors import BundleError
from softquery.models import SpellingConfig
from softquery.runtime.torch_models import build_model, load_task_model

TAGGERS = registered("tagger")

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
every_model = pytest.mark.parametrize("case", CASES, ids=str)


def logits_of(model, batch):
    with torch.inference_mode():
        return model(batch).logits


def loss_of(case, model, batch):
    return case.task.loss(model(batch), batch)


def real(logits, batch):
    return [row[mask] for row, mask in zip(logits, batch.tokens.mask, strict=True)]


def assert_same(left, right):
    for one, other in zip(left, right, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


def test_every_model_has_cases_and_every_choice_is_tried():
    assert {case.name for case in CASES} == set(TAGGERS)
    assert len({str(case) for case in CASES}) == len(CASES)
    parts = [(name, config, "settings") for name, (config, _) in TAGGERS.items()]
    for name, part, group in [*parts, ("tagger", SpellingConfig, "spelling")]:
        for setting, kind in get_type_hints(part).items():
            if get_origin(kind) is Literal:
                default = getattr(part(), setting)
                cases = [case for case in CASES if case.name == name]
                tried = {getattr(case, group).get(setting, default) for case in cases}
                assert tried == set(get_args(kind)), setting


@every_model
def test_outputs_have_their_shapes(case):
    batch = case.batch(extra_pad=2)
    output = case.build()(batch)
    assert output.logits.shape == (len(RAGGED), 8, case.task.output_size)
    assert output.logits.dtype == torch.float32
    assert torch.equal(output.mask, batch.tokens.mask)


@every_model
def test_every_parameter_gets_a_gradient(case):
    model = case.build()
    loss_of(case, model, case.batch()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


@every_model
def test_padding_changes_nothing(case):
    model = case.build().eval()
    plain, padded = case.batch(), case.batch(extra_pad=7)
    assert_same(real(logits_of(model, padded), padded), real(logits_of(model, plain), plain))
    torch.testing.assert_close(loss_of(case, model, padded), loss_of(case, model, plain), **CLOSE)


@every_model
def test_order_and_company_in_the_batch_change_nothing(case):
    model, order = case.build().eval(), [3, 0, 4, 2, 1]
    batch, shuffled = case.batch(), case.batch([RAGGED[place] for place in order])
    together = real(logits_of(model, batch), batch)
    assert_same(real(logits_of(model, shuffled), shuffled), [together[place] for place in order])
    for row, sentence in enumerate(RAGGED):
        alone = case.batch([sentence])
        assert_same(real(logits_of(model, alone), alone), together[row : row + 1])


@every_model
def test_nothing_is_remembered_and_the_batch_is_left_as_it_was(case):
    model, batch, untouched = case.build().eval(), case.batch(), case.batch()
    before = logits_of(model, batch)
    logits_of(model, case.batch(FOUR))
    assert torch.equal(logits_of(model, batch), before)
    loss_of(case, case.build(dropout=0.5), batch).backward()
    assert torch.equal(batch.tokens.ids, untouched.tokens.ids)
    assert torch.equal(batch.lexicon.words, untouched.lexicon.words)
    assert torch.equal(batch.label, untouched.label)


@every_model
def test_dropout_acts_in_training_alone(case):
    model, batch = case.build(dropout=0.5), case.batch()
    noisy = logits_of(model.train(), batch)
    assert not torch.allclose(logits_of(model, batch), noisy)
    calm = logits_of(model.eval(), batch)
    assert torch.equal(logits_of(model, batch), calm)
    model = case.build(dropout=0.0)
    torch.testing.assert_close(logits_of(model.train(), batch), logits_of(model.eval(), batch))


@every_model
def test_a_seed_determines_weights_and_dropout(case):
    first, second, other = (case.build(dropout=0.5, seed=seed) for seed in (3, 3, 4))
    found = []
    for model in (first, second, other):
        torch.manual_seed(5)
        found.append(logits_of(model, case.batch()))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


@every_model
def test_unknown_words_are_told_apart_by_their_characters(case):
    model = case.build().eval()
    one, other = (logits_of(model, case.batch([[word]])) for word in ("zebra", "giraffe"))
    assert torch.allclose(one, other) == (model.spelling is None)


@every_model
def test_bfloat16_autocast_is_finite(case):
    model, batch = case.build(), case.batch()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = loss_of(case, model, batch)
    loss.backward()
    assert loss.isfinite()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@every_model
def test_four_examples_are_learnt_by_heart(case):
    model, batch = case.build(), case.batch(FOUR)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    mask = batch.tokens.mask
    for _ in range(150):
        optimizer.zero_grad()
        loss = loss_of(case, model, batch)
        if loss.item() < 0.2:
            break
        loss.backward()
        optimizer.step()
    found = logits_of(model.eval(), batch)
    # Without characters two unknown words are one and the same.
    if model.spelling is not None:
        assert loss_of(case, model, batch).item() < 0.5
        if model.crf is None:
            assert torch.equal(found.argmax(dim=-1)[mask], batch.label[mask])
    assert loss_of(case, model, batch).item() < 1.5


@every_model
def test_labels_are_not_needed_to_answer(case):
    model, batch = case.build().eval(), case.batch()
    unlabelled = batch._replace(label=None)
    assert torch.equal(logits_of(model, unlabelled), logits_of(model, batch))
    with pytest.raises(ValueError, match="a loss needs"):
        loss_of(case, model, unlabelled)


def bundled(model, case, folder, **changes):
    return stored(model, case, folder, "tagger", PIPELINE, **changes)


@every_model
def test_a_bundle_brings_the_model_back(case, tmp_path):
    model = case.build(dropout=0.5)
    back = load_task_model(bundled(model, case, tmp_path / "model"))
    assert not back.training
    assert back.config == model.config
    assert torch.equal(logits_of(back, case.batch()), logits_of(model.eval(), case.batch()))


@every_model
def test_a_bundle_whose_sizes_lie_is_refused_in_one_line(case, tmp_path):
    bundle = bundled(case.build(), case, tmp_path / "model", embedding_size=7)
    with pytest.raises(BundleError, match="does not fit config.json") as caught:
        load_task_model(bundle)
    assert "\n" not in str(caught.value)


@every_model
def test_an_unknown_setting_is_named(case):
    settings = {**dataclasses.asdict(case.build().config), "hiden_sizes": (3,)}
    with pytest.raises(BundleError, match=rf"{case.name} has no setting 'hiden_sizes'"):
        build_model(case.name, settings)
