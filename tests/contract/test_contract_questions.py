"""What holds for every model of questions and contexts, whatever is inside it."""

import dataclasses
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch
from question_cases import CASES, FOUR, LABELS, PIPELINE, RAGGED

from registered import registered
from softquery import __version__
from softquery.answers import ContextWindow
from softquery.bundle import BundleConfig, read_bundle, write_bundle
from softquery.errors import BundleError
from softquery.models import BiDafConfig, SpellingConfig
from softquery.runtime.torch_models import build_model, config_of, load_task_model

READERS = registered("reader")

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
every_model = pytest.mark.parametrize("case", CASES, ids=str)


def scores_of(model, batch):
    """Both scores at every real word, window by window."""
    with torch.inference_mode():
        output = model(batch)
    pairs = torch.stack([output.start, output.end], dim=-1)
    return [row[mask] for row, mask in zip(pairs, batch.context.mask, strict=True)]


def loss_of(case, model, batch):
    return case.task.loss(model(batch), batch)


def assert_same(left, right):
    for one, other in zip(left, right, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


def test_every_model_has_cases_and_every_choice_is_tried():
    assert {case.name for case in CASES} == set(READERS)
    assert len({str(case) for case in CASES}) == len(CASES)
    parts = [(name, config, "settings") for name, (config, _) in READERS.items()]
    for name, part, group in [*parts, ("bidaf", SpellingConfig, "spelling")]:
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
    assert output.start.shape == output.end.shape == (len(RAGGED), 8)
    assert output.start.dtype == torch.float32
    assert output.scores.shape == (len(RAGGED), 8, 7)
    assert torch.equal(output.mask, batch.context.mask)
    assert (output.none is not None) == case.learns_none


@every_model
def test_padding_is_never_the_answer(case):
    batch = case.batch(extra_pad=3)
    output = case.build()(batch)
    for scores in (output.start, output.end):
        assert scores.masked_select(~batch.context.mask).max() < -1e30
        assert torch.equal(scores.softmax(dim=1).masked_select(~batch.context.mask),
                           torch.zeros(int((~batch.context.mask).sum())))  # fmt: skip


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
    assert_same(scores_of(model, padded), scores_of(model, plain))
    torch.testing.assert_close(loss_of(case, model, padded), loss_of(case, model, plain), **CLOSE)


@every_model
def test_order_and_company_in_the_batch_change_nothing(case):
    model, order = case.build().eval(), [3, 0, 2, 1]
    together = scores_of(model, case.batch())
    shuffled = scores_of(model, case.batch([RAGGED[place] for place in order]))
    assert_same(shuffled, [together[place] for place in order])
    for row, window in enumerate(RAGGED):
        assert_same(scores_of(model, case.batch([window])), together[row : row + 1])


@every_model
def test_the_question_matters_and_so_does_the_context(case):
    model = case.build().eval()
    words = ["the", "cat", "sat"]
    one, other = (
        scores_of(model, case.batch([ContextWindow(question, words)]))
        for question in (["who", "sat"], ["on", "a", "mat"])
    )
    assert not torch.allclose(one[0], other[0])


@every_model
def test_nothing_is_remembered_and_the_batch_is_left_as_it_was(case):
    model, batch, untouched = case.build().eval(), case.batch(), case.batch()
    before = scores_of(model, batch)
    scores_of(model, case.batch(FOUR))
    for one, two in zip(scores_of(model, batch), before, strict=True):
        assert torch.equal(one, two)
    loss_of(case, case.build(dropout=0.5), batch).backward()
    assert torch.equal(batch.context.ids, untouched.context.ids)
    assert torch.equal(batch.question.ids, untouched.question.ids)
    assert torch.equal(batch.lexicon.words, untouched.lexicon.words)
    assert torch.equal(batch.label, untouched.label)


@every_model
def test_dropout_acts_in_training_alone(case):
    model, batch = case.build(dropout=0.5), case.batch()
    noisy = torch.cat(scores_of(model.train(), batch))
    assert not torch.allclose(torch.cat(scores_of(model, batch)), noisy)
    calm = torch.cat(scores_of(model.eval(), batch))
    assert torch.equal(torch.cat(scores_of(model, batch)), calm)
    model = case.build(dropout=0.0)
    assert_same(scores_of(model.train(), batch), scores_of(model.eval(), batch))


@every_model
def test_a_seed_determines_weights_and_dropout(case):
    found = []
    for model in (case.build(dropout=0.5, seed=seed) for seed in (3, 3, 4)):
        torch.manual_seed(5)
        found.append(torch.cat(scores_of(model, case.batch())))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


@every_model
def test_unknown_words_are_told_apart_by_their_characters(case):
    model = case.build().eval()
    one, other = (
        scores_of(model, case.batch([ContextWindow(["who"], [word, "sat"])]))[0]
        for word in ("zebra", "giraffe")
    )
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
    labels = [*LABELS[:-1], (-1, -1)] if case.learns_none else LABELS
    model, batch = case.build(), case.batch(FOUR, labels=labels)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(120):
        optimizer.zero_grad()
        loss = loss_of(case, model, batch)
        if loss.item() < 0.1:
            break
        loss.backward()
        optimizer.step()
    assert loss_of(case, model.eval(), batch).item() < 0.2


@every_model
def test_labels_are_not_needed_to_answer(case):
    model, batch = case.build().eval(), case.batch()
    unlabelled = batch._replace(label=None)
    assert_same(scores_of(model, unlabelled), scores_of(model, batch))
    with pytest.raises(ValueError, match="a loss needs"):
        loss_of(case, model, unlabelled)


@every_model
def test_encoding_alone_and_reading_together_is_the_same(case):
    model, batch = case.build().eval(), case.batch()
    with torch.inference_mode():
        context = model.encode(batch.context, batch.lexicon)
        question = model.encode(batch.question, batch.lexicon)
        parts, whole = model.read(context, question), model(batch)
    assert torch.equal(parts.start, whole.start)
    assert torch.equal(parts.end, whole.end)


def bundled(model, case, folder, **changes):
    write_bundle(
        folder,
        config=BundleConfig(
            kind="reader",
            model={"name": case.name, "config": {**config_of(model), **changes}},
            task=case.task.to_dict(),
            text=PIPELINE.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=PIPELINE.tokenizer.to_str(),
        weights={name: value.numpy() for name, value in model.state_dict().items()},
        metrics={"n": 0},
        card="# a case\n",
    )
    return read_bundle(folder)


@every_model
def test_a_bundle_brings_the_model_back(case, tmp_path):
    model = case.build(dropout=0.5)
    back = load_task_model(bundled(model, case, tmp_path / "model"))
    assert not back.training
    assert back.config == model.config
    for one, two in zip(scores_of(back, case.batch()), scores_of(model.eval(), case.batch()),
                        strict=True):  # fmt: skip
        assert torch.equal(one, two)


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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden_size": 0}, "hidden_size must be positive, got 0"),
        ({"num_layers": 0}, "num_layers must be positive, got 0"),
        ({"num_highways": -1}, "num_highways must not be negative, got -1"),
        ({"output_size": 3}, "output_size must be 2, a beginning and an end, got 3"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
    ],
)
def test_senseless_sizes_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        BiDafConfig(**settings)
