"""How good sentence vectors are: what their cosines say of pairs that people have labelled."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softquery.measure.basic_metrics import (
    Labels,
    Numbers,
    as_labels,
    as_numbers,
    auc,
    order_codes,
    require_ids_below,
    require_same_length,
    spearman,
    spearman_of_codes,
)
from softquery.measure.bootstrap import (
    Interval,
    interval,
    mean_interval,
    plain_interval,
    plain_number,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class GradedCosineReport:
    """How well cosines follow grades, on whatever scale; `GradedCosineReport.of` makes one."""

    n: int
    spearman: float
    spearman_interval: Interval

    @classmethod
    def of(
        cls, gold: ArrayLike, cosines: ArrayLike, *, num_samples: int = 1000, seed: int = 0
    ) -> "GradedCosineReport":
        """Measure cosines against gold grades.

        >>> round(GradedCosineReport.of([0.0, 2.5, 5.0], [-0.1, 0.2, 0.9]).spearman, 3)
        1.0
        """
        grades, scores = as_numbers(gold, name="gold"), as_numbers(cosines, name="cosines")
        require_same_length(gold=grades, cosines=scores)
        codes = order_codes(grades), order_codes(scores)
        return cls(
            n=len(grades),
            spearman=spearman(grades, scores),
            spearman_interval=interval(
                spearman_of_codes, *codes, num_samples=num_samples, seed=seed
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an undefined correlation is None."""
        return {
            "spearman": plain_number(self.spearman),
            "spearman_interval": plain_interval(self.spearman_interval),
            "n": self.n,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class CosineReport:
    """How well cosines tell pairs of one meaning from others; `CosineReport.of` makes one."""

    n: int
    auc: float
    auc_interval: Interval
    threshold: float
    """The cosine from which on a pair counts as the same, by the first half of the rows."""
    accuracy: float
    """Of that threshold, on the second half."""
    accuracy_interval: Interval

    @classmethod
    def of(
        cls, gold: ArrayLike, cosines: ArrayLike, *, num_samples: int = 1000, seed: int = 0
    ) -> "CosineReport":
        """Measure cosines against gold labels, 1 for the same meaning and 0 for another.

        >>> report = CosineReport.of([1, 0, 1, 0], [0.9, 0.1, 0.8, 0.7])
        >>> report.auc, report.accuracy
        (1.0, 0.5)
        """
        same, scores = as_labels(gold, name="gold"), as_numbers(cosines, name="cosines")
        require_same_length(gold=same, cosines=scores)
        require_ids_below(same, 2, name="gold")
        half = len(same) // 2
        threshold = most_accurate_threshold(scores[:half], same[:half])
        right = (scores[half:] >= threshold) == (same[half:] == 1)
        return cls(
            n=len(same),
            auc=auc(same, scores),
            auc_interval=interval(auc, same, scores, num_samples=num_samples, seed=seed),
            threshold=threshold,
            accuracy=float(right.mean()),
            accuracy_interval=mean_interval(right, num_samples=num_samples, seed=seed),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an undefined figure is None."""
        return {
            "auc": plain_number(self.auc),
            "auc_interval": plain_interval(self.auc_interval),
            "accuracy": self.accuracy,
            "accuracy_interval": plain_interval(self.accuracy_interval),
            "threshold": self.threshold,
            "n": self.n,
        }


def most_accurate_threshold(scores: Numbers, same: Labels) -> float:
    """The score from which on saying 1 is right most often; the lowest of equally good ones.

    It lies halfway between two scores, so that a rounding difference changes no answer. Without
    rows it is 0.

    >>> round(most_accurate_threshold(np.array([0.9, 0.2, 0.6]), np.array([1, 0, 1])), 6)
    0.4
    """
    if not len(scores):
        return 0.0
    rising = np.unique(scores)
    edges = np.concatenate([rising[:1] - 1, (rising[:-1] + rising[1:]) / 2, rising[-1:] + 1])
    order = np.argsort(scores, kind="stable")
    below = np.searchsorted(scores[order], edges)
    zeros = np.concatenate([[0], np.cumsum(same[order] == 0)])
    ones = np.concatenate([[0], np.cumsum(same[order] == 1)])
    right = zeros[below] + ones[-1] - ones[below]
    return float(edges[int(right.argmax())])
