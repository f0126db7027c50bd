"""Every search behind one door, so that the way to decode can be a setting."""

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
    """Texts for each sentence, best first: `greedy`, `beam_search` or `sample`, by its settings.

    `numbers` tells which sentences these are among all, where texts are drawn.
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
