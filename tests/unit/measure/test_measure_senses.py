"""The nearest mean of senses, and what is answered where there is none."""

import numpy as np

from softquery.files.senses import SenseMention, SenseWord
from softquery.measure.probe_scores import SenseDictionary, SenseMeans, build_dictionary

BANK = SenseWord("bank", "n")


def seen(*senses, word=BANK, numbers=()):
    return SenseMention(0, 1, word, senses, numbers)


def means(*pairs, size=2):
    made = SenseMeans([sense for sense, _ in pairs], 1, size)
    for sense, vector in pairs:
        made.add(seen(sense), np.array([vector], dtype=np.float32))
    return made


def test_commonest_sense_stands_first():
    found = build_dictionary([seen("b"), seen("a"), seen("b"), seen("c", "a"), seen("a")], [])
    assert found.seen == {BANK: ("a", "b", "c")}
    assert found.commonest(BANK) == "a"


def test_first_sense_is_wordnets_then_the_commonest_then_none():
    other = SenseWord("bank", "v")
    everywhere = [seen("a", numbers=(3,)), seen("b", "c", numbers=(2, 1))]
    found = build_dictionary([seen("a"), seen("d", word=other)], everywhere)
    assert found.first == {BANK: "c"}
    assert found.first_sense(BANK) == "c"
    assert found.commonest(BANK) == "a"
    assert found.first_sense(other) == found.commonest(other) == "d"
    assert found.first_sense(SenseWord("sing", "v")) is None
    assert SenseDictionary({}, {other: "e"}).commonest(other) == "e"


def test_nearest_is_by_angle_and_not_by_length():
    near = means(("short", [0.1, 0.0]), ("long", [9.0, 9.0]))
    assert near.nearest(np.array([[5.0, 1.0]]), ["long", "short"]) == ["short"]


def test_the_mean_is_taken_over_all_occurrences():
    made = means(("a", [1.0, 0.0]), ("a", [0.0, 1.0]), ("b", [1.0, 0.1]))
    assert made.nearest(np.array([[1.0, 1.0]]), ["b", "a"]) == ["a"]
    assert made.counts.tolist() == [2, 1]


def test_each_layer_answers_for_itself():
    made = SenseMeans(["a", "b"], 2, 2)
    made.add(seen("a"), np.array([[1.0, 0.0], [0.0, 1.0]]))
    made.add(seen("b"), np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert made.nearest(np.array([[1.0, 0.0], [1.0, 0.0]]), ["a", "b"]) == ["a", "b"]


def test_equal_means_leave_it_to_the_commoner_sense():
    """However many equal vectors were added up."""
    vector = np.array([[0.1, 0.7, -0.3]], dtype=np.float32)
    made = SenseMeans(["rare", "common"], 1, 3)
    for _ in range(3000):
        made.add(seen("common"), vector)
    made.add(seen("rare"), vector)
    assert made.nearest(vector, ["common", "rare"]) == ["common"]
    assert made.nearest(vector, ["rare", "common"]) == ["rare"]


def test_zeros_and_unknown_senses_have_no_neighbour():
    made = means(("a", [1.0, 0.0]), ("zero", [0.0, 0.0]))
    assert made.nearest(np.zeros((1, 2)), ["a"]) == [None]
    assert made.nearest(np.ones((1, 2)), ["zero"]) == [None]
    assert made.nearest(np.array([[-1.0, 0.0]]), ["zero", "a"]) == ["a"]
    assert made.nearest(np.ones((1, 2)), []) == [None]
    empty = SenseMeans(["a"], 1, 2)
    assert empty.nearest(np.ones((1, 2)), ["a"]) == [None]
