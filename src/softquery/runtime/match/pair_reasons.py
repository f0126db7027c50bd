"""What a matcher's answer owes to each word of two sentences."""

from typing import TYPE_CHECKING

from softquery.explain import Reasons
from softquery.runtime.inner.inner_weights import reads_words
from softquery.runtime.leaving_out import leave_out, token_parts, word_parts
from softquery.runtime.match.backend import Read

if TYPE_CHECKING:
    from softquery.runtime.match.model import Matcher


def pair_reasons(matcher: "Matcher", pair: tuple[str, str], read: Read, column: int) -> Reasons:
    """Leave out each word of either sentence in turn; equal sentences are encoded once.

    Args:
        matcher: Answers.
        pair: The sentences as they were given.
        read: The sentences as the matcher reads them.
        column: Of the answer whose reasons are asked for.
    """
    spells = reads_words(matcher.bundle)
    parts = [
        part
        for side, text in enumerate(pair)
        for part in (
            word_parts([str(word) for word in read[side]], side)
            if spells
            else token_parts(text, matcher.pipeline, side)
        )
    ]
    return leave_out(
        read,
        parts,
        lambda variants: matcher.probabilities_of_read(
            [first for first, _ in variants], [second for _, second in variants]
        ),
        column,
        matcher.labels[column] if matcher.labels else "",
    )
