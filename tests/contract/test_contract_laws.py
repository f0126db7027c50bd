"""What holds for every matching model, whatever is inside it."""

import dataclasses

import pytest
import torch
from model_cases import CASES, FOUR, RAGGED, tokens

from registered import registered
from softquery.data import PairBatch
from softquery.tasks import PairGrading

MATCHERS = registered("matcher")

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
every_model = pytest.mark.parametrize("case", CASES, ids=str)


def logits_of(model, batch):
    with torch.inference_mode():
        return model(batch).logits


def loss_of(case, model, batch):
    return case.task.loss(model(batch), batch)


@every_model
def test_logits_and_weights_have_their_shapes(case):
    output = case.build()(case.batch(extra_pad=(2, 0)))
    assert output.logits.shape == (len(RAGGED), case.output_size)
    assert output.logits.dtype == torch.float32
    if output.first_to_second is not None:
        assert output.first_to_second.shape == (len(RAGGED), 9, 5)
        assert output.second_to_first.shape == (len(RAGGED), 5, 9)


@every_model
def test_every_parameter_gets_a_gradient(case):
    """Every one, LSTM and GRU bias pairs included; only the padding's row of a table gets none."""
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
    wanted = logits_of(model, case.batch())
    for extra_pad in ((7, 7), (7, 0), (0, 7)):
        torch.testing.assert_close(
            logits_of(model, case.batch(extra_pad=extra_pad)), wanted, **CLOSE
        )


@every_model
def test_weights_of_padding_are_zero(case):
    model = case.build().eval()
    plain, padded = model(case.batch()), model(case.batch(extra_pad=(7, 7)))
    if plain.first_to_second is None:
        assert plain.second_to_first is None
        return
    for name in ("first_to_second", "second_to_first"):
        short, long = getattr(plain, name), getattr(padded, name)
        rows, columns = short.shape[1:]
        torch.testing.assert_close(long[:, :rows, :columns], short, **CLOSE)
        assert not long[:, :, columns:].any()


@every_model
def test_sentences_without_tokens_are_finite_and_alike(case):
    model = case.build().eval()
    logits = logits_of(model, case.batch([([], []), ([], [2]), ([2], []), ([], [])]))
    assert logits.isfinite().all()
    torch.testing.assert_close(logits[0], logits[3], **CLOSE)


@every_model
def test_order_in_the_batch_changes_nothing(case):
    model = case.build().eval()
    order = [4, 0, 5, 2, 1, 3]
    shuffled = case.batch([RAGGED[place] for place in order])
    torch.testing.assert_close(
        logits_of(model, shuffled), logits_of(model, case.batch())[order], **CLOSE
    )


@every_model
def test_company_in_the_batch_changes_nothing(case):
    model = case.build().eval()
    together = logits_of(model, case.batch())
    alone = [logits_of(model, case.batch([pair])) for pair in RAGGED]
    torch.testing.assert_close(torch.cat(alone), together, **CLOSE)


@every_model
def test_nothing_is_remembered_between_calls(case):
    model = case.build().eval()
    batch = case.batch()
    before = logits_of(model, batch)
    logits_of(model, case.batch(FOUR))
    assert torch.equal(logits_of(model, batch), before)


@every_model
def test_the_batch_is_left_as_it_was(case):
    batch, untouched = case.batch(), case.batch()
    loss_of(case, case.build(dropout=0.5), batch).backward()
    for side, same in ((batch.first, untouched.first), (batch.second, untouched.second)):
        assert torch.equal(side.ids, same.ids)
        assert torch.equal(side.mask, same.mask)
    assert torch.equal(batch.label, untouched.label)


@every_model
def test_dropout_acts_in_training_alone(case):
    model, batch = case.build(dropout=0.5), case.batch()
    noisy = logits_of(model.train(), batch)
    assert not torch.allclose(logits_of(model, batch), noisy)
    calm = logits_of(model.eval(), batch)
    assert torch.equal(logits_of(model, batch), calm)
    assert not torch.allclose(calm, noisy)


@every_model
def test_without_dropout_training_equals_evaluation(case):
    model, batch = case.build(dropout=0.0), case.batch()
    torch.testing.assert_close(
        logits_of(model.train(), batch), logits_of(model.eval(), batch), **CLOSE
    )


@every_model
def test_a_seed_determines_weights_and_dropout(case):
    first, second, other = (case.build(dropout=0.5, seed=seed) for seed in (3, 3, 4))
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name
    torch.manual_seed(5)
    wanted = logits_of(first, case.batch())
    torch.manual_seed(5)
    assert torch.equal(logits_of(second, case.batch()), wanted)
    assert not torch.equal(first.embedder.table.weight, other.embedder.table.weight)


@every_model
def test_encode_then_compare_is_forward(case):
    model, batch = case.build().eval(), case.batch()
    with torch.inference_mode():
        apart = model.compare(model.encode(batch.first), model.encode(batch.second))
    torch.testing.assert_close(apart.logits, logits_of(model, batch), **CLOSE)


@every_model
def test_a_stored_side_is_compared_with_many(case):
    model = case.build().eval()
    query, documents = [3, 4, 5], [second for _, second in RAGGED]
    with torch.inference_mode():
        stored, asked = model.encode(tokens(documents)), model.encode(tokens([query]))
        output = model.compare(repeated(asked, len(documents)), stored)
    pairwise = [logits_of(model, case.batch([(query, document)])) for document in documents]
    torch.testing.assert_close(output.logits, torch.cat(pairwise), **CLOSE)


def repeated(encoded, count):
    if isinstance(encoded, torch.Tensor):
        return encoded.expand(count, *encoded.shape[1:])
    return type(encoded)(*(repeated(part, count) for part in encoded))


@every_model
def test_bfloat16_autocast_is_finite(case):
    model, batch = case.build(), case.batch()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(batch).logits
    case.task.loss(model(batch)._replace(logits=logits.float()), batch).backward()
    assert logits.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    torch.testing.assert_close(logits.float(), logits_of(model, batch), rtol=0.1, atol=0.1)


@every_model
def test_four_examples_are_learnt_by_heart(case):
    model, batch = case.build(), case.batch(FOUR)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(150):
        optimizer.zero_grad()
        loss_of(case, model, batch).backward()
        optimizer.step()
        if is_right(case.task, logits_of(model, batch), batch.label):
            break
    assert is_right(case.task, logits_of(model.eval(), batch), batch.label)


def is_right(task, logits, label):
    probabilities = task.probabilities(logits)
    if isinstance(task, PairGrading):
        return bool((probabilities[:, 0] - label).abs().max() < 0.05)
    return probabilities.argmax(dim=1).equal(label)


@every_model
def test_an_embedder_can_be_passed_in(case):
    """Any `TokenEmbedder` serves, even one whose truth value is false."""

    class OneHot(torch.nn.Module):
        output_size, added_size = 12, 0

        def __len__(self):
            return 0

        def forward(self, ids, lexicon=None):
            return torch.nn.functional.one_hot(ids, 12).float()

    config, model_class = MATCHERS[case.name]
    model = model_class(config(**{"hidden_size": 5, **case.settings}), OneHot())
    assert isinstance(model.embedder, OneHot)
    assert model(case.batch()).logits.shape == (len(RAGGED), case.output_size)


@every_model
def test_labels_are_not_needed_to_answer(case):
    model, batch = case.build().eval(), case.batch()
    unlabelled = PairBatch(batch.first, batch.second, None)
    assert torch.equal(logits_of(model, unlabelled), logits_of(model, batch))
    with pytest.raises(ValueError, match="a loss needs labels"):
        loss_of(case, model, unlabelled)


@pytest.mark.parametrize("name", MATCHERS)
def test_a_config_is_frozen_and_takes_keywords_alone(name):
    config, _ = MATCHERS[name]
    with pytest.raises(dataclasses.FrozenInstanceError):
        config().hidden_size = 3
    with pytest.raises(TypeError, match="positional"):
        config(3)
