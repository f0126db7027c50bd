"""The sentences of the benchmark: short, different, and the same everywhere."""

import pytest

from softquery.bench.sample_sentences import sentences


def test_a_thousand_different_ones_of_nine_to_sixteen_words():
    every = sentences(1000)
    assert len(set(every)) == 1000
    lengths = [len(each.split()) for each in every]
    assert (min(lengths), max(lengths)) == (9, 16)
    assert all(each[0].isupper() and each.endswith(".") for each in every)


def test_fewer_are_the_first_of_them():
    assert sentences(100) == sentences(1000)[:100]


def test_neighbours_have_little_in_common():
    first = sentences(11)
    assert len({each.split()[1] for each in first}) > 5
    assert len({each.rsplit(" ", 2)[1] for each in first}) > 5


@pytest.mark.parametrize("count", [0, -1, 1001])
def test_there_are_no_others(count):
    with pytest.raises(ValueError, match=f"^count must be from 1 to 1000, got {count}$"):
        sentences(count)
