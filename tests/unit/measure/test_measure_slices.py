import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.measure import accuracy, auc, by_label, by_length, by_value, measure_slices


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=40))
def test_length_groups_part_the_rows(lengths):
    for edges in (None, [5, 10, 20]):
        groups = by_length(lengths, edges)
        places = np.concatenate(list(groups.values()))
        assert sorted(places.tolist()) == list(range(len(lengths)))
        for name, rows in groups.items():
            low, high = (name.split("-") + [""])[:2] if "-" in name else (name.rstrip("+"), "99")
            assert all(int(low) <= lengths[row] <= int(high) for row in rows)


def test_default_edges_are_the_quartiles():
    groups = by_length(range(1, 101))
    assert [len(rows) for rows in groups.values()] == [25] * 4


def test_rare_values_share_a_group():
    values = ["a"] * 5 + ["b"] * 3 + ["c", "d"]
    assert {name: len(rows) for name, rows in by_value(values, max_groups=3).items()} == {
        "a": 5,
        "b": 3,
        "(other)": 2,
    }
    assert set(by_value(values, max_groups=4)) == {"a", "b", "c", "d"}
    assert set(by_value([1, None, 1])) == {"1", "None"}


def test_slices_carry_their_size_and_undefined_metrics_are_none_in_json():
    gold, predicted = np.array([0, 1, 1, 1]), np.array([0, 1, 0, 1])
    no, yes = measure_slices(
        by_label(gold, ["no", "yes"]), {"accuracy": accuracy, "auc": auc}, gold, predicted
    )
    assert (no.n, yes.n) == (1, 3)
    assert no.to_dict() == {"slice": "no", "n": 1, "accuracy": 1.0, "auc": None}
    assert yes.metrics["accuracy"] == pytest.approx(2 / 3)


def test_a_label_without_rows_has_no_slice():
    assert list(by_label([0, 0], ["no", "yes"])) == ["no"]


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"edges must rise, got \[5, 5\]"):
        by_length([1], [5, 5])
    with pytest.raises(ValueError, match="gold holds label id 2, but there are 2 labels"):
        by_label([2], ["no", "yes"])
    with pytest.raises(ValueError, match="max_groups must be at least 2, got 1"):
        by_value(["a"], max_groups=1)
    with pytest.raises(ValueError, match="rows differ"):
        measure_slices({}, {}, [1], [1, 2])
