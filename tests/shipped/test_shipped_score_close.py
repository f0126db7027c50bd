"""Indexes of rows that an editor wrote: typical ones, near ones, names, and such as look alike."""

import random

import numpy as np
from score_close import near_labels, typical_texts, unlike_faq, words_of_name
from score_faqs import Clusters

import softquery as sq


def test_a_row_is_the_most_typical_text_of_its_intent():
    asked = [
        "How do I reset my password?",
        "How can I reset my password?",
        "password reset, how?",
        "My cat walked over the keyboard and now nothing works.",
    ]
    stored = [(text, "reset") for text in asked] + [("Where is my parcel?", "track"), (" ", "none")]
    found = typical_texts(sq.load("embed-en"), stored, "1")
    assert set(found) == {"reset", "track"}
    assert found["reset"][0] in asked[:3]
    assert found["track"][0] == "Where is my parcel?"


def test_intents_that_are_near_are_stored_together_and_one_of_each_group_is_not():
    angles = {f"{kind}{number}": kind + number / 100 for kind in range(3) for number in range(4)}
    vectors = {name: np.array([np.cos(a), np.sin(a)]) for name, a in angles.items()}
    kept, withheld = near_labels(vectors, 6, random.Random(1))
    assert len(kept) == len(set(kept)) == 6
    assert not withheld & set(kept)
    groups = {name[0] for name in kept}
    assert len(groups) == 2
    assert {name for name in vectors if name[0] in groups} == {*kept, *withheld}


def test_names_of_intents_are_rows_in_words():
    names = ["CHECK_PINCODE", "ChangeSecurityQuestion", "alarm/time_left_on_alarm", "track refund"]
    words = ["Check pincode", "Change security question", "Time left on alarm", "Track refund"]
    assert [words_of_name(name) for name in names] == words


def test_questions_that_do_not_mean_the_same_are_stored_beside_each_other():
    pairs = [(f"how cook dish{n} rice", f"way to cook dish{n} rice", True) for n in range(400)]
    pairs += [(f"is dish{n} rice good", f"way to cook dish{n} rice", False) for n in range(400)]
    case = unlike_faq("en", "bq", Clusters(pairs), 10, 1)
    answers = [answer for _, answer in case.rows]
    assert len(answers) == len(set(answers)) > 10
    stored = {text for text, _ in case.rows}
    assert any(text.startswith("is dish") for text in stored)
    assert not stored & {text for text, _ in case.queries}
    assert {answer for _, answer in case.queries if answer} <= set(answers)
