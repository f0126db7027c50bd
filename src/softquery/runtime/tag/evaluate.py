"""How good a tagger is on tagged sentences: spans, words, slices and mistakes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softquery.answers import Scheme, TagError, TagSet, misfit
from softquery.errors import InputError
from softquery.files import TaggedSentence
from softquery.measure import TagReport, by_length, f1_of_counts, measure_slices, ratio_of_counts
from softquery.runtime.tag.model import Tagger
from softquery.runtime.tag.scheme_detection import written_scheme


@dataclass(frozen=True, slots=True)
class TagEvaluation:
    """Gold tags and answers, both in the model's own scheme."""

    tags: TagSet
    rows: list[TaggedSentence]
    gold: list[list[str]]
    predicted: list[list[str]]
    num_cut: int
    """Sentences that were read in parts."""

    def report(self) -> dict[str, Any]:
        """Precision, recall and F1 of spans, and accuracy of words, with bootstrap intervals."""
        if not self.tags.has_spans:
            return TagReport.of(self.gold, self.predicted).to_dict()
        return TagReport.of(
            self.gold,
            self.predicted,
            gold_spans=[self.tags.spans(tags) for tags in self.gold],
            predicted_spans=[self.tags.spans(tags) for tags in self.predicted],
        ).to_dict()

    def slices(self, by: str) -> list[dict[str, Any]]:
        """The main metric for sentences of like length."""
        if by != "length":
            raise InputError(
                f"cannot slice by {by!r}; expected length (the report is by label already)",
                source=self.rows[0].source,
            )
        groups = by_length([len(row.tokens) for row in self.rows])
        pairs = list(zip(self.gold, self.predicted, strict=True))
        if self.tags.has_spans:
            spans = [tuple(set(self.tags.spans(tags)) for tags in pair) for pair in pairs]
            counts = [(len(one & other), len(other), len(one)) for one, other in spans]
            parts = measure_slices(groups, {"f1": f1_of_counts}, *np.array(counts).T)
        else:
            same = [sum(map(str.__eq__, one, other)) for one, other in pairs]
            totals = [len(one) for one, _ in pairs]
            parts = measure_slices(groups, {"accuracy": ratio_of_counts}, same, totals)
        return [part.to_dict() for part in parts]

    def mistakes(self) -> list[dict[str, Any]]:
        """Sentences with a wrong tag, those with most of them first."""
        write = self.tags.write
        found = [
            {
                "tokens": row.tokens,
                "tags": write(gold),
                "predicted": write(predicted),
                "wrong": sum(one != other for one, other in zip(gold, predicted, strict=True)),
                "row": row.rows[0],
            }
            for row, gold, predicted in zip(self.rows, self.gold, self.predicted, strict=True)
            if gold != predicted
        ]
        return sorted(found, key=lambda record: -record["wrong"])


def evaluate_tagger(
    tagger: Tagger, rows: Sequence[TaggedSentence], *, given: Scheme | None = None
) -> TagEvaluation:
    """Tag every sentence and keep what was said.

    Args:
        tagger: The model.
        rows: With tags.
        given: How the tags are written; found by looking at them where it is not said.
    """
    if not rows:
        raise InputError("there are no sentences to evaluate on")
    scheme = given or _scheme(tagger, rows)
    gold = [_gold(tagger, row, scheme) for row in rows]
    words = [row.tokens for row in rows]
    return TagEvaluation(
        tagger.tags, list(rows), gold, tagger.own_tags(words), tagger.num_cut(words)
    )


def _scheme(tagger: Tagger, rows: Sequence[TaggedSentence]) -> Scheme:
    """How the gold tags are written; what cannot be compared with the model's is refused."""
    if not tagger.tags.has_spans:
        return "plain"
    scheme = written_scheme(rows, otherwise="write all in {scheme} first").scheme
    if scheme != "plain":
        return scheme
    for row in rows:
        found = misfit(row.tags or [], tagger.tags.written)
        if found is not None:
            raise InputError(found.message, source=row.source, row=row.rows[found.place])
    return tagger.tags.written  # no sentence has a span


def _gold(tagger: Tagger, row: TaggedSentence, given: Scheme) -> list[str]:
    try:
        return [tagger.tags.labels[each] for each in tagger.tags.ids(row.tags or [], given=given)]
    except TagError as error:
        raise InputError(str(error), source=row.source, row=row.rows[error.place]) from None
