"""The likeliest token at every step."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softquery.decoding.hypothesis import Hypothesis, Ranking
from softquery.decoding.paths import Paths
from softquery.decoding.rule_book import RuleBook
from softquery.decoding.rules import Rules
from softquery.decoding.step import Floats, Ids, Mask, State, Step
from softquery.decoding.walk import Walk


@dataclass(frozen=True, kw_only=True, slots=True)
class Greedy:
    """Always the likeliest token; of equals, that of the lower number."""

    ranking: Ranking = Ranking()


def greedy(
    step: Step[State],
    state: State,
    num_sentences: int,
    *,
    settings: Greedy | None = None,
    rules: Rules | Sequence[Rules] | None = None,
    source_mask: Mask | None = None,
) -> list[list[Hypothesis]]:
    """Take the likeliest token at every step.

    A text that would end while required tokens are missing goes on with the likeliest of them.

    Args:
        step: The decoder.
        state: Its state before the first token, a row for each sentence.
        num_sentences: Sentences.
        settings: How the score is computed.
        rules: What texts must keep to, for all sentences or for each.
        source_mask: Real tokens of the sources, which a coverage penalty needs.

    Returns:
        One text for each sentence, or none where it ran into a place at which nothing was allowed.

    >>> from softquery.decoding import WholeStep
    >>> after = {2: [0, 0, 0, 0.2, 0.7, 0.1], 4: [0, 0, 0, 0.3, 0.1, 0.6], 5: [0, 0, 0, 1, 0, 0]}
    >>> def advance(state, tokens):
    ...     return np.log(np.maximum([after[token] for token in tokens], 1e-9)), state, None
    >>> step = WholeStep(advance, lambda state, rows: state, 6)
    >>> greedy(step, None, 1)[0][0].tokens
    (4, 5)
    >>> greedy(step, None, 1, rules=Rules(banned=(5,)))[0][0].tokens
    (4,)
    """
    settings = settings or Greedy()
    book = RuleBook(rules or Rules(), num_sentences, step.vocab_size)
    walk = Walk(step, book, settings.ranking, source_mask)
    return walk.run(state, Paths.begin(np.arange(num_sentences)), _Likeliest())


def likelihood(
    step: Step[State],
    state: State,
    targets: Sequence[Sequence[int]],
    *,
    ranking: Ranking | None = None,
) -> list[Hypothesis]:
    """How likely given texts are, one for each row of the state; tokens without the ends."""
    rules = [
        Rules(prefix=tuple(each), min_length=len(each), max_length=len(each)) for each in targets
    ]
    settings = Greedy(ranking=ranking or Ranking())
    found = greedy(step, state, len(targets), settings=settings, rules=rules)
    return [
        texts[0] if texts else _impossible(target)
        for texts, target in zip(found, targets, strict=True)
    ]


def _impossible(target: Sequence[int]) -> Hypothesis:
    never = -math.inf
    return Hypothesis(tokens=tuple(target), score=never, log_probability=never, is_cut=True)


class _Likeliest:
    num_candidates = 1

    def __call__(self, rows: Ids, values: Floats) -> Ids:
        """The first of the largest."""
        best: Ids = values.argmax(axis=1)
        return best

    def advance(self) -> None:
        """Nothing is remembered."""
