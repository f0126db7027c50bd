"""How good generated texts are: BLEU and chrF by sacrebleu, and the form of couplets.

Papineni et al. (2002); Popović (2015); Post (2018), "A Call for Clarity in Reporting BLEU Scores":
a signature says how scores were computed. See `softquery.text.couplets` for the form of couplets.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from softquery.errors import MissingExtra
from softquery.measure.bootstrap import Interval, interval
from softquery.text import OPPOSITE, first_places, is_sign, last_word, tone_of

BleuTokens = Literal["13a", "zh", "char", "none"]
Texts = Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslationReport:
    """BLEU and chrF of answers against references, from 0 to 100."""

    bleu: float
    signature: str
    chrf: float
    length_ratio: float
    """Words of the answers divided by words of the references."""
    bleu_interval: Interval | None = None

    @classmethod
    def of(
        cls, answers: Texts, references: Texts, *, tokens: str = "13a", num_samples: int = 0
    ) -> "TranslationReport":
        """Measure a corpus, case-sensitively, with one reference per text.

        Args:
            answers: The generated texts.
            references: The references, in the same order.
            tokens: The tokenizer of sacrebleu: `"13a"`, `"zh"` or `"char"`.
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
        """Plain values for JSON."""
        bounds = {} if self.bleu_interval is None else {"bleu_interval": list(self.bleu_interval)}
        return {
            "bleu": self.bleu,
            **bounds,
            "chrf": self.chrf,
            "length_ratio": self.length_ratio,
            "bleu_signature": self.signature,
        }


def corpus_bleu(answers: Texts, references: Texts, *, tokens: str = "13a") -> float:
    """The BLEU of a corpus, without interval and chrF."""
    metrics = _sacrebleu()
    return float(
        metrics.BLEU(tokenize=tokens).corpus_score(list(answers), [list(references)]).score
    )


def bleu_counts(answers: Texts, references: Texts, *, tokens: str = "13a") -> Any:
    """The statistics that BLEU sums over texts [N, 10]: four counts, four totals, both lengths."""
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
    """Raise `MissingExtra` where sacrebleu is not installed; to be called before long work."""
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


Lines = Sequence[str]


def same_length(upper: str, lower: str) -> bool:
    """Whether both lines have the same number of characters."""
    return len(upper) == len(lower)


def same_signs(upper: str, lower: str) -> bool:
    """Whether both lines have the same signs in the same places.

    >>> same_signs("春来，花开", "秋去，叶落"), same_signs("春来，花开", "秋去叶落，")
    (True, False)
    """
    places = [
        {(p, mark) for p, mark in enumerate(line) if is_sign(mark)} for line in (upper, lower)
    ]
    return places[0] == places[1]


def repeats_rightly(upper: str, lower: str) -> bool:
    """Whether the lower line shares no character with the upper one and repeats where it does.

    >>> repeats_rightly("山山水水", "明明秀秀"), repeats_rightly("山水", "山月")
    (True, False)
    """
    taken = {mark for mark in lower if not is_sign(mark)} & set(upper)
    return not taken and first_places(upper) == first_places(lower)


def opposite_ends(upper: str, lower: str) -> bool | None:
    """Whether the last characters have opposite tones; None where a tone is unknown.

    >>> opposite_ends("明月", "清风"), opposite_ends("清风", "春光"), opposite_ends("a", "b")
    (True, False, None)
    """
    ends = [last_word(line) for line in (upper, lower)]
    if ends[0] is None or ends[1] is None:
        return None
    one, other = tone_of(upper[ends[0]]), tone_of(lower[ends[1]])
    return None if one is None or other is None else OPPOSITE[one] == other


@dataclass(frozen=True, kw_only=True, slots=True)
class CoupletReport:
    """The share of lower lines that keep each rule."""

    same_length: float
    same_signs: float
    repeats_rightly: float
    opposite_ends: float
    """The share among lines whose tones are known."""
    all_rules: float
    """The share that keeps all rules; unknown tones are not counted as faults."""
    n: int

    @classmethod
    def of(cls, uppers: Lines, lowers: Lines) -> "CoupletReport":
        """Measure lower lines against their upper lines.

        >>> report = CoupletReport.of(["明月", "山水"], ["清风", "山光。"])
        >>> report.same_length, report.opposite_ends, report.all_rules
        (0.5, 1.0, 0.5)
        """
        if not uppers:
            raise ValueError("there are no couplets to measure")
        pairs = list(zip(uppers, lowers, strict=True))
        kept = np.array(
            [(same_length(*p), same_signs(*p), repeats_rightly(*p)) for p in pairs], dtype=np.bool_
        )
        ends = [opposite_ends(*pair) for pair in pairs]
        known = [each for each in ends if each is not None]
        whole = kept.all(axis=1) & np.array([each is not False for each in ends])
        return cls(
            same_length=float(kept[:, 0].mean()),
            same_signs=float(kept[:, 1].mean()),
            repeats_rightly=float(kept[:, 2].mean()),
            opposite_ends=float(np.mean(known)) if known else 1.0,
            all_rules=float(whole.mean()),
            n=len(pairs),
        )

    def to_dict(self) -> dict[str, float | int]:
        """Plain values for JSON."""
        return asdict(self)


def rivals(lines: Lines, *, count: int = 9, seed: int = 0) -> list[list[int]]:
    """For each line, the indices of `count` random other lines of its length and signs.

    Equal lines count as one. A line with fewer than `count` rivals gets none.

    >>> rivals(["春来", "秋去", "一"], count=1)
    [[1], [0], []]
    """
    rng = np.random.default_rng(seed)
    shapes: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    first: dict[str, int] = {}
    for place, line in enumerate(lines):
        if first.setdefault(line, place) == place:
            shapes.setdefault(_shape(line), []).append(place)
    found = []
    for line in lines:
        others = [place for place in shapes[_shape(line)] if lines[place] != line]
        drawn = rng.permutation(len(others))[:count]
        found.append([others[each] for each in drawn] if len(others) >= count else [])
    return found


def _shape(line: str) -> tuple[int, tuple[int, ...]]:
    return len(line), tuple(place for place, _ in _signs(line))


def _signs(line: str) -> list[tuple[int, str]]:
    return [(place, mark) for place, mark in enumerate(line) if is_sign(mark)]
