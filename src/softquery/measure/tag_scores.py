"""How good a tagger is: F1 of spans as in the CoNLL tasks, and accuracy of tokens."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.measure.basic_metrics import require_rows
from softquery.measure.bootstrap import Interval, interval

Tags = Sequence[Sequence[str]]
Spans = Sequence[Sequence[tuple[str, int, int]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundCounts:
    """Counts of gold, predicted and correctly predicted items."""

    right: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """The share of predicted items that is right; 0 where none was predicted."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of gold items that was found; 0 where there are none."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall.

        >>> FoundCounts(right=1, predicted=2, gold=2).f1
        0.5
        """
        return f1_of_counts([self.right], [self.predicted], [self.gold])


def f1_of_counts(right: Any, predicted: Any, gold: Any) -> float:
    """Micro-averaged F1 from counts per sentence."""
    total = float(np.sum(predicted) + np.sum(gold))
    return 2 * float(np.sum(right)) / total if total else 0.0


def ratio_of_counts(right: Any, total: Any) -> float:
    """The share of right tokens, from counts per sentence."""
    return float(np.sum(right)) / float(max(1, np.sum(total)))


@dataclass(frozen=True, kw_only=True, slots=True)
class TagReport:
    """The scores of tags; `TagReport.of` makes one."""

    n: int
    """The number of sentences."""
    tokens: int
    accuracy: float
    """The share of tokens with the right tag."""
    accuracy_interval: Interval
    by_label: dict[str, FoundCounts]
    """Spans by label, or tokens by tag where tags stand for no spans."""
    spans: FoundCounts | None = None
    f1_interval: Interval | None = None

    @classmethod
    def of(
        cls,
        gold: Tags,
        predicted: Tags,
        *,
        gold_spans: Spans | None = None,
        predicted_spans: Spans | None = None,
        num_samples: int = 1000,
        seed: int = 0,
    ) -> "TagReport":
        """Measure tags, and the spans that they stand for where given.

        Intervals resample sentences, because the tokens of a sentence depend on each other.

        >>> report = TagReport.of([["B-X", "O"]], [["B-X", "B-X"]],
        ...     gold_spans=[[("X", 0, 1)]], predicted_spans=[[("X", 0, 1), ("X", 1, 2)]])
        >>> report.accuracy, round(report.spans.f1, 3)
        (0.5, 0.667)
        """
        _check(gold, predicted)
        right = np.array(
            [_num_same(one, other) for one, other in zip(gold, predicted, strict=True)]
        )
        total = np.array([len(tags) for tags in gold])
        common: dict[str, Any] = {
            "n": len(gold),
            "tokens": int(total.sum()),
            "accuracy": ratio_of_counts(right, total),
            "accuracy_interval": interval(
                ratio_of_counts, right, total, num_samples=num_samples, seed=seed
            ),
        }
        if gold_spans is None or predicted_spans is None:
            return cls(**common, by_label=_tokens_by_tag(gold, predicted))
        counts = _span_counts(gold_spans, predicted_spans)
        return cls(
            **common,
            by_label=_spans_by_label(gold_spans, predicted_spans),
            spans=FoundCounts(**{name: int(column.sum()) for name, column in counts.items()}),
            f1_interval=interval(
                f1_of_counts, *counts.values(), num_samples=num_samples, seed=seed
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; precision, recall and F1 where there are spans."""
        plain: dict[str, Any] = {}
        if self.spans is not None and self.f1_interval is not None:
            plain |= {
                "f1": self.spans.f1,
                "f1_interval": list(self.f1_interval),
                "precision": self.spans.precision,
                "recall": self.spans.recall,
            }
        plain |= {"accuracy": self.accuracy, "accuracy_interval": list(self.accuracy_interval)}
        by_label = {
            label: {
                "precision": each.precision,
                "recall": each.recall,
                "f1": each.f1,
                "n": each.gold,
            }
            for label, each in self.by_label.items()
        }
        return {**plain, "by_label": by_label, "tokens": self.tokens, "n": self.n}


def _check(gold: Tags, predicted: Tags) -> None:
    require_rows(np.zeros(len(gold)), name="gold")
    if [len(tags) for tags in gold] != [len(tags) for tags in predicted]:
        raise ValueError("gold and predicted tags differ in length")


def _num_same(gold: Sequence[str], predicted: Sequence[str]) -> int:
    return sum(one == other for one, other in zip(gold, predicted, strict=True))


def _span_counts(gold: Spans, predicted: Spans) -> dict[str, NDArray[np.int64]]:
    pairs = [(set(one), set(other)) for one, other in zip(gold, predicted, strict=True)]
    return {
        "right": np.array([len(one & other) for one, other in pairs]),
        "predicted": np.array([len(other) for _, other in pairs]),
        "gold": np.array([len(one) for one, _ in pairs]),
    }


def _spans_by_label(gold: Spans, predicted: Spans) -> dict[str, FoundCounts]:
    pairs = list(zip(gold, predicted, strict=True))
    return _found(
        Counter(span[0] for one, other in pairs for span in set(one) & set(other)),
        Counter(span[0] for _, other in pairs for span in set(other)),
        Counter(span[0] for one, _ in pairs for span in set(one)),
    )


def _tokens_by_tag(gold: Tags, predicted: Tags) -> dict[str, FoundCounts]:
    pairs = [
        pair
        for one, other in zip(gold, predicted, strict=True)
        for pair in zip(one, other, strict=True)
    ]
    return _found(
        Counter(one for one, other in pairs if one == other),
        Counter(other for _, other in pairs),
        Counter(one for one, _ in pairs),
    )


def _found(
    right: "Counter[Any]", predicted: "Counter[Any]", gold: "Counter[Any]"
) -> dict[str, FoundCounts]:
    labels: list[Hashable] = sorted({*predicted, *gold})
    return {
        str(label): FoundCounts(right=right[label], predicted=predicted[label], gold=gold[label])
        for label in labels
    }
