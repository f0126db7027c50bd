"""Candidates for a lower line, ordered by how well both lines of a couplet answer each other.

A search follows how likely a line is after the upper line, and what is common is likely after
anything. How well the upper line is predicted from the lower one tells lines apart that fit (Li et
al. 2016, "A Diversity-Promoting Objective Function for Neural Conversation Models", MMI-bidi, which
weighs both directions as well). Theirs is a second model; a couplet's lines may trade places, so
one model reads both.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from softquery.answers import Generated
from softquery.decoding import Beam, Strategy

Likelihoods = Callable[[Sequence[str], Sequence[str]], tuple[Any, Any]]
"""Of `Generator.log_likelihoods`."""


def all_found(strategy: Strategy) -> Strategy:
    """The same search, which hands over all that it keeps."""
    return replace(strategy, num_best=strategy.size) if isinstance(strategy, Beam) else strategy


def ranked_both_ways(
    found: Sequence[Sequence[Generated]],
    uppers: Sequence[str],
    strategy: Strategy,
    log_likelihoods: Likelihoods,
) -> list[list[Generated]]:
    """As many candidates as the strategy asks for, best first.

    A score becomes the mean log-likelihood of a token, over both lines.

    Args:
        found: Candidates for each upper line.
        uppers: The upper lines.
        strategy: As it was asked for.
        log_likelihoods: What the model says of the upper lines after the lower ones.
    """
    pairs = [(line, upper) for lines, upper in zip(found, uppers, strict=True) for line in lines]
    if not pairs:
        return [[] for _ in found]
    backwards, counts = log_likelihoods([line.text for line, _ in pairs], [u for _, u in pairs])
    scores = (
        float(line.log_probability + back) / (len(line.tokens) + 1 + int(count))
        for (line, _), back, count in zip(pairs, backwards, counts, strict=True)
    )
    scored = [[replace(line, score=next(scores)) for line in lines] for lines in found]
    num_best = getattr(strategy, "num_best", None)
    return [sorted(lines, key=lambda line: -line.score)[:num_best] for lines in scored]
