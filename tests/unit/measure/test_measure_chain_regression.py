"""A linear-chain CRF in numpy: against all sequences, and as a fit."""

from itertools import product

import numpy as np
import pytest

from softquery.measure.chain_regression import Steps, TokenRows, _ChainLoss, fit_chain

LENGTHS, TAGS = [3, 1, 4, 2], 3
PENALTIES = (0.3, 0.2)


def drawn(seed):
    draw = np.random.default_rng(seed)
    num = sum(LENGTHS)
    rows = TokenRows(
        draw.normal(size=(num, 3)).astype(np.float32), draw.integers(0, 6, (num, 2)), 5
    )
    return rows, draw.integers(0, TAGS, num), draw


def mean_loss_over_all_sequences(fit, rows, gold):
    clues = np.vstack([fit.clues, np.zeros((1, TAGS))])
    scores = rows.vectors @ fit.vector + fit.bias + clues[rows.clues].sum(axis=1)
    total, at = 0.0, 0
    for many in LENGTHS:
        here, right = scores[at : at + many], tuple(gold[at : at + many])
        at += many

        def score(tags, here=here):
            chain = sum(fit.between[one, other] for one, other in zip(tags, tags[1:], strict=False))
            ends = fit.start[tags[0]] + fit.end[tags[-1]]
            return chain + ends + sum(here[place, tag] for place, tag in enumerate(tags))

        every = [score(tags) for tags in product(range(TAGS), repeat=many)]
        total += np.logaddexp.reduce(every) - score(right)
    return total / len(gold)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_loss_is_that_over_all_sequences_and_its_gradient_true(seed):
    rows, gold, draw = drawn(seed)
    steps = Steps.of(LENGTHS)
    loss = _ChainLoss(rows.some(steps.order), gold[steps.order], steps, TAGS, PENALTIES)
    point = draw.normal(size=loss.zeros().size)
    value, gradient = loss(point)
    penalty = 0.5 * float((loss._penalty * point**2).sum())
    expected = mean_loss_over_all_sequences(loss.parts(point), rows, gold)
    assert value - penalty == pytest.approx(expected, abs=1e-5)
    slopes = [
        (loss(point + step)[0] - loss(point - step)[0]) / 2e-3 for step in 1e-3 * np.eye(len(point))
    ]
    np.testing.assert_allclose(gradient, slopes, atol=2e-4)


def test_order_of_sentences_does_not_matter():
    rows, gold, _ = drawn(2)
    settings = {"num_tags": TAGS, "penalty": 1.0, "chain_penalty": 0.1, "tolerance": 1e-6}
    one = fit_chain(rows, gold, LENGTHS, **settings)
    bounds = np.cumsum([0, *LENGTHS])
    turned = [np.arange(bounds[at], bounds[at + 1]) for at in (2, 0, 3, 1)]
    order = np.concatenate(turned)
    other = fit_chain(rows.some(order), gold[order], [len(each) for each in turned], **settings)
    for own, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(own, theirs, atol=2e-3)


def test_a_chain_learns_what_no_token_tells():
    """Tags alternate, and tokens are all alike: only what stands before tells."""
    rows = TokenRows(np.zeros((40, 1), np.float32), np.zeros((40, 0), np.int64), 0)
    fit = fit_chain(rows, [0, 1] * 20, [4] * 10, num_tags=2, penalty=1.0, chain_penalty=0.01)
    assert fit.between[0, 1] > fit.between[0, 0] + 2
    assert fit.between[1, 0] > fit.between[1, 1] + 2
    assert fit.start[0] > fit.start[1]


def test_what_does_not_fit_is_refused():
    rows, gold, _ = drawn(3)
    with pytest.raises(ValueError, match=r"sentences of 9 tokens do not fit"):
        fit_chain(rows, gold, [3, 1, 4, 1], num_tags=TAGS, penalty=1.0, chain_penalty=1.0)
