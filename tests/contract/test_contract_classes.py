"""What holds for every classifier of texts, whatever is inside it."""

import dataclasses
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch
from class_cases import CASES, FOUR, RAGGED
from stored import stored

from registered import registered
from softquery.errors import BundleError
from softquery.runtime.torch_models import build_model, load_task_model
from softquery.text import TextConfig, build_pipeline

CLASSIFIERS = registered("classifier")

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
every_model = pytest.mark.parametrize("case", CASES, ids=str)


def logits_of(model, batch):
    with torch.inference_mode():
        return model(batch).logits


def loss_of(case, model, batch):
    return case.task.loss(model(batch), batch)


def test_every_model_has_cases_and_every_choice_is_tried():
    assert {case.name for case in CASES} == set(CLASSIFIERS)
    assert len({str(case) for case in CASES}) == len(CASES)
    for name, (config, _) in CLASSIFIERS.items():
        for setting, kind in get_type_hints(config).items():
            if get_origin(kind) is Literal:
                default = getattr(config(), setting)
                tried = {case.settings.get(setting, default) for case in CASES if case.name == name}
                assert tried == set(get_args(kind)), setting


@every_model
def test_outputs_have_their_shapes(case):
    batch = case.batch(extra_pad=2)
    output = case.build()(batch)
    assert output.logits.shape == (len(RAGGED), 3)
    assert output.logits.dtype == torch.float32
    assert output.word_weights.shape == (batch.ids if case.is_hierarchical else
                                         batch.tokens.ids).shape  # fmt: skip
    if case.is_hierarchical:
        assert output.sentence_weights.shape == batch.ids.shape[:2]
    else:
        assert output.sentence_weights is None


@every_model
def test_weights_sum_to_one_over_what_is_there_and_padding_has_none(case):
    batch = case.batch(extra_pad=3)
    with torch.inference_mode():
        output = case.build().eval()(batch)
    mask = batch.mask if case.is_hierarchical else batch.tokens.mask
    assert not output.word_weights[~mask].any()
    for text, weights in zip(RAGGED, case.real_weights(output), strict=True):
        for each in weights:
            wanted = 1.0 if len(each) else 0.0
            assert each.sum().item() == pytest.approx(wanted, abs=1e-5)
        assert len(weights) == (len(text) + 1 if case.is_hierarchical else 1)


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
    plain, padded = (model(case.batch(extra_pad=pad)) for pad in (0, 7))
    torch.testing.assert_close(padded.logits, plain.logits, **CLOSE)
    for one, other in zip(case.real_weights(padded), case.real_weights(plain), strict=True):
        for left, right in zip(one, other, strict=True):
            torch.testing.assert_close(left, right, **CLOSE)


@every_model
def test_order_and_company_in_the_batch_change_nothing(case):
    model, order = case.build().eval(), [3, 0, 4, 2, 1]
    together = logits_of(model, case.batch())
    shuffled = logits_of(model, case.batch([RAGGED[place] for place in order]))
    torch.testing.assert_close(shuffled, together[order], **CLOSE)
    alone = [logits_of(model, case.batch([text])) for text in RAGGED]
    torch.testing.assert_close(torch.cat(alone), together, **CLOSE)


@every_model
def test_order_of_words_does_change_something(case):
    model = case.build().eval()
    one, other = (logits_of(model, case.batch([[words]])) for words in ([5, 6, 7], [7, 6, 5]))
    assert not torch.allclose(one, other, atol=1e-4)


@every_model
def test_a_text_of_nothing_is_answered_by_the_bias_alone(case):
    model = case.build().eval()
    torch.nn.init.normal_(model.output.bias)
    found = logits_of(model, case.batch([[], [[4]], []]))
    torch.testing.assert_close(found[0], model.output.bias.detach(), **CLOSE)
    torch.testing.assert_close(found[2], found[0], **CLOSE)
    only = logits_of(model, case.batch([[]]))
    torch.testing.assert_close(only[0], found[0], **CLOSE)


@every_model
def test_nothing_is_remembered_and_the_batch_is_left_as_it_was(case):
    model, batch, untouched = case.build().eval(), case.batch(), case.batch()
    before = logits_of(model, batch)
    logits_of(model, case.batch(FOUR))
    assert torch.equal(logits_of(model, batch), before)
    loss_of(case, case.build(dropout=0.5), batch).backward()
    for one, other in zip(batch, untouched, strict=True):
        for left, right in zip(tensors(one), tensors(other), strict=True):
            assert torch.equal(left, right)


def tensors(part):
    if isinstance(part, torch.Tensor):
        return [part]
    return [] if part is None else [each for inner in part for each in tensors(inner)]


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
    for _ in range(150):
        optimizer.zero_grad()
        loss_of(case, model, batch).backward()
        optimizer.step()
        if logits_of(model, batch).argmax(dim=1).equal(batch.label):
            break
    assert logits_of(model.eval(), batch).argmax(dim=1).equal(batch.label)


@every_model
def test_labels_are_not_needed_to_answer(case):
    model, batch = case.build().eval(), case.batch()
    unlabelled = batch._replace(label=None)
    assert torch.equal(logits_of(model, unlabelled), logits_of(model, batch))
    with pytest.raises(ValueError, match="a loss needs labels"):
        loss_of(case, model, unlabelled)


@every_model
def test_an_embedder_can_be_passed_in(case):
    """Any module from ids to vectors serves, even one whose truth value is false."""

    class OneHot(torch.nn.Module):
        output_size, added_size = 12, 0

        def __len__(self):
            return 0

        def forward(self, ids, lexicon=None):
            return torch.nn.functional.one_hot(ids, 12).float()

    config, model_class = CLASSIFIERS[case.name]
    model = model_class(config(hidden_size=5, output_size=3, **case.settings), OneHot())
    assert isinstance(model.embedder, OneHot)
    assert model(case.batch()).logits.shape == (len(RAGGED), 3)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_config_is_frozen_takes_keywords_alone_and_is_loud(name):
    config, _ = CLASSIFIERS[name]
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
    return stored(model, case, folder, "classifier", pipeline, **changes)


@every_model
def test_a_bundle_brings_the_model_back(case, tmp_path):
    model = case.build(dropout=0.5)
    back = load_task_model(bundled(model, case, tmp_path / "model"))
    assert not back.training
    assert back.config == model.config
    assert torch.equal(logits_of(back, case.batch()), logits_of(model.eval(), case.batch()))


@every_model
def test_a_bundle_whose_sizes_lie_is_refused_in_one_line(case, tmp_path):
    bundle = bundled(case.build(), case, tmp_path / "model", hidden_size=7)
    with pytest.raises(BundleError, match="does not fit config.json") as caught:
        load_task_model(bundle)
    assert "\n" not in str(caught.value)


@every_model
def test_an_unknown_setting_is_named(case):
    settings = {**dataclasses.asdict(case.build().config), "hiden_size": 3}
    with pytest.raises(BundleError, match=rf"{case.name} has no setting 'hiden_size'"):
        build_model(case.name, settings)
