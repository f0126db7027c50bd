"""What holds for every sentence encoder, whatever is inside it."""

import dataclasses
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch
from sentence_cases import CASES, FOUR, OUTPUT_SIZE, RAGGED, SENTENCE_ENCODERS
from stored import stored

from softquery.errors import BundleError
from softquery.models.pooled_encoder import SentencePool
from softquery.runtime.torch_models import build_model, load_task_model
from softquery.text import TextConfig, build_pipeline

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
every_model = pytest.mark.parametrize("case", CASES, ids=str)


def vectors_of(model, batch):
    with torch.inference_mode():
        return model(batch).vectors


def loss_of(case, model, batch):
    return case.task.loss(model(batch), batch)


def test_every_model_has_cases_and_every_choice_is_tried():
    assert {case.name for case in CASES} == set(SENTENCE_ENCODERS)
    assert len({str(case) for case in CASES}) == len(CASES)
    for name, (config, _) in SENTENCE_ENCODERS.items():
        for setting, kind in get_type_hints(config).items():
            if get_origin(kind) is Literal:
                default = getattr(config(), setting)
                tried = {case.settings.get(setting, default) for case in CASES if case.name == name}
                assert tried == set(get_args(kind)), setting
    pools = {pool for case in CASES for pool in case.settings.get("pools", ())}
    assert pools == set(get_args(SentencePool))


@every_model
def test_vectors_have_length_one(case):
    batch = case.batch(extra_pad=2)
    output = case.build()(batch)
    assert output.vectors.shape == (len(RAGGED), OUTPUT_SIZE)
    assert output.vectors.dtype == torch.float32
    torch.testing.assert_close(output.vectors.norm(dim=-1), torch.ones(len(RAGGED)))
    assert torch.equal(output.vectors, case.build().encode(batch.tokens).vectors)


@every_model
def test_weights_sum_to_one_over_what_is_there(case):
    batch = case.batch(extra_pad=3)
    weights = case.build().eval()(batch).weights
    if weights is None:
        assert "query" not in case.settings["pools"]
        return
    assert not weights[~batch.tokens.mask].any()
    wanted = torch.tensor([1.0 if text else 0.0 for text in RAGGED])
    torch.testing.assert_close(weights.sum(dim=1), wanted)


@every_model
def test_every_parameter_gets_a_gradient(case):
    model = case.build()
    loss_of(case, model, case.batch()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name
    assert not model.embedder.table.weight.grad[0].any()


@every_model
def test_padding_changes_nothing(case):
    model = case.build().eval()
    plain, padded = (vectors_of(model, case.batch(extra_pad=pad)) for pad in (0, 7))
    torch.testing.assert_close(padded, plain, **CLOSE)


@every_model
def test_order_and_company_in_the_batch_change_nothing(case):
    model, order = case.build().eval(), [3, 0, 4, 2, 1]
    together = vectors_of(model, case.batch())
    shuffled = vectors_of(model, case.batch([RAGGED[place] for place in order]))
    torch.testing.assert_close(shuffled, together[order], **CLOSE)
    alone = [vectors_of(model, case.batch([text])) for text in RAGGED]
    torch.testing.assert_close(torch.cat(alone), together, **CLOSE)


@every_model
def test_order_of_words_matters_where_something_reads_them(case):
    model = case.build().eval()
    one, other = (vectors_of(model, case.batch([words])) for words in ([5, 6, 7], [7, 6, 5]))
    assert torch.allclose(one, other, atol=1e-4) is not case.reads_order


@every_model
def test_a_text_of_nothing_has_the_vector_of_the_bias(case):
    model = case.build().eval()
    torch.nn.init.normal_(model.output.bias)
    if model.middle is not None:
        torch.nn.init.zeros_(model.middle.bias)  # it would speak of nothing, too
    found = vectors_of(model, case.batch([[], [4], []]))
    wanted = torch.nn.functional.normalize(model.output.bias.detach(), dim=0)
    torch.testing.assert_close(found[0], wanted, **CLOSE)
    torch.testing.assert_close(found[2], wanted, **CLOSE)
    torch.testing.assert_close(vectors_of(model, case.batch([[]]))[0], wanted, **CLOSE)


@every_model
def test_nothing_is_remembered_and_the_batch_is_left_as_it_was(case):
    model, batch, untouched = case.build().eval(), case.batch(), case.batch()
    before = vectors_of(model, batch)
    vectors_of(model, case.batch(FOUR))
    assert torch.equal(vectors_of(model, batch), before)
    loss_of(case, case.build(dropout=0.5), batch).backward()
    assert torch.equal(batch.tokens.ids, untouched.tokens.ids)
    assert torch.equal(batch.tokens.mask, untouched.tokens.mask)
    assert torch.equal(batch.vectors, untouched.vectors)


@every_model
def test_dropout_acts_in_training_alone(case):
    model, batch = case.build(dropout=0.5), case.batch()
    noisy = vectors_of(model.train(), batch)
    assert not torch.allclose(vectors_of(model, batch), noisy)
    calm = vectors_of(model.eval(), batch)
    assert torch.equal(vectors_of(model, batch), calm)
    model = case.build(dropout=0.0)
    torch.testing.assert_close(vectors_of(model.train(), batch), vectors_of(model.eval(), batch))


@every_model
def test_a_seed_determines_weights_and_dropout(case):
    first, second, other = (case.build(dropout=0.5, seed=seed) for seed in (3, 3, 4))
    found = []
    for model in (first, second, other):
        torch.manual_seed(5)
        found.append(vectors_of(model, case.batch()))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


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
    for _ in range(300):
        optimizer.zero_grad()
        loss_of(case, model, batch).backward()
        optimizer.step()
        if learnt(model, batch):
            break
    assert learnt(model.eval(), batch)


def learnt(model, batch):
    return bool(((vectors_of(model, batch) * batch.vectors).sum(dim=-1) > 0.9).all())


@every_model
def test_a_teacher_is_not_needed_to_answer(case):
    model, batch = case.build().eval(), case.batch()
    untaught = batch._replace(vectors=None)
    assert torch.equal(vectors_of(model, untaught), vectors_of(model, batch))
    with pytest.raises(ValueError, match="a loss needs the teacher's vectors"):
        loss_of(case, model, untaught)


@pytest.mark.parametrize("name", SENTENCE_ENCODERS)
def test_a_config_is_frozen_takes_keywords_alone_and_is_loud(name):
    config, _ = SENTENCE_ENCODERS[name]
    with pytest.raises(dataclasses.FrozenInstanceError):
        config().hidden_size = 3
    with pytest.raises(TypeError, match="positional"):
        config(3)
    with pytest.raises(ValueError, match="hidden_size must be positive, got 0"):
        config(hidden_size=0)
    with pytest.raises(ValueError, match=r"dropout must be in \[0, 1\), got 1.0"):
        config(dropout=1.0)


def bundled(model, case, folder, **changes):
    pipeline = build_pipeline(["a b c d e f g h"], TextConfig())
    return stored(model, case, folder, "sentence-encoder", pipeline, **changes)


@every_model
def test_a_bundle_brings_the_model_back(case, tmp_path):
    model = case.build(dropout=0.5)
    back = load_task_model(bundled(model, case, tmp_path / "model"))
    assert not back.training
    assert back.config == model.config
    assert torch.equal(vectors_of(back, case.batch()), vectors_of(model.eval(), case.batch()))


@every_model
def test_a_bundle_whose_sizes_lie_is_refused_in_one_line(case, tmp_path):
    bundle = bundled(case.build(), case, tmp_path / "model", output_size=OUTPUT_SIZE - 1)
    with pytest.raises(BundleError, match="does not fit config.json") as caught:
        load_task_model(bundle)
    assert "\n" not in str(caught.value)


@every_model
def test_an_unknown_setting_is_named(case):
    settings = {**dataclasses.asdict(case.build().config), "hiden_size": 3}
    with pytest.raises(BundleError, match=rf"{case.name} has no setting 'hiden_size'"):
        build_model(case.name, settings)
