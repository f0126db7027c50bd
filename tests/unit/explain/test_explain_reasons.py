"""What an answer owes to each word, as data: order, strength, and the way to JSON and back."""

import json

import numpy as np
import pytest
from explain_samples import small

from softquery.errors import InputError
from softquery.explain import Reasons, from_json, to_json

LEFT_OUT = {
    "answer": "same", "method": "left out", "score": 1.5, "probability": 0.82,
    "words": [["i", "eat"], ["eats"]], "changes": [[0.1, -2.0], [1.0]],
    "probabilities": [[0.8, 0.97], [0.62]], "base": None,
}  # fmt: skip
ADDED = {**LEFT_OUT, "method": "added up", "probabilities": [], "base": 2.4}


@pytest.mark.parametrize("values", [LEFT_OUT, ADDED], ids=["left out", "added up"])
def test_they_go_to_json_and_back(values):
    reasons = Reasons.from_dict(values)
    assert reasons.to_dict() == values
    pair = small(reasons=reasons)
    assert from_json(to_json(pair)) == pair
    assert from_json(to_json(pair)).reasons == reasons
    assert from_json(to_json(small())).reasons is None
    assert small() != pair


def test_the_strongest_come_first_whatever_their_sign():
    reasons = Reasons.from_dict(LEFT_OUT)
    assert [(each.word, each.sentence, each.position) for each in reasons.strongest()] == [
        ("eat", 0, 1), ("eats", 1, 0), ("i", 0, 0),
    ]  # fmt: skip
    assert str(reasons.strongest(1)[0]) == "eat: −2.00"
    assert reasons.strongest(1)[0].probability == 0.97
    assert repr(reasons) == "Reasons('same', left out: eat: −2.00, eats: +1.00, i: +0.10)"


def test_strengths_keep_signs_and_do_not_blow_up_what_is_small():
    assert [each.tolist() for each in Reasons.from_dict(LEFT_OUT).strengths()] == [
        [0.05, -1.0], [0.5],
    ]  # fmt: skip
    faint = Reasons.from_dict({**LEFT_OUT, "changes": [[0.05, 0.0], [-0.1]]})
    assert np.concatenate(faint.strengths()).tolist() == [0.1, 0.0, -0.2]
    nothing = {**LEFT_OUT, "words": [[], []], "changes": [[], []], "probabilities": [[], []]}
    assert [each.tolist() for each in Reasons.from_dict(nothing).strengths()] == [[], []]
    assert Reasons.from_dict(nothing).strongest() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"changes": [[0.1], [1.0]]}, "changes must hold a number for each word"),
        ({"changes": [[0.1, float("nan")], [1.0]]}, "changes must be finite"),
        ({"probabilities": []}, "probabilities must hold a number for each word"),
        ({"base": 1.0}, "a base belongs to changes that are added up"),
        ({"method": "guessed"}, "method must be one of"),
        ({"score": float("inf")}, "must be finite"),
        ({"words": ["ab", "c"]}, "words must be lists of strings"),
        ({"more": 1}, "must be an object with"),
        ({"score": "much"}, "no reasons"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(change, said):
    with pytest.raises(InputError, match=said):
        Reasons.from_dict({**LEFT_OUT, **change})


def test_an_alignment_refuses_reasons_of_one_sentence():
    one = {**LEFT_OUT, "words": [["i"]], "changes": [[0.1]], "probabilities": [[0.8]]}
    values = {**json.loads(to_json(small())), "reasons": one}
    with pytest.raises(InputError, match="those of two sentences"):
        from_json(json.dumps(values))
