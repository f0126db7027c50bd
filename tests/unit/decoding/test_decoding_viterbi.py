"""The best path is the one that trying all paths finds."""

from itertools import product

import numpy as np
import pytest

from softquery.decoding import viterbi


def by_trying_all(scores, between, start, end):
    length, num_labels = scores.shape
    best = max(
        product(range(num_labels), repeat=length),
        key=lambda path: score_of(path, scores, between, start, end),
    )
    return list(best), score_of(best, scores, between, start, end)


def score_of(path, scores, between, start, end):
    total = start[path[0]] + end[path[-1]] + sum(scores[t, label] for t, label in enumerate(path))
    return total + sum(between[one, other] for one, other in zip(path, path[1:], strict=False))


@pytest.mark.parametrize("seed", range(6))
def test_it_finds_what_trying_all_finds(seed):
    draw = np.random.default_rng(seed)
    between, start, end = draw.normal(size=(3, 3)), draw.normal(size=3), draw.normal(size=3)
    sentences = [draw.normal(size=(length, 3)) for length in (4, 1, 6, 2, 5, 4)]
    for path, scores in zip(viterbi(sentences, between, start, end), sentences, strict=True):
        labels, score = by_trying_all(scores, between, start, end)
        assert path.labels == labels
        assert path.score == pytest.approx(score)


def test_sentences_without_words_have_no_labels():
    nothing = np.empty((0, 2))
    found = viterbi([nothing, np.ones((1, 2)), nothing], np.zeros((2, 2)), np.zeros(2), np.zeros(2))
    assert [path.labels for path in found] == [[], [0], []]
    assert viterbi([], np.zeros((2, 2)), np.zeros(2), np.zeros(2)) == []


def test_what_is_forbidden_is_not_answered():
    scores = np.array([[0.0, 9.0], [0.0, 9.0]])
    between = np.array([[0.0, 0.0], [0.0, -1e4]])
    assert viterbi([scores], between, np.zeros(2), np.zeros(2))[0].labels in ([0, 1], [1, 0])


def test_many_sentences_come_back_in_their_order():
    draw = np.random.default_rng(1)
    sentences = [draw.normal(size=(int(n), 4)) for n in draw.integers(0, 9, 600)]
    zeros = np.zeros((4, 4)), np.zeros(4), np.zeros(4)
    for path, scores in zip(viterbi(sentences, *zeros), sentences, strict=True):
        assert path.labels == scores.argmax(axis=1).tolist()
