"""A model that is nothing but a table: every prefix of every sentence has its own distribution."""

import functools
import itertools

import numpy as np

from softquery.decoding import WholeStep
from softquery.text import BOS_ID, EOS_ID, PAD_ID

FIRST = 4
"""The first token that is no mark."""


class TinyLanguage:
    """Random log-probabilities; `sharpness` 0 makes all tokens equally likely."""

    def __init__(self, seed=0, *, num_words=3, sharpness=2.0, source_length=4):
        self.seed, self.sharpness = seed, sharpness
        self.vocab_size = FIRST + num_words
        self.source_length = source_length
        self.num_rows = []
        """How many rows each step had."""

    @functools.cache  # noqa: B019  (languages are as short-lived as tests)
    def log_probabilities(self, sentence, tokens):
        random = np.random.default_rng([self.seed, sentence, *tokens])
        logits = self.sharpness * random.normal(size=self.vocab_size)
        return logits - np.log(np.exp(logits).sum())

    @functools.cache  # noqa: B019
    def attention(self, sentence, tokens):
        random = np.random.default_rng([self.seed, sentence, *tokens, 99])
        weights = random.random(self.source_length)
        return weights / weights.sum()

    def state(self, sentences):
        return [(sentence, ()) for sentence in sentences]

    def step(self):
        def advance(state, tokens):
            self.num_rows.append(len(state))
            assert len(state) == len(tokens)
            after = [
                (sentence, held if token == BOS_ID else (*held, int(token)))
                for (sentence, held), token in zip(state, tokens, strict=True)
            ]
            return (
                np.array([self.log_probabilities(*each) for each in after]),
                after,
                np.array([self.attention(*each) for each in after]),
            )

        def reorder(state, rows):
            return [state[row] for row in rows]

        return WholeStep(advance, reorder, self.vocab_size)

    def total(self, sentence, tokens):
        """Log-probability of a text and its end."""
        steps = [*tokens, EOS_ID]
        return sum(
            self.log_probabilities(sentence, tokens[:place])[token]
            for place, token in enumerate(steps)
        )

    def coverage(self, sentence, tokens):
        looks = [self.attention(sentence, tokens[:place]) for place in range(len(tokens) + 1)]
        return np.sum(looks, axis=0)

    def everything(self, rules):
        """All texts that keep the rules."""
        words = [
            token
            for token in range(self.vocab_size)
            if token not in (PAD_ID, BOS_ID, EOS_ID, *rules.banned)
        ]
        for length in range(rules.min_length, rules.max_length + 1):
            for tokens in itertools.product(words, repeat=length):
                if keeps(tokens, rules):
                    yield tokens

    def exhaustive(self, sentence, rules, ranking):
        """All texts that keep the rules, best first, by looking at every one of them."""
        scored = [
            (ranking.score(self.total(sentence, tokens), len(tokens) + 1,
                           self.coverage(sentence, tokens)), tokens)
            for tokens in self.everything(rules)
        ]  # fmt: skip
        return sorted(scored, key=lambda each: -each[0])


def keeps(tokens, rules):
    """Whether a text keeps the rules, said once more and independently."""
    return (
        rules.min_length <= len(tokens) <= rules.max_length
        and tokens[: len(rules.prefix)] == rules.prefix
        and not set(tokens) & {*rules.banned, PAD_ID, BOS_ID, EOS_ID}
        and set(rules.required) <= set(tokens)
        and all(
            tokens[place] in allowed
            for place, allowed in rules.places.items()
            if place < len(tokens)
        )
        and (
            rules.constraint is None
            or all(
                rules.constraint(np.array([tokens[:place]], np.int64).reshape(1, place))[0, token]
                for place, token in enumerate([*tokens, EOS_ID][: rules.max_length])
            )
        )
    )


class NeverTwice:
    """A constraint: no word follows itself."""

    def __init__(self, vocab_size):
        self.vocab_size = vocab_size

    def __call__(self, tokens):
        allowed = np.ones((len(tokens), self.vocab_size), bool)
        if tokens.shape[1]:
            allowed[np.arange(len(tokens)), tokens[:, -1]] = False
        return allowed
