"""Windows to batches: numbered, shared, labelled, padded."""

import torch

from softquery.answers import ContextWindow, ReadingRules, SlidingWindow, make_windows
from softquery.data import NO_ANSWER, encode_windows
from softquery.files import AskedQuestion, GoldAnswer
from softquery.running.read import labelled_windows
from softquery.text import TextConfig, pipeline_from_words

PIPELINE = pipeline_from_words(["who", "cat"], TextConfig())
WORDS = ["The", "cat", "sat"]
PAGES = [
    ContextWindow(["Who"], WORDS),
    ContextWindow(["What", "sat"], WORDS),
    ContextWindow([], ["cat"]),
]


def test_words_are_rows_of_a_lexicon_and_contexts_are_stored_once():
    made = encode_windows(PAGES, PIPELINE, max_characters=6)
    batch = made.batch(torch.tensor([2, 0]), 4, question_length=2)
    assert batch.context.ids.tolist() == [[8, 0, 0, 0], [7, 8, 6, 0]]
    assert batch.question.ids.tolist() == [[0, 0], [4, 0]]
    assert batch.context.mask.tolist() == [[True, False, False, False], [True, True, True, False]]
    assert batch.lexicon.words[[4, 8, 7]].tolist() == [4, 5, 1]
    assert batch.label is None
    assert made.context.starts[0] == made.context.starts[1]
    assert len(made.context.ids) == 4 + 1
    assert (len(made), batch.size) == (3, 2)
    assert made.lengths().tolist() == [3, 3, 1]


def test_labels_come_with_their_pages():
    labels = [(0, 1), (NO_ANSWER, NO_ANSWER), (0, 0)]
    made = encode_windows(PAGES, PIPELINE, max_characters=6, labels=labels)
    batch = made.batch(torch.tensor([1, 2]), 3, question_length=2)
    assert batch.label.tolist() == [[-1, -1], [0, 0]]


def test_questions_are_padded_alike_whatever_the_batch():
    made = encode_windows(PAGES, PIPELINE, max_characters=6)
    assert made.question_length() == 8
    long = encode_windows([ContextWindow(["a"] * 9, ["b"])], PIPELINE, max_characters=6)
    assert long.question_length() == 16
    assert encode_windows([], PIPELINE, max_characters=6).question_length() == 8


def test_the_same_on_another_device():
    made = encode_windows(PAGES, PIPELINE, max_characters=6, labels=[(0, 0)] * 3)
    moved = made.to("meta")
    tensors = (moved.context.ids, moved.label, moved.lexicon.words, moved.question.starts)
    assert {tensor.device.type for tensor in tensors} == {"meta"}


def row(context, *answers):
    found = tuple(GoldAnswer(text, start) for text, start in answers)
    return AskedQuestion(
        id="1", question="who", context=context, answers=found, number=1, source="a.json"
    )


def labelled(rows, *, no_answer="never", size=4, step=2):
    rules = ReadingRules(no_answer=no_answer)
    pairs = [(each.question, each.context) for each in rows]
    windowed = make_windows(pairs, PIPELINE, SlidingWindow(size=size, stride=step, max_question=9))
    chosen, labels = labelled_windows(rows, windowed, rules)
    return [tuple(place) for place in chosen.places], labels


def test_answers_become_words_of_pages():
    context = "a b c d e f"
    assert labelled([row(context, ("c d", 4))]) == ([(0, 0), (0, 2)], [(2, 3), (0, 1)])
    assert labelled([row(context, ("f", 10))]) == ([(0, 2)], [(3, 3)])
    assert labelled([row(context, ("b c d e", 2))]) == ([], [])  # within no window


def test_a_part_of_a_word_stands_for_the_word():
    assert labelled([row("catfish sat", ("fish", 3))]) == ([(0, 0)], [(0, 0)])


def test_the_first_answer_that_stands_there_is_learnt():
    rows = [row("a b", ("nowhere", -1), ("b", 2), ("a", 0))]
    assert labelled(rows) == ([(0, 0)], [(1, 1)])
    assert labelled([row("a b", ("nowhere", -1))]) == ([], [])
    assert labelled([row("a b", ("nowhere", -1))], no_answer="learnt") == ([], [])


def test_pages_without_the_answer_say_so_where_that_is_learnt():
    rows = [row("a b c d e f", ("f", 10)), row("a b")]
    assert labelled(rows, no_answer="learnt") == (
        [(0, 0), (0, 2), (1, 0)], [(-1, -1), (3, 3), (-1, -1)]
    )  # fmt: skip
    assert labelled(rows) == ([(0, 2)], [(3, 3)])


def test_an_answer_without_any_word_is_not_there():
    assert labelled([row("a \u200b b", ("\u200b", 2))]) == ([], [])
