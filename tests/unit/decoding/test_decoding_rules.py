"""Rules that cannot be kept are refused beforehand; the others are kept by every search.

The rows of `REFUSED` are the rows of the table in `rules.py`.
"""

import numpy as np
import pytest
from tiny_language import NeverTwice, TinyLanguage, keeps

from softquery.decoding import Beam, Greedy, Rules, Sampling, decode
from softquery.errors import InputError

STRATEGIES = [Greedy(), Beam(size=1), Beam(size=4), Sampling(num_samples=3, seed=5)]
every_strategy = pytest.mark.parametrize(
    "strategy", STRATEGIES, ids=lambda each: type(each).__name__
)


def texts(strategy, rules, *, num_sentences=3, seed=1):
    language = TinyLanguage(seed)
    state = language.state(range(num_sentences))
    found = decode(language.step(), state, num_sentences, strategy=strategy, rules=rules)
    return [[each.tokens for each in sentence] for sentence in found]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"prefix": (4, 5, 6), "max_length": 2}, "the prefix has 3 tokens, more than .* 2"),
        ({"prefix": (4, 5), "banned": (5,)}, "the prefix holds token 5, which is banned"),
        ({"prefix": (4, 5), "places": {1: (4, 6)}}, "prefix holds token 5 where it may not stand"),
        ({"prefix": (4, 3)}, "the prefix holds token 3, which marks an end"),
        ({"prefix": (0,)}, "the prefix holds token 0, which marks an end"),
        ({"required": (3,)}, "token 3 is required, but not allowed"),
        ({"required": (4,), "banned": (4,)}, "token 4 is required, but not allowed"),
        (
            {"required": (4, 5, 6), "max_length": 2},
            "3 required tokens do not fit into the remaining length of 2",
        ),
        (
            {"required": (4, 5), "prefix": (6,), "max_length": 2},
            "2 required tokens do not fit into the remaining length of 1",
        ),
    ],
)
def test_rules_that_contradict_each_other_are_refused(rules, message):
    with pytest.raises(InputError, match=message):
        Rules(**rules)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"prefix": (4, 7)}, "token 7 is not in the vocabulary of 7 tokens"),
        ({"banned": (-1,)}, "token -1 is not in the vocabulary of 7 tokens"),
        ({"required": (99,)}, "token 99 is not in the vocabulary of 7 tokens"),
        ({"places": {0: (99,)}}, "token 99 is not in the vocabulary of 7 tokens"),
        (
            {"prefix": (4, 4), "constraint": NeverTwice(7)},
            "the prefix holds token 4, which the constraint does not admit at place 1",
        ),
    ],
)
@every_strategy
def test_rules_that_do_not_fit_the_model_are_refused(rules, message, strategy):
    with pytest.raises(InputError, match=message):
        texts(strategy, Rules(**rules))


@pytest.mark.parametrize("lengths", [(-1, 3), (4, 3)])
def test_lengths_must_be_in_order(lengths):
    low, high = lengths
    with pytest.raises(
        ValueError, match=rf"min_length \({low}\) must be in \[0, max_length \({high}"
    ):
        Rules(min_length=low, max_length=high)


def test_every_sentence_has_its_rules_or_all_have_one():
    with pytest.raises(ValueError, match="3 sentences, but rules for 2"):
        texts(Greedy(), [Rules(), Rules()])


KEPT = [
    Rules(max_length=0),
    Rules(min_length=3, max_length=3),
    Rules(max_length=5, prefix=(6, 5)),
    Rules(max_length=2, prefix=(6, 5)),
    Rules(min_length=1, max_length=4, banned=(1, 5)),
    Rules(max_length=4, places={0: (5,), 2: np.array([4, 6])}),
    Rules(min_length=2, max_length=6, constraint=NeverTwice(7)),
    Rules(max_length=4, required=(4, 6)),
    Rules(max_length=2, required=(4, 6)),
    Rules(max_length=5, required=(4,), prefix=(4, 5)),
    Rules(min_length=4, max_length=6, required=(5, 6), banned=(1,), places={0: (4, 1)}),
    Rules(max_length=6, prefix=(5,), required=(4, 6), constraint=NeverTwice(7)),
]


@every_strategy
@pytest.mark.parametrize("rules", KEPT)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_returned_keeps_the_rules(strategy, rules, seed):
    for sentence in texts(strategy, rules, seed=seed):
        assert sentence
        for tokens in sentence:
            assert keeps(tokens, rules)


@every_strategy
def test_each_sentence_keeps_its_own_rules(strategy):
    together = texts(strategy, KEPT, num_sentences=len(KEPT))
    for sentence, rules in zip(together, KEPT, strict=True):
        assert sentence
        assert all(keeps(tokens, rules) for tokens in sentence)


def nothing(tokens):
    return np.zeros((len(tokens), 7), bool)


def end_or_four(tokens):
    """Nothing but fours; after two of them there is no way on, and no end."""
    allowed = np.zeros((len(tokens), 7), bool)
    allowed[:, 4] = tokens.shape[1] < 2
    return allowed


@every_strategy
@pytest.mark.parametrize("constraint", [nothing, end_or_four])
def test_where_nothing_is_left_there_is_no_text(strategy, constraint):
    rules = [Rules(), Rules(constraint=constraint), Rules()]
    first, second, third = texts(strategy, rules)
    assert second == []
    assert first
    assert third


@every_strategy
def test_the_longest_length_ends_what_would_not_end(strategy):
    def never_end(tokens):
        allowed = np.ones((len(tokens), 7), bool)
        allowed[:, 3] = False
        return allowed

    rules = Rules(max_length=9, constraint=never_end)
    assert {len(tokens) for sentence in texts(strategy, rules) for tokens in sentence} == {9}


@every_strategy
def test_a_whole_text_can_be_forced(strategy):
    rules = Rules(prefix=(4, 6, 4), min_length=3, max_length=3)
    assert {tokens for sentence in texts(strategy, rules) for tokens in sentence} == {(4, 6, 4)}


@every_strategy
def test_a_flat_model_still_ends(strategy):
    """All tokens equally likely, for ever."""
    language = TinyLanguage(sharpness=0.0)
    rules = Rules(max_length=12)
    (found,) = decode(language.step(), language.state([0]), 1, strategy=strategy, rules=rules)
    assert all(len(each.tokens) <= 12 for each in found)
    assert len(language.num_rows) <= 13


@every_strategy
def test_a_model_that_says_not_a_number_gives_no_text(strategy):
    language = TinyLanguage()
    language.log_probabilities = lambda sentence, tokens: np.full(7, np.nan)
    assert decode(language.step(), language.state([0, 1]), 2, strategy=strategy) == [[], []]


@every_strategy
def test_no_sentences_give_no_texts(strategy):
    language = TinyLanguage()
    assert decode(language.step(), language.state([]), 0, strategy=strategy) == []


def test_a_required_token_comes_where_the_text_would_have_ended():
    language = TinyLanguage(3)
    (plain,), *_ = decode(language.step(), language.state([0]), 1, strategy=Greedy())
    missing = next(token for token in (4, 5, 6) if token not in plain.tokens)
    (found,), *_ = decode(
        language.step(), language.state([0]), 1, strategy=Greedy(), rules=Rules(required=(missing,))
    )
    assert found.tokens[: len(plain.tokens) + 1] == (*plain.tokens, missing)


def test_a_wide_beam_puts_a_required_token_where_it_is_likeliest():
    """Its share of the beam keeps texts that took the token early, though they are unlikely."""
    better = 0
    for seed in range(12):
        language, rules = TinyLanguage(seed, num_words=8), Rules(max_length=6, required=(9,))
        found = [
            decode(language.step(), language.state([0]), 1, strategy=each, rules=rules)[0][0].score
            for each in (Greedy(), Beam(size=6))
        ]
        better += found[1] > found[0]
    assert better >= 9
