"""Exact match and F1 as SQuAD and CMRC count them."""

import collections
import re
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from softquery.errors import InputError
from softquery.measure import (
    ReadReport,
    choose_abstention,
    interval,
    score_answer,
    score_answers,
)
from softquery.measure.read_scores import (
    character_f1,
    chinese_segments,
    normalise_answer,
    word_f1,
)

few = hypothesis_settings(max_examples=100, deadline=None)
words = st.lists(
    st.sampled_from(["the", "A", "cat", "Cat!", "sat.", "an", "—", "U.S.", "1,000", "it's"]),
    max_size=6,
).map(" ".join)


def plainly(text):
    """SQuAD's rules one after the other: lower case, punctuation, articles, white space."""
    kept = "".join(mark for mark in text.lower() if mark not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def plain_f1(predicted, gold):
    ours, theirs = plainly(predicted).split(), plainly(gold).split()
    same = sum((collections.Counter(ours) & collections.Counter(theirs)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(ours), same / len(theirs)
    return 2 * precision * recall / (precision + recall)


@few
@given(words, st.lists(words, min_size=1, max_size=3))
def test_scores_are_squads(predicted, gold):
    exact, f1 = score_answer(predicted, gold)
    assert exact == float(any(plainly(predicted) == plainly(each) for each in gold))
    assert f1 == max(plain_f1(predicted, each) for each in gold)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The Cat", "cat"),
        ("a.b", "ab"),
        ("theatre and another", "theatre and another"),
        ("  two\tspaces\n", "two spaces"),
        ("an", ""),
        ("“quoted”", "“quoted”"),  # of punctuation, SQuAD knows ASCII's
        ("U.S.'s", "uss"),
    ],
)
def test_answers_are_normalised(text, wanted):
    assert normalise_answer(text) == wanted


def test_words_count_as_often_as_they_occur():
    assert word_f1("new york new york", "new york") == pytest.approx(2 / 3)
    assert word_f1("", "new york") == word_f1("the", "a") == 0


def test_what_normalises_to_nothing():
    """In version 1.1 such an answer matches exactly, with an F1 of 0."""
    assert score_answer("the", ["a"]) == (1.0, 0.0)
    assert score_answers(["The", "a"], [["a"], []]).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert score_answers([None, None], [["a"], []]).tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("predicted", "gold", "wanted"),
    [(None, [], (1.0, 1.0)), ("cat", [], (0.0, 0.0)), (None, ["cat"], (0.0, 0.0))],
)
def test_no_answer(predicted, gold, wanted):
    assert score_answer(predicted, gold) == wanted


@pytest.mark.parametrize(
    ("predicted", "gold", "exact", "f1"),
    [
        ("光荣和ω-force", "光荣和ω-force", 1, 1.0),
        ("光荣和ω-force。", "光荣和ωforce", 1, 1.0),  # marks are left out
        ("由光荣开发", "光荣", 0, 2 * (2 / 5) * 1 / (2 / 5 + 1)),
        ("光和荣", "光荣", 0, 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2)),  # a run, not a set
        ("上海", "北京", 0, 0.0),
        ("Ada", "ADA", 1, 1.0),
        ("2018年5月", "2018年", 0, 2 * (2 / 4) * 1 / (2 / 4 + 1)),
    ],
)
def test_chinese_answers(predicted, gold, exact, f1):
    assert score_answer(predicted, [gold], counting="cmrc") == (exact, pytest.approx(f1))


def test_chinese_is_cut_by_characters_and_the_rest_by_words():
    assert chinese_segments(" 3.5% 的Ada Lovelace，和B2 ") == [
        "3.5", "%", "的", "ada", "lovelace", "和", "b2"
    ]  # fmt: skip
    assert character_f1("", "光") == 0


def test_a_report_holds_means_and_intervals():
    predicted = ["cat", "the dog", "a bird", None]
    gold = [["cat", "kitten"], ["dog house"], ["fish"], ["none"]]
    report = ReadReport.of(predicted, gold)
    scores = score_answers(predicted, gold)
    assert (report.exact_match, report.f1) == tuple(scores.mean(axis=0))
    assert report.f1_interval == interval(np.mean, scores[:, 1])
    found = report.to_dict()
    assert list(found) == ["f1", "f1_interval", "exact_match", "exact_match_interval", "n"]
    assert found["n"] == 4


def test_a_report_tells_answerable_questions_apart():
    found = ReadReport.of(["cat", None, "dog"], [["cat"], [], []]).to_dict()
    assert found["by_label"] == {
        "answerable": {"f1": 1.0, "exact_match": 1.0, "n": 1},
        "unanswerable": {"f1": 0.5, "exact_match": 0.5, "n": 2},
    }


def test_reports_need_rows():
    with pytest.raises(InputError, match="gold"):
        ReadReport.of([], [])
    with pytest.raises(ValueError, match="1 answers for 2 questions"):
        ReadReport.of(["a"], [["a"], ["b"]])


@few
@given(st.lists(st.tuples(st.sampled_from([0.1, 0.4, 0.6, 0.9]), st.sampled_from([0.0, 0.5, 1.0]),
                          st.booleans()), min_size=1, max_size=9))  # fmt: skip
def test_the_best_score_to_abstain_under(rows):
    """No other threshold does better on these rows."""
    scores, f1, answerable = (list(column) for column in zip(*rows, strict=True))
    f1 = [value if known else 0.0 for value, known in zip(f1, answerable, strict=True)]

    def mean_f1(limit):
        gained = [
            value if score >= limit else float(not known)
            for score, value, known in zip(scores, f1, answerable, strict=True)
        ]
        return sum(gained) / len(gained)

    limit, best = choose_abstention(scores, f1, answerable)
    assert best == pytest.approx(mean_f1(limit))
    assert best == pytest.approx(max(mean_f1(each) for each in (0, 0.05, 0.25, 0.5, 0.75, 1.0)))
