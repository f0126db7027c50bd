"""Whatever the model thinks, a lower line under rules has the form of a couplet."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.decoding import (
    COUPLET_RULES,
    AllOf,
    BannedPhrases,
    Beam,
    Characters,
    Sampling,
    WatchedStep,
    WholeStep,
    beam_search,
    couplet_rules,
    greedy,
    sample,
)
from softquery.errors import InputError
from softquery.measure.generate_scores import (
    opposite_ends,
    repeats_rightly,
    same_length,
    same_signs,
)
from softquery.text import reserved_tokens

ENTRIES = [*reserved_tokens("characters"), *"春花山日天红来明秋月水风地绿去清，。ab"]
CHARACTERS = Characters.of(ENTRIES, 4)


def random_step(seed):
    """A model that says something else for every token it is handed."""
    table = np.random.default_rng(seed).normal(size=(len(ENTRIES), len(ENTRIES))) * 3
    table -= np.log(np.exp(table).sum(axis=1, keepdims=True))
    return WholeStep(
        lambda state, tokens: (table[tokens], state, None), lambda s, r: s, len(ENTRIES)
    )


def spelt(found, upper):
    return "".join(
        upper[place] if ENTRIES[token] == "<unk>" else ENTRIES[token]
        for place, token in enumerate(found.tokens)
    )


uppers = st.lists(st.sampled_from("春花山日天，。龘！"), min_size=1, max_size=7).map("".join)


@settings(max_examples=60, deadline=None)
@given(uppers, st.integers(0, 50), st.sampled_from(["greedy", "beam", "sample"]))
def test_every_search_keeps_every_rule(upper, seed, how):
    rules = couplet_rules(list(upper), CHARACTERS, rules=COUPLET_RULES)
    step = random_step(seed)
    if how == "greedy":
        (found,) = greedy(step, None, 1, rules=rules)
    elif how == "beam":
        (found,) = beam_search(step, None, 1, rules=rules, settings=Beam(size=3, num_best=2))
    else:
        (found,) = sample(step, None, 1, rules=rules, settings=Sampling(seed=seed))
    assert found
    for each in found:
        lower = spelt(each, upper)
        assert same_length(upper, lower)
        assert same_signs(upper, lower)
        assert repeats_rightly(upper, lower)
        assert opposite_ends(upper, lower) is not False


def test_form_alone_lets_characters_return():
    rules = couplet_rules(list("春花，山"), CHARACTERS, rules=("form",))
    allowed = rules.constraint(np.zeros((1, 0), np.int64))[0]
    assert allowed[ENTRIES.index("春")]
    assert not allowed[ENTRIES.index("a")]
    assert not allowed[ENTRIES.index("，")]
    assert rules.places == {2: (ENTRIES.index("，"),)}


@pytest.mark.parametrize("rules", [("repeats",), ("tones",), ("form", "repeats")], ids=str)
def test_whichever_rules_hold_a_line_is_as_long_as_the_upper_one(rules):
    made = couplet_rules(list("春花，山"), CHARACTERS, rules=rules)
    assert (made.min_length, made.max_length) == (4, 4)


def test_a_required_character_must_have_a_place():
    upper = list("春，")
    spring, comma, month = (ENTRIES.index(each) for each in "春，月")
    for rules in (("form", "repeats"), COUPLET_RULES):
        with pytest.raises(InputError, match=f"token {spring} is required, but not allowed"):
            couplet_rules(upper, CHARACTERS, rules=rules, required=(spring,))
    assert couplet_rules(upper, CHARACTERS, rules=("form",), required=(spring,)).required
    assert couplet_rules(upper, CHARACTERS, required=(comma,)).required
    assert couplet_rules(upper, CHARACTERS, required=(month,)).required


def test_latin_letters_may_be_answered_by_any_word():
    rules = couplet_rules(["a", "春"], CHARACTERS)
    allowed = rules.constraint(np.zeros((1, 0), np.int64))[0]
    assert allowed[ENTRIES.index("b")]
    assert not allowed[ENTRIES.index("a")]


def test_a_prefix_that_breaks_a_rule_is_refused():
    taken = ENTRIES.index("春")
    rules = couplet_rules(list("春花"), CHARACTERS, prefix=(taken,))
    with pytest.raises(InputError, match="the constraint does not admit"):
        greedy(random_step(1), None, 1, rules=rules)


def test_the_end_of_a_repeated_character_is_chosen_where_it_first_stands():
    rules = couplet_rules(list("月春月"), CHARACTERS, rules=COUPLET_RULES)
    allowed = rules.constraint(np.zeros((1, 0), np.int64))[0]
    assert not allowed[ENTRIES.index("地")]  # oblique, as 月 is
    assert allowed[ENTRIES.index("风")]


def test_phrases_are_banned_where_they_would_be_completed():
    ban = BannedPhrases([(4, 5), (6,)], 8)
    assert (~ban(np.array([[4], [7]]))).nonzero()[0].tolist() == [0, 0, 1]
    both = AllOf([ban, lambda tokens: np.arange(8)[None] < 5])
    assert both(np.array([[7]]))[0].tolist() == [True] * 5 + [False] * 3


def test_a_watched_step_tells_what_it_was_handed():
    told = []
    step = WatchedStep(random_step(2), lambda tokens: told.append(tokens.tolist()))
    rules = couplet_rules(list("春花"), CHARACTERS)
    (found,) = greedy(step, None, 1, rules=rules)
    assert [row[0] for row in told[1:]] == list(found[0].tokens)
    assert step.vocab_size == len(ENTRIES)
