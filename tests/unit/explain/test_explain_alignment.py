import copy
import pickle

import numpy as np
import pytest
from explain_samples import aligned, small

from softquery.explain import Partner, StrongestLinks


def test_weights_are_kept_as_float32_of_our_own():
    given = np.array([[1.0], [0.42]])
    alignment = small(first_to_second=given)
    given[:] = 0
    assert alignment.first_to_second.dtype == np.float32
    assert alignment.first_to_second[1, 0] == np.float32(0.42)
    with pytest.raises(ValueError, match="read-only"):
        alignment.first_to_second[0, 0] = 0.5


def test_tokens_become_tuples_and_numbers_plain():
    alignment = aligned(["a"], ["b"], score=np.float32(0.5), probabilities={"x": np.float64(1)})
    assert alignment.first_tokens == ("a",)
    assert type(alignment.score) is float
    assert type(alignment.probabilities["x"]) is float


def test_equality_is_by_value():
    assert small() == small()
    assert small() != small(second_to_first=np.array([[0.26, 0.74]]))
    assert small() != small(model="other")
    assert small() != "something else"


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))])
def test_copies_are_equal(duplicate):
    assert duplicate(small()) == small()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first_to_second": np.ones((1, 2))}, r"first_to_second must have shape \(2, 1\).*\(1, 2"),
        ({"second_to_first": np.ones(2) / 2}, r"second_to_first must have shape \(1, 2\)"),
        ({"second_to_first": np.array([[np.nan, 0]])}, "weights of at least 0"),
        ({"second_to_first": np.array([[np.inf, 0]])}, "weights of at least 0"),
        ({"second_to_first": np.array([[-0.1, 0.5]])}, "weights of at least 0"),
        ({"second_to_first": np.array([[0.6, 0.6]])}, "sum to at most 1"),
        ({"score": float("nan")}, "must be finite"),
        ({"probabilities": {"a": float("inf")}}, "must be finite"),
        ({"probabilities": {"a": 1.5}}, r"in \[0, 1\], got .*1.5"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes)


@pytest.mark.parametrize("row", [[0.0, 0.0], [0.1, 0.3], [0.5, 0.5005]])
def test_rows_may_sum_to_less_than_one_or_hardly_more(row):
    assert small(second_to_first=np.array([row])).second_to_first.tolist()[0] == pytest.approx(row)


def test_an_empty_side_has_empty_weights():
    alignment = aligned([], ["a", "b"], first_to_second=[], second_to_first=[[], []])
    assert alignment.first_to_second.shape == (0, 2)
    assert alignment.second_to_first.shape == (2, 0)
    assert alignment.strongest() == ((), (StrongestLinks("a", 0, ()), StrongestLinks("b", 1, ())))


def test_strongest_names_the_heaviest_first_and_no_more_than_asked_for():
    weights = np.array([[0.1, 0.6, 0.3]])
    alignment = aligned(["a"], ["x", "y", "z"], first_to_second=weights)
    (asking,) = alignment.strongest(top=2)[0]
    assert [partner[:2] for partner in asking.partners] == [("y", 1), ("z", 2)]
    assert asking.partners[0].weight == pytest.approx(0.6)
    assert str(asking) == "a: y 0.60, z 0.30"


def test_strongest_tells_equal_words_and_equal_weights_apart_by_their_places():
    alignment = aligned(["a"], ["x", "x"], first_to_second=np.array([[0.5, 0.5]]))
    assert alignment.strongest()[0][0].partners == (Partner("x", 0, 0.5), Partner("x", 1, 0.5))


def test_strongest_leaves_out_those_without_weight():
    alignment = aligned(["a"], ["x", "y"], first_to_second=np.zeros((1, 2)))
    (asking,) = alignment.strongest()[0]
    assert asking.partners == ()
    assert str(asking) == "a: nothing"


@pytest.mark.parametrize("top", [0, -1])
def test_strongest_needs_a_count(top):
    with pytest.raises(ValueError, match=f"top must be at least 1, got {top}"):
        small().strongest(top=top)
