"""One entry point for every search, so that the way to decode can be a setting."""

from collections.abc import Sequence

from softquery.decoding.beam import Beam, beam_search
from softquery.decoding.greedy_and_sampling import Greedy, Sampling, greedy, sample
from softquery.decoding.hypothesis import Hypothesis
from softquery.decoding.rules import Rules
from softquery.decoding.step import Mask, State, Step

Strategy = Greedy | Beam | Sampling


def decode(
    step: Step[State],
    state: State,
    num_sentences: int,
    *,
    strategy: Strategy,
    rules: Rules | Sequence[Rules] | None = None,
    source_mask: Mask | None = None,
    numbers: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """The texts of each sentence, best first, by the search that belongs to the strategy.

    `numbers` are the indices of the sentences among all, on which sampled texts depend.
    """
    if isinstance(strategy, Sampling):
        return sample(
            step,
            state,
            num_sentences,
            settings=strategy,
            rules=rules,
            source_mask=source_mask,
            numbers=numbers,
        )
    if isinstance(strategy, Beam):
        return beam_search(
            step, state, num_sentences, settings=strategy, rules=rules, source_mask=source_mask
        )
    return greedy(
        step, state, num_sentences, settings=strategy, rules=rules, source_mask=source_mask
    )
