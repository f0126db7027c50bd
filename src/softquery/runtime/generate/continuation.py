"""A language model that reads from left to right goes on from a text. Needs no torch once exported.

It has no decoder of its own: the text and what was written so far are one row, which is read anew
for every piece. That costs a whole pass a piece, and keeps nothing between two of them.

N rows, V pieces of the vocabulary.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.decoding import Hypothesis, WatchedStep, WholeStep, decode
from softquery.errors import BundleError, ConfigError
from softquery.runtime.batches import Floats
from softquery.runtime.bert.backend import BertRow
from softquery.runtime.fill.backend import FillBackend, MaskedRow
from softquery.runtime.fill.model import open_head
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.generate.model import Ids, TextSearch
from softquery.runtime.loading import Backend
from softquery.text import BERT_RESERVED, BOS_ID, EOS_ID, TextPipeline

Row = tuple[int, ...]
"""The pieces of a text and of what follows it, the first mark included."""


class ContinuationBackend:
    """Writes on, piece after piece; see `softquery.runtime.generate.model.GenerateBackend`.

    Where a row would be longer than the model has places for, its beginning is left out.

    Args:
        head: Gives the logits of the next piece.
        pipeline: Of the bundle.
        num_places: The most pieces of a row.
    """

    attends = False
    max_length: int | None = None

    def __init__(self, head: FillBackend, pipeline: TextPipeline, num_places: int) -> None:
        self.head, self.pipeline, self.num_places = head, pipeline, num_places
        self.name = head.name
        marks = [pipeline.token_id(mark) for mark in BERT_RESERVED]
        self._marks = np.array([each for each in marks if each is not None])

    def write(self, sources: Ids, search: TextSearch) -> list[list[Hypothesis]]:
        """Texts that go on from each source, best first, as long as the rules let them be.

        A model that learnt excerpts has never seen an end, so that none is likelier than another.
        """
        step: WholeStep[list[Row]] = WholeStep(self._advance, _reordered, self.pipeline.vocab_size)
        found = decode(
            step if search.tell is None else WatchedStep(step, search.tell),
            [tuple(source[:-1]) for source in sources],
            len(sources),
            strategy=search.strategy,
            rules=[replace(each, min_length=each.max_length) for each in search.rules],
            numbers=search.numbers,
        )
        return [[replace(each, is_cut=False) for each in texts] for texts in found]

    def log_likelihoods(self, sources: Ids, targets: Ids) -> NDArray[np.float64]:
        """Refused: such a model is measured by the perplexity of a text."""
        raise ConfigError(
            "a language model has no targets; softquery evaluate measures its perplexity on a text"
        )

    def _advance(
        self, rows: list[Row], tokens: NDArray[np.int64]
    ) -> tuple[Floats, list[Row], Floats | None]:
        """What follows each row: [N, V]. The first tokens stand for the beginning, which is there.

        The end is certain once it is allowed, which is at the longest length alone.
        """
        begun = [row if token == BOS_ID else (*row, int(token))
                 for row, token in zip(rows, tokens.tolist(), strict=True)]  # fmt: skip
        shares = self._shares(begun)
        shares[:, EOS_ID] = 0.0
        return shares, begun, None

    def _shares(self, rows: Sequence[Row]) -> Floats:
        """Log-probabilities of all pieces that may follow each row: [N, V]."""
        asked = []
        for row in rows:
            ids = [row[0], *row[1:][-(self.num_places - 1) :]]
            asked.append(MaskedRow(BertRow(ids, len(ids)), [len(ids) - 1]))
        logits = np.concatenate(self.head.logits(asked)).astype(np.float64)
        logits = logits[:, : self.pipeline.vocab_size]
        logits[:, self._marks] = -np.inf
        logits -= logits.max(axis=1, keepdims=True)
        found: Floats = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return found


def _reordered(rows: list[Row], chosen: NDArray[np.int64]) -> list[Row]:
    return [rows[number] for number in chosen.tolist()]


def open_continuation(
    bundle: Bundle, backend: Backend, threads: int | None, device: str | None
) -> ContinuationBackend:
    """Open a language model to go on from texts; the arguments are those of `softquery.load`.

    Raises:
        BundleError: It was kept without its head.
    """
    settings = bundle.config.model["config"]
    if settings.get("heads", "none") == "none":
        raise BundleError(
            f"{bundle.path}: was kept without its head for words, and cannot go on from a text"
        )
    pipeline = fitting_pipeline(bundle)
    head = open_head(bundle, backend, threads, device)
    return ContinuationBackend(head, pipeline, settings["max_length"])
