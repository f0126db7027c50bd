import json
import random
from collections import Counter

import numpy as np
import pytest
from draw_probes import Asked, Edited, Frame, Two, all_probes, draw_probes, to_tsv
from probes import FOLDER, Tally, read_probes, tally_kind

from softquery.errors import InputError

NAMES = ("nli-en", "match-en", "match-zh")
LABELS = {
    "nli-en": {"entailment", "neutral", "contradiction"},
    "match-en": {"0", "1"},
    "match-zh": {"0", "1"},
}
CONTROLS = {"paraphrase", "unrelated", "unstated"}
SKILLS = {"negation", "antonym", "number", "order", "name", "length"}


@pytest.fixture(scope="module")
def written():
    return all_probes()


@pytest.mark.parametrize("name", NAMES)
def test_files_are_what_the_frames_give(name, written):
    assert (FOLDER / f"{name}.tsv").read_text(encoding="utf-8") == to_tsv(written[name])


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_has_enough_probes_with_more_than_one_label(name, written):
    counts = Counter(probe.kind for probe in written[name])
    assert set(counts) - CONTROLS == SKILLS
    assert all(60 <= count <= 100 for count in counts.values())
    for kind in SKILLS:
        assert {probe.label for probe in written[name] if probe.kind == kind} == LABELS[name]


@pytest.mark.parametrize("name", NAMES)
def test_no_pair_stands_twice_or_says_nothing(name, written):
    pairs = Counter((probe.sentence1, probe.sentence2) for probe in written[name])
    labels = {}
    for probe in written[name]:
        labels.setdefault((probe.sentence1, probe.sentence2), set()).add(probe.label)
    assert all(len(found) == 1 for found in labels.values())
    assert len(pairs) > 0.95 * len(written[name])
    for first, second in pairs:
        assert first != second
        assert "{" not in first + second
        assert first == first.strip() != ""


def test_long_texts_are_long(written):
    for name in ("nli-en", "match-en"):
        texts = [probe.sentence1 for probe in written[name] if probe.kind == "length"]
        assert all(60 <= len(text.split()) <= 150 for text in texts)
    texts = [probe.sentence1 for probe in written["match-zh"] if probe.kind == "length"]
    assert all(50 <= len(text) <= 200 for text in texts)


def test_equal_frames_give_equal_probes():
    kinds = {"order": {"0": (3, [Frame("{p[0]} {p[1]}", "{p[1]} {p[0]}", {"p": Two("abcd")})])}}
    drawn = draw_probes(kinds, symmetric=True)
    assert drawn == draw_probes(kinds, symmetric=True)
    assert len({frozenset((probe.sentence1, probe.sentence2)) for probe in drawn}) == 3


def test_frames_that_give_too_little_say_so():
    kinds = {"name": {"1": (3, [Frame("{x}", "{x}!", {"x": ["a", "b"]})])}}
    with pytest.raises(ValueError, match="give 2 pairs, but 3"):
        draw_probes(kinds, symmetric=False)


def test_edited_texts_differ_in_half_of_their_clauses():
    clauses = [(f"a{n}", f"b{n}", f"c{n}") for n in range(10)]
    first, second = Edited(clauses, 2, (6, 6), " ").draw(random.Random(1))
    pairs = list(zip(first.split(), second.split(), strict=True))
    assert sum(one != other for one, other in pairs) == 3
    assert all(one[1:] == other[1:] for one, other in pairs)


def test_a_question_is_about_a_clause_of_its_text():
    clauses = [(f"a{n}", f"b{n}", f"c{n}", f"d{n}") for n in range(10)]
    text, asked = Asked(clauses, 3, (4, 4), " ").draw(random.Random(1))
    assert f"a{asked[1:]}" in text.split()
    assert asked.startswith("d")


def test_results_tell_who_always_says_the_same():
    gold = np.array(["0", "0", "1"])
    right, cut = np.array([False, False, True]), np.array([False, True, False])
    result = tally_kind("negation", gold, right, np.array([0.6, 0.95, 0.99]), cut)
    assert (result.kind, result.n, result.accuracy) == ("negation", 3, pytest.approx(1 / 3))
    assert result.labels == {"0": Tally(n=2, right=0), "1": Tally(n=1, right=1)}
    assert (result.wrong, result.wrong_and_sure, result.sure_share) == (2, 1, 0.5)
    assert result.cut == 1
    assert result.interval[0] <= result.accuracy <= result.interval[1]


def test_where_nothing_is_wrong_no_share_is_given():
    yes, no = np.array([True]), np.array([False])
    assert tally_kind("name", np.array(["1"]), yes, np.array([0.9]), no).sure_share is None


def test_results_are_plain_json():
    right, cut = np.array([True, False]), np.array([False, False])
    result = tally_kind("name", np.array(["1", "1"]), right, np.array([0.6, 0.6]), cut)
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["labels"] == {"1": {"n": 2, "right": 1}}
    assert plain["sure_share"] == 0.0
    assert "kind" not in plain


def test_a_file_without_kinds_is_refused(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("sentence1\tsentence2\tlabel\na\tb\t1\n")
    with pytest.raises(InputError, match="kind"):
        read_probes(path)
