"""Beam search: exact when it is wide enough, greedy when it is one text wide."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_language import NeverTwice, TinyLanguage

from softquery.decoding import Beam, Greedy, Ranking, Rules, beam_search, greedy

MASK = np.array([[True] * 4, [True, True, True, False], [True, False, False, False]])


@st.composite
def rule_sets(draw):
    """Rules over the tokens 1, 4 and 5 that do not contradict themselves."""
    low = draw(st.integers(0, 2))
    return Rules(
        min_length=low,
        max_length=draw(st.integers(3, 4)),
        prefix=draw(st.sampled_from([(), (), (5,), (4, 1)])),
        required=draw(st.sampled_from([(), (), (4,), (5,)])),
        places=draw(st.sampled_from([{}, {}, {2: (4, 5)}, {3: (1,)}])),
        constraint=draw(st.sampled_from([None, None, NeverTwice(6)])),
    )


rankings = st.builds(
    Ranking, length=st.sampled_from([0.0, 0.6, 1.5]), coverage=st.sampled_from([0.0, 0.4])
)
seeds = st.integers(0, 10_000)


def search(language, rules, sentences=(0, 1, 2), mask=MASK, **settings):
    return beam_search(
        language.step(),
        language.state(sentences),
        len(sentences),
        settings=Beam(**settings),
        rules=rules,
        source_mask=mask,
    )


def masked(language, mask):
    """The exhaustive search knows no padding: its coverage is over the real tokens."""
    whole = language.coverage
    language.coverage = lambda sentence, tokens: whole(sentence, tokens)[mask[sentence]]
    return language


@settings(max_examples=40, deadline=None)
@given(seeds, rule_sets(), rankings, st.sampled_from([1.0, math.inf]))
def test_a_wide_beam_finds_what_looking_at_everything_finds(seed, rules, ranking, patience):
    language = masked(TinyLanguage(seed, num_words=2), MASK)
    found = search(language, rules, size=130, num_best=4, ranking=ranking, patience=patience)
    for sentence, texts in enumerate(found):
        wanted = language.exhaustive(sentence, rules, ranking)[:4]
        assert [each.tokens for each in texts] == [tokens for _, tokens in wanted]
        np.testing.assert_allclose([each.score for each in texts], [score for score, _ in wanted])


@settings(max_examples=40, deadline=None)
@given(seeds, rule_sets(), rankings)
def test_a_beam_of_one_is_greedy(seed, rules, ranking):
    language = TinyLanguage(seed, num_words=2)
    narrow = search(language, rules, size=1, ranking=ranking)
    first = greedy(
        language.step(), language.state(range(3)), 3, settings=Greedy(ranking=ranking),
        rules=rules, source_mask=MASK,
    )  # fmt: skip
    for one, other in zip(narrow, first, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        for mine, theirs in zip(one, other, strict=True):
            assert mine.score == pytest.approx(theirs.score)
            assert mine.is_cut == theirs.is_cut
            np.testing.assert_array_equal(mine.attention, theirs.attention)


@settings(max_examples=30, deadline=None)
@given(seeds, rule_sets(), rankings, st.integers(1, 6))
def test_batched_equals_one_by_one(seed, rules, ranking, size):
    language = TinyLanguage(seed, num_words=2)
    settings_of = {"size": size, "num_best": size, "ranking": ranking}
    together = search(language, rules, **settings_of)
    for sentence, texts in enumerate(together):
        (alone,) = search(language, rules, [sentence], MASK[sentence : sentence + 1], **settings_of)
        assert [each.tokens for each in alone] == [each.tokens for each in texts]
        np.testing.assert_allclose([each.score for each in alone], [each.score for each in texts])


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(1, 6))
def test_a_text_tells_its_own_probability_and_attention(seed, size):
    language = TinyLanguage(seed)
    for sentence, texts in enumerate(
        search(language, Rules(max_length=6), size=size, num_best=size)
    ):
        assert len({each.tokens for each in texts}) == len(texts)
        for each in texts:
            assert each.log_probability == pytest.approx(language.total(sentence, each.tokens))
            looks = [
                language.attention(sentence, each.tokens[:place])
                for place in range(len(each.tokens) + 1)
            ]
            np.testing.assert_allclose(each.attention, looks)


def test_texts_come_best_first_and_at_most_as_many_as_asked():
    found = search(TinyLanguage(5), Rules(max_length=6), size=6, num_best=3)
    for texts in found:
        assert len(texts) == 3
        assert [each.score for each in texts] == sorted(
            (each.score for each in texts), reverse=True
        )


def test_fewer_texts_than_asked_where_there_are_fewer():
    found = search(
        TinyLanguage(5), Rules(min_length=1, max_length=1, banned=(1,)), size=6, num_best=5
    )
    assert [len(texts) for texts in found] == [3, 3, 3]


def test_a_wider_beam_finds_no_worse_text_on_the_whole():
    scores = []
    for size in (1, 2, 4, 8):
        found = [
            search(TinyLanguage(seed), Rules(max_length=6), size=size, patience=math.inf)
            for seed in range(15)
        ]
        scores.append(sum(texts[0].score for each in found for texts in each))
    assert scores == sorted(scores)


def test_patience_sees_more_and_none_stops_early():
    language = TinyLanguage(2)
    steps = []
    for patience in (0.2, 1.0, math.inf):
        language.num_rows.clear()
        search(language, Rules(max_length=12), size=4, patience=patience)
        steps.append(len(language.num_rows))
    assert steps[0] <= steps[1] <= steps[2] <= 13
    assert steps[0] < steps[2]


def test_a_near_certain_text_is_not_lost_to_unlikely_ones_that_end_first():
    language = TinyLanguage(num_words=6)
    certain = (4, 5, 6, 7, 8, 9, 4, 5)

    def sharp(sentence, tokens):
        values = np.full(10, -9.0)
        follows = certain[len(tokens)] if len(tokens) < len(certain) else 3
        values[follows if tokens == certain[: len(tokens)] else 3] = -0.01
        return values

    language.log_probabilities = sharp
    found = search(language, Rules(max_length=20), [0], size=3)
    assert found[0][0].tokens == certain


def test_sentences_that_are_done_are_read_no_more():
    rules = [Rules(max_length=1), Rules(min_length=8, max_length=8), Rules(max_length=1)]
    language = TinyLanguage(1)
    search(language, rules, size=3)
    assert language.num_rows[:2] == [3, 9]
    assert set(language.num_rows[2:]) == {3}


def test_length_normalisation_favours_longer_texts():
    lengths = []
    for length in (0.0, 2.0):
        found = [
            search(TinyLanguage(seed), Rules(max_length=8), size=8, ranking=Ranking(length=length))
            for seed in range(20)
        ]
        lengths.append(sum(len(texts[0].tokens) for each in found for texts in each))
    assert lengths[1] > lengths[0]


def test_the_penalties_are_those_of_the_paper():
    ranking = Ranking(length=0.7, coverage=0.3)
    wanted = -12.0 / (((5 + 9) ** 0.7) / ((5 + 1) ** 0.7)) + 0.3 * (math.log(0.5) + math.log(0.25))
    assert ranking.score(-12.0, 9, np.array([0.5, 2.0, 0.25])) == pytest.approx(wanted)
    assert Ranking(length=0.0).score(-12.0, 9) == -12.0


def test_what_was_never_looked_at_costs_much_but_not_everything():
    assert -25 < Ranking(coverage=1.0).coverage_penalty(np.array([0.0])) < -15


def test_coverage_without_attention_is_refused():
    language = TinyLanguage()
    with pytest.raises(
        ValueError, match="coverage needs a model that attends, and the source's mask"
    ):
        search(language, Rules(), mask=None, ranking=Ranking(coverage=0.1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"size": 0}, r"num_best \(1\) must be in \[1, size \(0\)\]"),
        ({"size": 2, "num_best": 3}, r"num_best \(3\) must be in \[1, size \(2\)\]"),
        ({"patience": 0.0}, "patience must be positive, got 0.0"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Beam(**wrong)


@pytest.mark.parametrize("name", ["length", "coverage"])
def test_penalties_are_not_negative(name):
    with pytest.raises(ValueError, match=f"{name} must not be negative, got -0.5"):
        Ranking(**{name: -0.5})
