"""BLEU and chrF by sacrebleu, with the signature that says how they were computed.

Papineni et al. (2002); Popović (2015); Post (2018), "A Call for Clarity in Reporting BLEU Scores".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from softquery.errors import MissingExtra
from softquery.measure.bootstrap import Interval, interval

BleuTokens = Literal["13a", "zh", "char", "none"]
Texts = Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Translated:
    """How near answers are to references, from 0 to 100."""

    bleu: float
    signature: str
    chrf: float
    length_ratio: float
    """Words of the answers by words of the references."""
    bleu_interval: Interval | None = None

    @classmethod
    def of(
        cls, answers: Texts, references: Texts, *, tokens: str = "13a", num_samples: int = 0
    ) -> "Translated":
        """Measure a corpus, cased, one reference a text.

        Args:
            answers: What was written.
            references: What should have been, in the same order.
            tokens: How sacrebleu cuts words: `"13a"`, `"zh"` or `"char"`.
            num_samples: Resampled corpora for the interval; 0 for none.
        """
        if not answers:
            raise ValueError("there are no answers to measure")
        metrics = _sacrebleu()
        measured = metrics.BLEU(tokenize=tokens)
        whole = measured.corpus_score(list(answers), [list(references)])
        return cls(
            bleu=float(whole.score),
            signature=str(measured.get_signature()),
            chrf=float(metrics.CHRF().corpus_score(list(answers), [list(references)]).score),
            length_ratio=float(whole.ratio),
            bleu_interval=_spread(answers, references, tokens, num_samples)
            if num_samples
            else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report."""
        bounds = {} if self.bleu_interval is None else {"bleu_interval": list(self.bleu_interval)}
        return {
            "bleu": self.bleu,
            **bounds,
            "chrf": self.chrf,
            "length_ratio": self.length_ratio,
            "bleu_signature": self.signature,
        }


def corpus_bleu(answers: Texts, references: Texts, *, tokens: str = "13a") -> float:
    """BLEU alone, for a run to be steered by."""
    metrics = _sacrebleu()
    return float(
        metrics.BLEU(tokenize=tokens).corpus_score(list(answers), [list(references)]).score
    )


def bleu_counts(answers: Texts, references: Texts, *, tokens: str = "13a") -> Any:
    """What BLEU sums over texts [N, 10]: four counts, four totals, and both lengths."""
    measured = _sacrebleu().BLEU(tokenize=tokens, effective_order=True)
    found = [measured.sentence_score(a, [r]) for a, r in zip(answers, references, strict=True)]
    return np.array([[*each.counts, *each.totals, each.sys_len, each.ref_len] for each in found])


def bleu_of_counts(counts: Any) -> float:
    """BLEU of a corpus from the counts of its texts.

    >>> round(bleu_of_counts(np.array([[4, 3, 2, 1, 4, 3, 2, 1, 4, 4]])), 6)
    100.0
    """
    sums = np.asarray(counts).sum(axis=0)
    metrics = _sacrebleu()
    found = metrics.BLEU.compute_bleu(
        correct=list(map(int, sums[:4])),
        total=list(map(int, sums[4:8])),
        sys_len=int(sums[8]),
        ref_len=int(sums[9]),
    )
    return float(found.score)


def require_sacrebleu() -> None:
    """Say what is missing before hours of work, not after them."""
    _sacrebleu()


def _spread(answers: Texts, references: Texts, tokens: str, num_samples: int) -> Interval:
    counts = bleu_counts(answers, references, tokens=tokens)
    return interval(bleu_of_counts, counts, num_samples=num_samples)


def _sacrebleu() -> Any:
    try:
        from sacrebleu import metrics
    except ImportError:
        raise MissingExtra("train", needed_for="measuring BLEU") from None
    return metrics
