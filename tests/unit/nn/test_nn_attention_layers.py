"""Prepared keys give what the score itself gives."""

import inspect
from typing import get_args

import pytest
import torch

from softquery.attention import Concat, attend, cosine, dot, scaled_dot
from softquery.nn import PreparedAttention, ScoreName

FUNCTIONS = {"dot": dot, "scaled_dot": scaled_dot, "cosine": cosine}
MASK = torch.tensor([[True, True, True, False], [True, False, False, False]])
every_score = pytest.mark.parametrize("score", get_args(ScoreName))


def asking_of(score, *, key_size=3):
    torch.manual_seed(1)
    return PreparedAttention(score, query_size=3, key_size=key_size, hidden_size=5)


@every_score
@pytest.mark.parametrize("key_size", [3, 6])
def test_the_answer_is_that_of_the_score(score, key_size):
    asking = asking_of(score, key_size=key_size)
    query, states = torch.randn(2, 2, 3), torch.randn(2, 4, key_size)
    found = asking(query, asking.prepare(states), states, MASK)
    keys = states if asking.key_projection is None else asking.key_projection(states)
    function = FUNCTIONS.get(score, asking.score)
    wanted = attend(query, keys, states, score=function, mask=MASK.unsqueeze(1))
    torch.testing.assert_close(found.mixed, wanted.mixed)
    torch.testing.assert_close(found.weights, wanted.weights)


@every_score
def test_a_linear_layer_is_added_only_where_widths_differ(score):
    is_plain = score in FUNCTIONS
    assert asking_of(score).key_projection is None
    needs_one = is_plain or score == "trilinear"
    assert (asking_of(score, key_size=6).key_projection is not None) == needs_one
    assert (asking_of(score).score is None) == is_plain


@every_score
def test_a_source_without_words_answers_zero(score):
    asking = asking_of(score)
    states = torch.randn(2, 4, 3)
    mask = torch.zeros(2, 4, dtype=torch.bool)
    found = asking(torch.randn(2, 1, 3), asking.prepare(states), states, mask)
    assert not found.mixed.any()


def test_the_halves_of_concat_are_its_whole():
    torch.manual_seed(2)
    score, query, key = Concat(3, 6, 5), torch.randn(2, 3), torch.randn(4, 6)
    halves = score.compare(score.project_query(query), score.project_key(key))
    torch.testing.assert_close(halves, score(query, key))
    joined = torch.cat([query[1], key[2]])
    by_hand = score.energy.weight[0] @ torch.tanh(score.projection.weight @ joined)
    torch.testing.assert_close(halves[1, 2], by_hand)


def test_an_unknown_score_is_named():
    start = inspect.unwrap(PreparedAttention.__init__)
    with pytest.raises(ValueError, match="score must be one of .*'concat'.*, got 'euclid'"):
        start(
            PreparedAttention.__new__(PreparedAttention),
            "euclid",
            query_size=3,
            key_size=3,
            hidden_size=5,
        )
