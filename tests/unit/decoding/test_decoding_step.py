"""Candidates: the likeliest allowed tokens, and those that are watched."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.decoding import StepRequest, WholeStep, candidates_of, likeliest

values = st.lists(
    st.lists(st.sampled_from([-np.inf, -3.0, -2.0, -1.0, 0.0]), min_size=12, max_size=12),
    min_size=1,
    max_size=4,
)


@settings(max_examples=80, deadline=None)
@given(values, st.integers(1, 15))
def test_the_likeliest_are_those_of_a_stable_sort(rows, count):
    table = np.array(rows)
    wanted = [sorted(range(12), key=lambda token: (-row[token], token))[:count] for row in rows]
    assert likeliest(table, count).tolist() == wanted


def test_the_likeliest_of_many_are_found():
    table = np.random.default_rng(1).normal(size=(5, 1000)).astype(np.float32)
    found = likeliest(table, 6)
    assert found.tolist() == np.argsort(-table, axis=1)[:, :6].tolist()


def wanted(*, allowed=(True,) * 5, num_candidates=2, watched=()):
    return StepRequest(
        allowed=np.atleast_2d(np.array(allowed)),
        num_candidates=num_candidates,
        watched=np.array(watched, np.int64),
    )


TABLE = np.log(np.array([[0.1, 0.2, 0.3, 0.25, 0.15]]))


def test_what_is_not_allowed_is_impossible_and_the_rest_as_likely_as_before():
    tokens, found = candidates_of(TABLE, wanted(allowed=[True, True, False, True, False]))
    assert tokens.tolist() == [[3, 1]]
    np.testing.assert_allclose(np.exp(found), [[0.25, 0.2]])


def test_rows_may_be_allowed_different_tokens():
    allowed = [[True] * 5, [False, True, False, False, False]]
    tokens, found = candidates_of(np.repeat(TABLE, 2, axis=0), wanted(allowed=allowed))
    assert tokens[:, 0].tolist() == [2, 1]
    assert found[1, 1] == -np.inf


def test_watched_tokens_stand_behind_and_count_once():
    tokens, found = candidates_of(TABLE, wanted(watched=[0, 2]))
    assert tokens.tolist() == [[2, 3, 0, 2]]
    np.testing.assert_allclose(np.exp(found), [[0.3, 0.25, 0.1, 0.0]])


def test_a_watched_token_that_is_not_allowed_is_impossible():
    _, found = candidates_of(TABLE, wanted(allowed=[False] + [True] * 4, watched=[0]))
    assert found[0, -1] == -np.inf


def test_not_a_number_is_impossible():
    table = TABLE.copy()
    table[0, 2] = np.nan
    for count in (4, 5):
        tokens, found = candidates_of(table, wanted(num_candidates=count))
        assert tokens[0, found.argmax()] == 3
        assert not np.isnan(found).any()


@pytest.mark.parametrize("count", [5, 99])
def test_all_tokens_come_in_their_own_order(count):
    tokens, found = candidates_of(TABLE, wanted(num_candidates=count, watched=[3]))
    assert tokens.tolist() == [[0, 1, 2, 3, 4, 3]]
    np.testing.assert_array_equal(found, [[*TABLE[0], -np.inf]])


def test_a_whole_step_hands_state_and_attention_through():
    def advance(state, tokens):
        return np.repeat(TABLE, len(tokens), axis=0), state + tokens, np.ones((len(tokens), 3))

    step = WholeStep(advance, lambda state, rows: state[rows], 5)
    found = step(np.array([10, 20]), np.array([1, 2]), wanted())
    assert step.vocab_size == 5
    assert found.state.tolist() == [11, 22]
    assert found.attention.shape == (2, 3)
    assert step.reorder(found.state, np.array([1, 1, 0])).tolist() == [22, 22, 11]


def test_what_is_wanted_is_named():
    with pytest.raises(TypeError, match="allowed"):
        StepRequest(num_candidates=3)
