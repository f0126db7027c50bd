"""The best legal span, windows over long contexts, and answers that stand in the text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from softquery.answers import (
    Answer,
    ReadingRules,
    SlidingWindow,
    SpanScores,
    WindowedContext,
    best_spans,
    candidates,
    choose_answers,
    make_windows,
)
from softquery.text import TextConfig, pipeline_from_words

few = hypothesis_settings(max_examples=80, deadline=None)
WORDS = pipeline_from_words(["a"], TextConfig())
CHARACTERS = pipeline_from_words(["a"], TextConfig(unit="characters", simplify=True))
numbers = st.floats(-5, 5, width=32)


def every_span(start, end, max_words):
    """All legal spans, the best first: the plain way."""
    legal = [
        (start[first] + end[last], first, last)
        for first in range(len(start))
        for last in range(first, min(len(start), first + max_words))
    ]
    return sorted(legal, key=lambda each: (-each[0], each[1], each[2]))


@few
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=9), st.integers(1, 12))
def test_best_spans_are_those_of_the_plain_way(pairs, max_words):
    start, end = np.array(pairs, dtype=np.float64).T
    wanted = every_span(start, end, max_words)
    for top in (1, 3, 100):
        found = best_spans(start, end, max_words=max_words, top=top)
        assert [(each.score, each.first, each.last) for each in found] == wanted[:top]


def test_a_span_never_ends_before_it_begins():
    start, end = np.array([0.0, 0.0, 9.0]), np.array([9.0, 0.0, 0.0])
    (best,) = best_spans(start, end, max_words=3)
    assert best.first <= best.last


def test_words_that_may_not_be_named_are_not():
    low = np.array([-np.inf, -np.inf])
    assert best_spans(low, low, max_words=2) == []
    assert best_spans(low[:0], low[:0], max_words=2) == []
    (best,) = best_spans(np.array([-np.inf, 0.0]), np.array([5.0, 0.0]), max_words=2)
    assert (best.first, best.last) == (1, 1)


def test_senseless_limits_are_refused():
    one = np.zeros(1)
    with pytest.raises(ValueError, match="max_words and top must be at least 1, got 0 and 1"):
        best_spans(one, one, max_words=0)
    with pytest.raises(ValueError, match="1 starts and 2 ends"):
        best_spans(one, np.zeros(2), max_words=1)


@few
@given(st.integers(0, 60), st.integers(1, 20), st.data())
def test_pages_cover_everything_and_every_short_span_lies_whole_on_one(length, size, data):
    step = data.draw(st.integers(1, size))
    starts = SlidingWindow(size=size, stride=step, max_question=9).starts(length)
    assert starts == sorted(set(starts))
    windows = [range(start, min(length, start + size)) for start in starts]
    assert {place for window in windows for place in window} == set(range(length))
    assert all(len(window) == min(size, length) for window in windows)
    overlap = size - step + 1
    for first in range(length):
        last = min(length, first + overlap) - 1
        assert any(first in window and last in window for window in windows)


def test_pages_need_sense():
    with pytest.raises(ValueError, match="got size 3, stride 4, max_question 1"):
        SlidingWindow(size=3, stride=4, max_question=1)


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)


@few
@given(texts, st.sampled_from([WORDS, CHARACTERS]), st.data())
def test_answers_are_exact_slices_of_the_text(text, pipeline, data):
    window = SlidingWindow(size=5, stride=3, max_question=4)
    windowed = make_windows([("Who is it?", text)], pipeline, window)
    if not windowed.windows:
        assert choose_answers(windowed, [], max_words=3) == [Answer(None, None, None, 0.0)]
        return
    scores = [
        SpanScores(*(np.array(data.draw(st.lists(numbers, min_size=size, max_size=size)),
                              dtype=np.float32) for _ in range(2)))
        for size in (len(window.words) for window in windowed.windows)
    ]  # fmt: skip
    (answer,) = choose_answers(windowed, scores, max_words=3)
    assert text[answer.start : answer.end] == answer.text
    assert answer.text == answer.text.strip()
    assert 0 < answer.score <= 1


@few
@given(texts.filter(str.strip), st.data())
def test_the_words_of_a_slice_hold_it(text, data):
    (context,) = make_windows(
        [("a", text)], WORDS, SlidingWindow(size=9, stride=9, max_question=9)
    ).contexts
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    found = context.words_at(start, end)
    if found is None:
        assert not any(low < end and high > start for low, high in context.spans.tolist()
                       if high > low)  # fmt: skip
        return
    first, last = context.slice_of(*found)
    touched = [span for span in context.spans.tolist() if span[0] < end and span[1] > start]
    assert first <= min(span[0] for span in touched)
    assert last >= max(span[1] for span in touched if span[1] > span[0])


def test_words_are_shared_and_pages_know_where_they_come_from():
    pairs = [("Who?", "a b c d e"), ("Where is it now?", "a b c d e"), ("Who?", "f"), ("?", "")]
    windowed = make_windows(pairs, WORDS, SlidingWindow(size=3, stride=2, max_question=2))
    assert [tuple(place) for place in windowed.places] == [(0, 0), (0, 2), (1, 0), (1, 2), (2, 0)]
    assert windowed.windows[0].words is windowed.windows[2].words
    assert windowed.contexts[0] is windowed.contexts[1]
    assert windowed.windows[2].question == ["Where", "is"]
    assert (windowed.num_long, windowed.num_cut) == (1, 1)
    assert windowed.without_windows().windows == []


def scores_of(*rows, none=None):
    return [SpanScores(*(np.array(side, dtype=np.float32) for side in row), none) for row in rows]


def test_pages_are_merged_by_their_best_span():
    windowed = make_windows(
        [("Who?", "a b c d e")], WORDS, SlidingWindow(size=3, stride=2, max_question=2)
    )
    found = scores_of(([0, 0, 1], [0, 0, 1]), ([2, 0, 0], [2, 0, 0]))
    (best,) = choose_answers(windowed, found, max_words=2)
    assert (best.text, best.start, best.end) == ("c", 4, 5)
    (spans,) = candidates(windowed, found, max_words=2, top=9)
    assert len({(each.start, each.end) for each in spans}) == len(spans)
    assert [each.score for each in spans] == sorted((each.score for each in spans), reverse=True)


def test_one_page_gives_what_a_model_says():
    windowed = make_windows(
        [("Who?", "a b")], WORDS, SlidingWindow(size=3, stride=3, max_question=2)
    )
    (answer,) = choose_answers(windowed, scores_of(([0, np.log(3)], [0, 0])), max_words=1)
    assert answer.text == "b"
    assert answer.score == pytest.approx(0.75 * 0.5)


def test_no_answer_where_none_is_likelier():
    windowed = make_windows(
        [("Who?", "a b")], WORDS, SlidingWindow(size=3, stride=3, max_question=2)
    )
    rules = ReadingRules(no_answer="learnt")
    for none, text in (((0.0, 1.5), "a"), ((1.0, 1.5), None)):
        found = scores_of(([2, 0], [0, 0]), none=none)
        (answer,) = choose_answers(windowed, found, max_words=1, abstain_below=rules.abstain_below)
        assert answer.text == text
        assert answer.score == pytest.approx(1 / (1 + np.exp(sum(none) - 2)))
    assert ReadingRules().abstain_below == 0


def test_a_record_repeats_its_input():
    record = Answer("Ada", 0, 3, 0.25).record("Who?", "Ada slept.")
    assert record == {"question": "Who?", "context": "Ada slept.", "answer": "Ada", "start": 0,
                      "end": 3, "score": 0.25}  # fmt: skip
    assert Answer(None, None, None, 0.1).record("Who?", "b")["answer"] is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"no_answer": "maybe"}, "no_answer must be one of never, learnt, got 'maybe'"),
        ({"counting": "bleu"}, "counting must be one of squad, cmrc"),
        ({"max_words": 0}, "max_words must be a whole number of at least 1, got 0"),
        ({"step": "9"}, "step must be a whole number"),
        ({"max_question": True}, "max_question must be a whole number"),
        ({"steps": 9}, "task has no setting 'steps'"),
    ],
)
def test_rules_are_read_strictly(settings, message):
    with pytest.raises(ValueError, match=message):
        ReadingRules.from_dict({"name": "read", **settings})


def test_rules_come_back_as_they_went():
    rules = ReadingRules(no_answer="learnt", max_words=3, step=4, max_question=5, counting="cmrc")
    assert ReadingRules.from_dict(rules.to_dict()) == rules
    assert rules.sliding_window(2).stride == 2


def test_a_passage_without_the_slice():
    context = WindowedContext("Ada  slept", np.array([[0, 3], [5, 10]], dtype=np.int32))
    assert context.words_at(3, 5) is None
    assert context.words_at(0, 10) == (0, 1)
