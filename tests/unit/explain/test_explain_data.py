import json

import numpy as np
import pytest
from explain_samples import aligned, alignments, small
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import InputError
from softquery.explain import PairAlignment, from_json, to_json
from softquery.explain.alignment import shortest_floats


def changed(**changes):
    return {**small().to_dict(), **changes}


@settings(max_examples=60, deadline=None)
@given(alignments())
def test_json_loses_nothing(alignment):
    text = to_json(alignment)
    text.encode("utf-8")
    assert from_json(text) == alignment
    assert PairAlignment.from_dict(alignment.to_dict()) == alignment


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=5))
def test_the_shortest_decimals_give_the_same_float_back(values):
    weights = np.array([values], dtype=np.float32)
    again = np.array(json.loads(json.dumps(shortest_floats(weights))), dtype=np.float32)
    assert again.tobytes() == weights.tobytes()


def test_json_is_readable():
    text = to_json(aligned(["钱"], ["价"], first_to_second=[[0.1]]))
    assert '"first_tokens": ["钱"]' in text
    assert '"first_to_second": [[0.1]]' in text
    assert "\n" not in text


def test_fields_are_named_as_in_the_class():
    assert list(small().to_dict()) == [
        "first",
        "second",
        "first_tokens",
        "second_tokens",
        "first_to_second",
        "second_to_first",
        "label",
        "score",
        "probabilities",
        "model",
        "reasons",
    ]


def test_the_dictionary_is_our_own():
    alignment = small()
    alignment.to_dict()["probabilities"].clear()
    assert alignment.probabilities


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (changed(modle="x"), "unknown field 'modle'.*did you mean 'model'"),
        ({"first": "a"}, "needs the field 'second'"),
        (changed(first=3), "'first' of an alignment must be a string"),
        (changed(label=3), "'label' of an alignment must be a string"),
        (changed(first_tokens="ab"), "'first_tokens' .* must be a list of strings"),
        (changed(first_tokens=["a", None]), "'first_tokens' .* must be a list of strings"),
        (changed(score="high"), "'score' .* must be a number"),
        (changed(score=True), "'score' .* must be a number"),
        (changed(score=10**400), "not an alignment"),
        (changed(probabilities=[0.5]), "'probabilities' .* must be an object of numbers"),
        (changed(probabilities={"a": "b"}), "'probabilities' .* must be an object of numbers"),
        (changed(first_to_second="1"), "'first_to_second' .* must be a list of rows"),
        (changed(first_to_second=None), "'first_to_second' .* must be a list of rows"),
        (changed(first_to_second=[["a"], ["b"]]), "not an alignment"),
        (changed(first_to_second=[[0.1], [0.1, 0.2]]), "not an alignment"),
        (changed(first_to_second=[[0.5]]), r"first_to_second must have shape \(2, 1\)"),
        ([], "expected an alignment as an object, found list"),
        (None, "expected an alignment as an object, found NoneType"),
    ],
)
def test_data_that_describes_no_alignment_is_refused_in_one_line(values, message):
    with pytest.raises(InputError, match=message) as caught:
        PairAlignment.from_dict(values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "nonsense"])
def test_text_that_is_not_json_is_refused(text):
    with pytest.raises(InputError, match="expected an alignment as JSON"):
        from_json(text)
