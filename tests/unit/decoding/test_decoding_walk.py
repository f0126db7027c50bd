"""Greedy and drawn texts, and the likelihood of given ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_language import TinyLanguage

from softquery.decoding import Greedy, Ranking, Rules, Sampling, greedy, likelihood, sample
from softquery.text import EOS_ID

seeds = st.integers(0, 10_000)


def draw(language, sentences=(0, 1, 2), *, rules=None, numbers=None, **settings):
    return sample(
        language.step(),
        language.state(sentences),
        len(sentences),
        settings=Sampling(**settings),
        rules=rules or Rules(max_length=6),
        numbers=numbers,
    )


def tokens_of(found):
    return [[each.tokens for each in texts] for texts in found]


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_greedy_takes_the_likeliest_each_time(seed):
    language = TinyLanguage(seed)
    found = greedy(language.step(), language.state([7]), 1, rules=Rules(max_length=6))[0][0]
    never = [0, 2]
    for place, token in enumerate([*found.tokens, EOS_ID][:6]):
        values = language.log_probabilities(7, found.tokens[:place]).copy()
        values[never] = -np.inf
        assert token == values.argmax()
    assert found.log_probability == pytest.approx(language.total(7, found.tokens))
    assert found.is_cut == (len(found.tokens) == 6)


def test_greedy_texts_do_not_depend_on_company():
    language = TinyLanguage(4)
    together = greedy(language.step(), language.state(range(5)), 5)
    for sentence, texts in enumerate(together):
        alone = greedy(language.step(), language.state([sentence]), 1)
        assert tokens_of(alone) == tokens_of([texts])


def test_texts_that_have_ended_are_read_no_more():
    language = TinyLanguage(1)
    rules = [Rules(max_length=1), Rules(min_length=4, max_length=4), Rules(max_length=1)]
    greedy(language.step(), language.state(range(3)), 3, rules=rules)
    assert language.num_rows[0] == 3
    assert language.num_rows[2:] == [1, 1, 1]


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(0, 5), st.sampled_from([0.3, 0.9, 1.0]))
def test_samples_depend_on_seed_and_number_alone(seed, top_k, top_p):
    language = TinyLanguage(seed)
    chosen = {"seed": seed, "top_k": top_k, "top_p": top_p, "temperature": 1.3}
    together = draw(language, num_samples=3, **chosen)
    assert tokens_of(draw(language, num_samples=3, **chosen)) == tokens_of(together)
    for sentence, texts in enumerate(together):
        alone = draw(language, [sentence], numbers=[sentence], num_samples=3, **chosen)
        assert tokens_of(alone) == tokens_of([texts])
        more = draw(language, [sentence], numbers=[sentence], num_samples=5, **chosen)
        assert set(tokens_of([texts])[0]) <= set(tokens_of(more)[0])


def test_other_seeds_and_numbers_draw_other_texts():
    language = TinyLanguage(1, num_words=20, sharpness=0.3)
    texts = {
        draw(language, [0], seed=seed, numbers=[number])[0][0].tokens
        for seed in range(4)
        for number in range(4)
    }
    assert len(texts) > 12


def test_texts_are_as_frequent_as_they_are_likely():
    language = TinyLanguage(8, num_words=1, sharpness=1.0)
    rules, count = Rules(max_length=1), 4000
    (found,) = draw(language, [0], rules=rules, num_samples=count, seed=3)
    shares = {tokens: sum(each.tokens == tokens for each in found) / count
              for tokens in ((), (1,), (4,))}  # fmt: skip
    chances = np.exp(language.log_probabilities(0, ())[[3, 1, 4]])
    np.testing.assert_allclose(list(shares.values()), chances / chances.sum(), atol=0.03)


def test_a_low_temperature_is_greedy():
    language = TinyLanguage(6)
    cold = draw(language, temperature=1e-4, seed=1)
    first = greedy(language.step(), language.state(range(3)), 3, rules=Rules(max_length=6))
    assert tokens_of(cold) == tokens_of(first)


@pytest.mark.parametrize("narrow", [{"top_k": 1}, {"top_p": 1e-6}])
def test_the_narrowest_choice_is_greedy(narrow):
    language = TinyLanguage(6)
    first = greedy(language.step(), language.state(range(3)), 3, rules=Rules(max_length=6))
    assert tokens_of(draw(language, seed=2, **narrow)) == tokens_of(first)


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(1, 4))
def test_what_is_drawn_is_among_the_likeliest(seed, top_k):
    language = TinyLanguage(seed)
    for texts in draw(language, [0], top_k=top_k, num_samples=4, seed=seed):
        for each in texts:
            for place, token in enumerate([*each.tokens, EOS_ID][:6]):
                values = language.log_probabilities(0, each.tokens[:place]).copy()
                values[[0, 2]] = -np.inf
                assert token in np.argsort(-values)[:top_k]


@settings(max_examples=20, deadline=None)
@given(seeds, st.sampled_from([0.3, 0.6, 0.9]))
def test_the_nucleus_is_the_smallest_that_holds_the_share(seed, top_p):
    language = TinyLanguage(seed)
    for texts in draw(language, [0], top_p=top_p, num_samples=4, seed=seed):
        for each in texts:
            for place, token in enumerate([*each.tokens, EOS_ID][:6]):
                chances = np.exp(language.log_probabilities(0, each.tokens[:place]))
                chances[[0, 2]] = 0
                chances /= chances.sum()
                likelier = chances[chances > chances[token]].sum()
                assert likelier < top_p


def test_drawn_texts_come_best_first_and_tell_the_models_own_probability():
    language = TinyLanguage(9)
    for sentence, texts in enumerate(draw(language, num_samples=5, temperature=2.0, top_p=0.9)):
        assert len(texts) == 5
        scores = [each.score for each in texts]
        assert scores == sorted(scores, reverse=True)
        for each in texts:
            assert each.log_probability == pytest.approx(language.total(sentence, each.tokens))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"num_samples": 0}, "num_samples must be positive, got 0"),
        ({"top_k": -1}, "top_k must not be negative, got -1"),
        ({"seed": -1}, "seed must not be negative, got -1"),
        ({"top_p": 0.0}, r"top_p must be in \(0, 1\], got 0.0"),
        ({"top_p": 1.1}, r"top_p must be in \(0, 1\], got 1.1"),
        ({"temperature": 0.0}, "temperature must be positive, got 0.0"),
        ({"temperature": float("nan")}, "temperature must be positive, got nan"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Sampling(**wrong)


def test_the_likelihood_of_given_texts_is_their_own():
    language = TinyLanguage(2)
    targets = [(4, 5), (), (6, 6, 6, 4)]
    found = likelihood(language.step(), language.state(range(3)), targets)
    for sentence, (target, each) in enumerate(zip(targets, found, strict=True)):
        assert each.tokens == target
        total = language.total(sentence, target)
        assert each.log_probability == pytest.approx(total)
        assert each.score == pytest.approx(Ranking().score(total, len(target) + 1))
        assert each.attention.shape == (len(target) + 1, 4)


def test_an_impossible_text_is_infinitely_unlikely():
    language = TinyLanguage()
    language.log_probabilities = lambda sentence, tokens: np.full(7, -np.inf)
    (found,) = likelihood(language.step(), language.state([0]), [(4, 5)])
    assert (found.tokens, found.log_probability) == ((4, 5), -np.inf)


def test_a_ranking_is_obeyed():
    language = TinyLanguage(2)
    ranking = Ranking(length=1.0)
    (found,), *_ = greedy(language.step(), language.state([0]), 1, settings=Greedy(ranking=ranking))
    length = len(found.tokens) + 1
    assert found.score == pytest.approx(found.log_probability / ((5 + length) / 6))
