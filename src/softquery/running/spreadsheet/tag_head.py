"""Fit a head that tags words: on a shipped model that stays as it is, without torch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.answers import TagSet
from softquery.files import TaggedSentence
from softquery.measure.chain_regression import TokenRows, fit_chain
from softquery.runtime.batches import Floats
from softquery.runtime.tag.backend import Chain, decode_tags
from softquery.runtime.tag.word_head import ChainHead, Clues, KnownClues
from softquery.text import rejoined

Ids = NDArray[np.int64]
VECTOR_SCALE = 0.1
"""The standard deviation of each part of a vector, beside clues that are 0 or 1."""
PENALTY, CHAIN_PENALTY = 1.0, 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadSentences:
    """Sentences as a head reads them: their words, vectors and tags."""

    rows: Sequence[TaggedSentence]
    states: Sequence[Floats]
    """[T, D] for each sentence."""
    gold: Sequence[Sequence[int]]
    """Tag ids; longer sentences are not cut here."""

    def some(self, places: Ids) -> "ReadSentences":
        """Those of some places."""
        every = places.tolist()
        return ReadSentences(
            rows=[self.rows[place] for place in every],
            states=[self.states[place] for place in every],
            gold=[self.gold[place] for place in every],
        )

    @property
    def words(self) -> list[list[str]]:
        """The words of every sentence."""
        return [row.tokens for row in self.rows]


def fit_word_head(
    read: ReadSentences, tags: TagSet, kind: Clues, widths: Sequence[int]
) -> ChainHead:
    """Fit a linear-chain CRF to sentences.

    Args:
        read: The sentences to learn from.
        tags: The tags, in the order of their ids.
        kind: What tokens are.
        widths: Of the parts that a vector is made of, each brought to the same scale.
    """
    known = KnownClues.of(read.words, kind)
    wide = np.concatenate(list(read.states))
    mean = wide.mean(axis=0, dtype=np.float64).astype(np.float32)
    scale = _scales(wide - mean, widths)
    rows = TokenRows((wide - mean) * scale, known.places(read.words), len(known.keys))
    fit = fit_chain(
        rows,
        np.concatenate([np.asarray(each, dtype=np.int64) for each in read.gold]),
        [len(each) for each in read.gold],
        num_tags=len(tags.labels),
        penalty=PENALTY,
        chain_penalty=CHAIN_PENALTY,
    )
    vector = fit.vector * scale[:, None]
    return ChainHead(
        vector=vector.astype(np.float32),
        clues=fit.clues.astype(np.float32),
        bias=(fit.bias - mean @ vector).astype(np.float32),
        chain=Chain(*(each.astype(np.float32) for each in (fit.between, fit.start, fit.end))),
        known=known,
    )


def _scales(rows: Floats, widths: Sequence[int]) -> Floats:
    """By what the parts of a vector are multiplied."""
    bounds = np.cumsum([0, *widths])
    spread = [
        float(np.sqrt((rows[:, start:end] ** 2).mean())) or 1.0
        for start, end in zip(bounds, bounds[1:], strict=False)
    ]
    return np.repeat(VECTOR_SCALE / np.array(spread), widths).astype(np.float32)


def answered_tags(head: ChainHead, read: ReadSentences, tags: TagSet) -> list[list[str]]:
    """The tags that a head answers, in the scheme that it has learnt."""
    return decode_tags(head.scores(read.states, read.words), tags, head.chain)


def gold_tags(read: ReadSentences, tags: TagSet) -> list[list[str]]:
    """The tags of the file, in the scheme that is learnt."""
    flat = [tags.labels[each] for ids in read.gold for each in ids]
    return rejoined([flat], [len(ids) for ids in read.gold])
