"""Against a slow model written from the formulas, with dictionaries, one n-gram at a time."""

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import InputError
from softquery.measure.kneser_ney import FALLBACK, fit_kneser_ney

PAD, BEGIN, END = 0, 2, 3


def as_ids(lines):
    return np.array([word for line in lines for word in (BEGIN, *line, END)], dtype=np.int32)


class SlowKneserNey:
    """The same model, recursive, from the definitions."""

    def __init__(self, lines, vocab_size, order):
        self.vocab_size = vocab_size
        texts = [(BEGIN, *line, END) for line in lines]
        raw = Counter(
            text[start : start + length]
            for text in texts
            for length in range(1, order + 1)
            for start in range(len(text) - length + 1)
        )
        del raw[(BEGIN,)]
        self.counts = {}
        for gram, count in raw.items():
            plain = len(gram) == order or gram[0] == BEGIN
            before = {each[0] for each in raw if each[1:] == gram}
            self.counts[gram] = count if plain else len(before)
        self.discounts = {length: self.estimate(length) for length in range(1, order + 1)}

    def estimate(self, length):
        of_counts = Counter(count for gram, count in self.counts.items() if len(gram) == length)
        n1, n2, n3, n4 = (of_counts[count] for count in (1, 2, 3, 4))
        if not n1 * n2 * n3 * n4:
            return (0.0, *FALLBACK)
        y = n1 / (n1 + 2 * n2)
        found = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
        fits = all(0 <= each <= top for each, top in zip(found, (1, 2, 3), strict=True))
        return (0.0, *(found if fits else FALLBACK))

    def chance(self, context, word):
        shorter = self.chance(context[1:], word) if context else 1 / (self.vocab_size - 2)
        after = self.after(context)
        if not after:
            return shorter
        discounts = self.discounts[len(context) + 1]
        total = sum(after.values())
        left = sum(discounts[min(3, count)] for count in after.values()) / total
        count = after.get(word, 0)
        return (count - discounts[min(3, count)]) / total + left * shorter

    @cache  # noqa: B019  (lives as long as a test)
    def after(self, context):
        size = len(context)
        return {
            gram[-1]: count
            for gram, count in self.counts.items()
            if len(gram) == size + 1 and gram[:-1] == context
        }


def compare(lines, asked, vocab_size, order):
    slow = SlowKneserNey(lines, vocab_size, order)
    expected = []
    for line in asked:
        text = (BEGIN, *line, END)
        expected += [
            slow.chance(text[max(0, place - order + 1) : place], text[place])
            for place in range(1, len(text))
        ]
    model = fit_kneser_ney(as_ids(lines), vocab_size=vocab_size, order=order)
    found = np.exp(model.log_probabilities(as_ids(asked)))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


words = st.lists(st.integers(4, 8), min_size=0, max_size=7)


@settings(deadline=None, max_examples=60)
@given(
    lines=st.lists(words, min_size=1, max_size=12),
    asked=st.lists(words, min_size=1, max_size=4),
    order=st.integers(1, 5),
)
def test_equals_the_slow_model(lines, asked, order):
    compare(lines, asked, vocab_size=9, order=order)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_equals_the_slow_model_with_estimated_discounts(order):
    rng = np.random.default_rng(3)
    lines = [
        (4 + np.minimum(rng.geometric(0.15, size=rng.integers(1, 12)), 25)).tolist()
        for _ in range(150)
    ]
    model = fit_kneser_ney(as_ids(lines), vocab_size=40, order=order)
    estimated = [tuple(level.discounts[1:]) != FALLBACK for level in model.levels]
    assert any(estimated)
    compare(lines, lines[:10] + [[39, 5, 38], []], vocab_size=40, order=order)


@pytest.mark.parametrize("history", [(), (5,), (5, 6), (7, 7, 7), (8,), (9, 4), (4, 5, 6, 5, 6)])
def test_chances_sum_to_one(history):
    lines = [[4, 5, 6, 5, 6], [5, 6, 7], [5, 5, 6], [7, 7, 4], [4]]
    vocab_size = 10
    model = fit_kneser_ney(as_ids(lines), vocab_size=vocab_size)
    total = 0.0
    for word in set(range(vocab_size)) - {PAD, BEGIN}:
        asked = np.array([BEGIN, *history, word], dtype=np.int32)
        total += math.exp(model.log_probabilities(asked)[-1])
    assert total == pytest.approx(1.0, abs=1e-12)


def test_reads_from_the_other_end():
    lines = [[4, 5, 6], [6, 5], [4, 4, 6, 5]]
    forwards = fit_kneser_ney(as_ids([line[::-1] for line in lines]), vocab_size=7)
    turned = np.concatenate([as_ids([line])[::-1] for line in lines])
    backwards = fit_kneser_ney(turned, vocab_size=7, begin=END)
    expected = forwards.log_probabilities(as_ids([line[::-1] for line in lines]))
    np.testing.assert_allclose(backwards.log_probabilities(turned), expected)


def test_perplexity_counts_ends_and_not_beginnings():
    model = fit_kneser_ney(as_ids([[4, 5], [4, 6]]), vocab_size=7, order=2)
    found = model.log_probabilities(as_ids([[4, 5], [6]]))
    assert found.shape == (5,)
    assert model.perplexity(as_ids([[4, 5], [6]])) == pytest.approx(math.exp(-found.mean()))


def test_num_grams_of_each_length():
    model = fit_kneser_ney(as_ids([[4, 5], [4, 5]]), vocab_size=7, order=4)
    assert (model.order, model.num_grams) == (4, (7, 3, 2, 1))


def test_refuses_what_it_cannot_count():
    good = as_ids([[4]])
    with pytest.raises(InputError, match="no rows"):
        fit_kneser_ney(good[:0], vocab_size=7)
    with pytest.raises(ValueError, match="beginning of a line"):
        fit_kneser_ney(good[1:], vocab_size=7)
    with pytest.raises(ValueError, match="below 4"):
        fit_kneser_ney(good, vocab_size=4)
    with pytest.raises(ValueError, match="order must be at least 1"):
        fit_kneser_ney(good, vocab_size=7, order=0)
