"""Where an answer begins and ends: the loss, and what comes back from a config."""

import math

import pytest
import torch

from softquery.answers import ContextWindow, ReadingRules
from softquery.data import encode_windows
from softquery.nn import SpanHead, SpanOutput
from softquery.tasks import SpanReading
from softquery.text import TextConfig, pipeline_from_words

PIPELINE = pipeline_from_words(["a"], TextConfig())
LOWEST = torch.finfo(torch.float32).min


def batch_of(*labels):
    windows = [ContextWindow(["a"], ["a", "b", "c"])] * len(labels)
    made = encode_windows(windows, PIPELINE, max_characters=3, labels=labels)
    return made.batch(torch.arange(len(labels)), 4, question_length=1)


def output_of(batch, start, end, none=None):
    def padded(values):
        return torch.tensor([[*values, LOWEST]] * batch.size)

    given = None if none is None else torch.tensor(none)
    return SpanOutput(padded(start), padded(end), batch.context.mask, given)


def task(**rules):
    return SpanReading(rules=ReadingRules(**rules))


def test_the_loss_is_the_likelihood_of_both_ends():
    batch = batch_of((0, 1), (2, 2))
    output = output_of(batch, [math.log(2), 0.0, 0.0], [0.0, math.log(3), 0.0])
    first = -math.log(2 / 4) - math.log(3 / 5)
    second = -math.log(1 / 4) - math.log(1 / 5)
    assert task().loss(output, batch).item() == pytest.approx((first + second) / 2)


def test_no_answer_is_one_more_place():
    batch = batch_of((-1, -1), (0, 1))
    output = output_of(batch, [0.0] * 3, [0.0] * 3, none=[math.log(2), 0.0])
    first = -math.log(2 / 5) - math.log(1 / 4)
    second = -math.log(1 / 5) - math.log(1 / 4)
    found = task(no_answer="learnt").loss(output, batch)
    assert found.item() == pytest.approx((first + second) / 2)


@pytest.mark.parametrize("none", [None, [0.0, 1.0]])
def test_two_passes_that_differ_cost_more(none):
    """Padding is as unlikely in both passes, and adds nothing."""
    batch = batch_of(*[(0, 1), (2, 2)] * 2)
    output = output_of(batch, [0.5, 0.0, 0.0], [0.0, 1.0, 0.0], none=none)
    output.start[2:, 0] = 2.0
    rules = ReadingRules(no_answer="never" if none is None else "learnt")
    alone, agreeing = (SpanReading(rules=rules, consistency=each) for each in (0.0, 2.0))
    places = (output.start, output.end)
    if none is not None:
        before = output.none.expand(batch.size, 2).split(1, dim=1)
        places = [torch.cat(each, dim=1) for each in zip(before, places, strict=True)]
    first, second = (each.softmax(dim=1).double() for each in places)
    apart = sum(
        ((one - other) * (one.log() - other.log())).nan_to_num().sum() / 4
        for part in (first, second)
        for one, other in zip(part[:2], part[2:], strict=True)
    )
    more = agreeing.loss(output, batch) - alone.loss(output, batch)
    assert more.item() == pytest.approx(2.0 * apart.item(), rel=1e-5)
    assert apart > 0


@pytest.mark.parametrize("weight", [-1.0, float("nan")])
def test_an_agreement_is_not_negative(weight):
    with pytest.raises(ValueError, match=f"consistency must not be negative, got {weight}"):
        SpanReading(rules=ReadingRules(), consistency=weight)


def test_a_report_counts_as_the_rules_say():
    found = task().report([["the cat"], ["dog"]], ["cat", "a fish"])
    assert (found["f1"], found["exact_match"], found["n"]) == (0.5, 0.5, 2)
    assert task(counting="cmrc").report([["光荣"]], ["光"])["f1"] == pytest.approx(2 / 3)


def test_a_config_brings_the_task_back():
    given = task(no_answer="learnt", max_words=7, counting="cmrc")
    assert SpanReading.from_dict(given.to_dict()) == given
    assert given.to_dict()["name"] == "read"
    assert (given.steers_by, given.output_size) == ("f1", 2)


def test_any_states_can_carry_the_head():
    """As an encoder without a second look at the end would."""
    torch.manual_seed(1)
    states, mask = torch.randn(2, 5, 8), torch.ones(2, 5, dtype=torch.bool)
    mask[1, 3:] = False
    head = SpanHead(8, none="learnt")
    output = head(states, mask)
    torch.testing.assert_close(output.start[0], states[0] @ head.start.weight[0])
    assert output.end[1, 3:].tolist() == [LOWEST, LOWEST]
    assert output.none.tolist() == [0.0, 0.0]
    assert SpanHead(8, 3)(states, mask, states[..., :3]).none is None
