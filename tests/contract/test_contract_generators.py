"""What holds for every model that writes, whatever is inside it."""

import dataclasses
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch
from generator_cases import CASES, FOUR, LEARNERS, RAGGED, batch, tokens
from torch._subclasses.fake_tensor import FakeTensorMode

from registered import registered
from softquery.decoding import Beam, Greedy, Rules
from softquery.models import AskingConfig, TorchStep, generate, select_rows
from softquery.tasks import Generation

GENERATORS = registered("generator")

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
TASK = Generation()
every_model = pytest.mark.parametrize("case", CASES, ids=str)
every_learner = pytest.mark.parametrize("case", LEARNERS, ids=str)


def logits_of(model, rows):
    with torch.inference_mode():
        return model(rows).logits


def texts(model, source, strategy, **settings):
    return [
        [each.tokens for each in found]
        for found in generate(model.eval(), source, strategy=strategy, **settings)
    ]


def test_every_model_has_cases():
    assert {case.name for case in CASES} == set(GENERATORS)
    assert len({str(case) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("name", GENERATORS)
def test_every_choice_of_a_config_is_tried(name):
    config, _ = GENERATORS[name]
    for setting, kind in get_type_hints(config).items():
        if get_origin(kind) is Literal:
            default = getattr(config(), setting)
            tried = {case.settings.get(setting, default) for case in CASES if case.name == name}
            assert tried == set(get_args(kind)), setting


def test_every_score_is_tried_with_either_asker():
    tried = {case.settings.get("attention", AskingConfig()) for case in CASES}
    kinds = get_type_hints(AskingConfig)
    assert {(each.asker, each.score) for each in tried} == {
        (asker, score) for asker in get_args(kinds["asker"]) for score in get_args(kinds["score"])
    }


@every_model
def test_logits_and_weights_have_their_shapes(case):
    rows = batch(extra_pad=(2, 0))
    output = case.build()(rows)
    assert output.logits.shape == (len(RAGGED), 6, 12)
    assert output.logits.dtype == torch.float32
    if output.attention is not None:
        assert output.attention.shape == (len(RAGGED), 6, 9)


@every_model
def test_every_parameter_gets_a_gradient(case):
    """Only what is added to all keys alike cancels in the softmax."""
    model, rows = case.build(), batch()
    TASK.loss(model(rows), rows).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        cancels = name.endswith(("key_projection.bias", "asking.score.query_weight"))
        assert parameter.grad.any() or cancels, name


@every_model
def test_padding_changes_nothing(case):
    model = case.build().eval()
    wanted = logits_of(model, batch())
    for extra_pad in ((7, 0), (0, 7), (5, 3)):
        found = logits_of(model, batch(extra_pad=extra_pad))
        length = 1
        for row, (_, target) in enumerate(RAGGED):
            length = len(target) + 1
            torch.testing.assert_close(found[row, :length], wanted[row, :length], **CLOSE)


@every_model
def test_company_and_order_in_the_batch_change_nothing(case):
    model, order = case.build().eval(), [4, 0, 3, 2, 1]
    together = logits_of(model, batch())
    shuffled = logits_of(model, batch([RAGGED[place] for place in order]))
    torch.testing.assert_close(shuffled, together[order], **CLOSE)
    for row, pair in enumerate(RAGGED):
        alone = logits_of(model, batch([pair]))
        torch.testing.assert_close(alone[0], together[row, : alone.shape[1]], **CLOSE)


@every_model
def test_no_word_knows_those_after_it(case):
    model = case.build().eval()
    changed = [([5, 6], [7, 8, 9, 10]), ([5, 6], [7, 8, 4, 11])]
    found = logits_of(model, batch(changed))
    torch.testing.assert_close(found[0, :3], found[1, :3], **CLOSE)
    assert not torch.allclose(found[0, 3:], found[1, 3:])


@every_model
def test_every_word_knows_the_source(case):
    model = case.build().eval()
    found = logits_of(model, batch([([5, 6, 7], [7, 8, 9]), ([5, 6, 4], [7, 8, 9])]))
    assert ((found[0] - found[1]).abs().amax(dim=-1) > 1e-6).all()


@every_model
def test_step_by_step_equals_the_whole(case):
    """From the cached past, one word at a time, as from all words at once."""
    model, rows = case.build().eval(), batch()
    whole = model(rows)
    with torch.inference_mode():
        source = model.encode(rows.source)
        state = model.initial_state(source)
        for place in range(rows.inputs.shape[1]):
            stepped = model.step(rows.inputs[:, place], state, source, weights="shown")
            torch.testing.assert_close(stepped.logits, whole.logits[:, place], **CLOSE)
            if whole.attention is not None:
                weights = whole.attention[:, place]
                torch.testing.assert_close(stepped.attention, weights, **CLOSE)
            state = stepped.state


@every_model
def test_rows_of_a_state_go_on_on_their_own(case):
    model, rows = case.build().eval(), batch()
    picked = torch.tensor([3, 0, 0])
    with torch.inference_mode():
        source = model.encode(rows.source)
        state = model.step(rows.inputs[:, 0], model.initial_state(source), source).state
        wanted = model.step(rows.inputs[:, 1], state, source).logits[picked]
        some, their_source = select_rows(state, picked), select_rows(source, picked)
        found = model.step(rows.inputs[picked, 1], some, their_source).logits
    torch.testing.assert_close(found, wanted, **CLOSE)


@every_model
def test_shown_weights_are_shares_of_the_real_tokens(case):
    model, rows = case.build().eval(), batch(extra_pad=(3, 0))
    with torch.inference_mode():
        source = model.encode(rows.source)
        start = model.initial_state(source)
        stepped = model.step(rows.inputs[:, 0], start, source, weights="shown")
        hidden = model.step(rows.inputs[:, 0], start, source)
    torch.testing.assert_close(stepped.logits, hidden.logits, **CLOSE)
    if stepped.attention is None:
        assert case.settings["context"] != "attention"
        return
    weights = stepped.attention.flatten(1, -2) if stepped.attention.dim() > 2 else (
        stepped.attention.unsqueeze(1)
    )  # fmt: skip
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:2]), **CLOSE)
    assert not weights.masked_select(~rows.source.mask.unsqueeze(1)).any()


@every_model
def test_texts_do_not_depend_on_company(case):
    model, rules = case.build(), Rules(max_length=7)
    source = tokens([first for first, _ in RAGGED])
    for strategy in (Greedy(), Beam(size=3, num_best=3)):
        together = texts(model, source, strategy, rules=rules)
        alone = [texts(model, tokens([first]), strategy, rules=rules)[0] for first, _ in RAGGED]
        assert alone == together


@every_model
def test_a_beam_of_one_is_greedy(case):
    model, rules = case.build(seed=2), Rules(max_length=7)
    source = tokens([first for first, _ in RAGGED])
    narrow = texts(model, source, Beam(size=1), rules=rules)
    assert narrow == texts(model, source, Greedy(), rules=rules)


@every_model
def test_a_text_is_as_likely_as_the_whole_says(case):
    model, source = case.build().eval(), tokens([[5, 6, 7]])
    (found,), *_ = generate(model, source, strategy=Beam(size=3), rules=Rules(max_length=5))
    rows = batch([([5, 6, 7], list(found.tokens))])
    said = logits_of(model, rows).log_softmax(dim=-1)
    total = said.gather(2, rows.labels.unsqueeze(-1)).sum()
    assert found.log_probability == pytest.approx(float(total), abs=1e-4)


@every_model
def test_nothing_is_remembered_between_calls(case):
    model, rows = case.build().eval(), batch()
    before = logits_of(model, rows)
    logits_of(model, batch(FOUR))
    texts(model, tokens([[4, 5]]), Greedy(), rules=Rules(max_length=3))
    assert torch.equal(logits_of(model, rows), before)


@every_model
def test_the_batch_is_left_as_it_was(case):
    rows, untouched = batch(), batch()
    TASK.loss(case.build(dropout=0.5)(rows), rows).backward()
    for side, same in zip(rows, untouched, strict=True):
        assert torch.equal(side.ids, same.ids)
        assert torch.equal(side.mask, same.mask)


@every_model
def test_dropout_acts_in_training_alone(case):
    model, rows = case.build(dropout=0.5), batch()
    noisy = logits_of(model.train(), rows)
    assert not torch.allclose(logits_of(model, rows), noisy)
    calm = logits_of(model.eval(), rows)
    assert torch.equal(logits_of(model, rows), calm)


@every_model
def test_without_dropout_training_equals_evaluation(case):
    model, rows = case.build(), batch()
    torch.testing.assert_close(
        logits_of(model.train(), rows), logits_of(model.eval(), rows), **CLOSE
    )


@every_model
def test_a_seed_determines_weights_and_dropout(case):
    first, second, other = (case.build(dropout=0.5, seed=seed) for seed in (3, 3, 4))
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name
    torch.manual_seed(5)
    wanted = logits_of(first, batch())
    torch.manual_seed(5)
    assert torch.equal(logits_of(second, batch()), wanted)
    assert not torch.equal(first.words.target.weight, other.words.target.weight)


@every_model
def test_a_state_dict_brings_the_weights_back_and_holds_each_once(case):
    model, other = case.build(seed=1).eval(), case.build(seed=2).eval()
    assert not torch.equal(logits_of(model, batch()), logits_of(other, batch()))
    other.load_state_dict(model.state_dict())
    assert torch.equal(logits_of(model, batch()), logits_of(other, batch()))
    places = [value.data_ptr() for value in model.state_dict().values()]
    assert len(places) == len(set(places))


@every_model
def test_bfloat16_autocast_is_finite_and_close(case):
    model, rows = case.build(), batch()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = model(rows)
        TASK.loss(output, rows).backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    torch.testing.assert_close(output.logits.float(), logits_of(model, rows), rtol=0.1, atol=0.15)


@every_model
def test_shapes_alone_decide_what_is_computed(case):
    """Fake tensors have no numbers to look at: what runs on them, a CUDA graph can capture."""
    rows = batch()
    with FakeTensorMode() as fake:
        model = case.build(dropout=0.1)
        moved = type(rows)(*(type(side)(*map(fake.from_tensor, side)) for side in rows))
        TASK.loss(model(moved), moved).backward()
    assert all(parameter.grad.shape == parameter.shape for parameter in model.parameters())


@every_learner
def test_four_examples_are_learnt_by_heart(case):
    model, rows = case.build(seed=5), batch(FOUR)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    wanted = [[tuple(target)] for _, target in FOUR]
    task = Generation(smoothing=0.0)
    for _ in range(20):
        for _ in range(20):
            optimizer.zero_grad()
            task.loss(model.train()(rows), rows).backward()
            optimizer.step()
        found = [texts(model, rows.source, strategy) for strategy in (Greedy(), Beam(size=4))]
        if found == [wanted, wanted]:
            break
    assert found == [wanted, wanted]


def test_decoding_needs_evaluation_mode():
    with pytest.raises(ValueError, match="decoding needs a model in evaluation mode"):
        TorchStep(CASES[0].build())


@pytest.mark.parametrize("name", GENERATORS)
def test_a_config_is_frozen_and_takes_keywords_alone(name):
    config, _ = GENERATORS[name]
    with pytest.raises(dataclasses.FrozenInstanceError):
        config().hidden_size = 3
    with pytest.raises(TypeError, match="positional"):
        config(3)
