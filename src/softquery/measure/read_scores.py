"""How good a reader is: exact match and F1 as in SQuAD and CMRC 2018."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softquery.measure.basic_metrics import Numbers, as_numbers, require_rows, require_same_length
from softquery.measure.bootstrap import Interval, mean_interval

Counting = Literal["squad", "cmrc"]
"""By words (Rajpurkar et al. 2016, Section 6.1), or by Chinese characters (Cui et al. 2019)."""

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CHINESE_MARKS = set("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
_HAN = re.compile("[\u4e00-\u9fa5]")
_FOREIGN = re.compile(r"\d+(?:[.,]\d+)+(?!\w)|\w+|\S")
"""Tokens between Chinese characters. CMRC's script uses NLTK, which cuts words and numbers
alike."""


def normalise_answer(text: str) -> str:
    """An answer in lower case without punctuation, articles and extra space, as in SQuAD.

    >>> normalise_answer("The  U.S. (a country)")
    'us country'
    """
    lower = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", lower).split())


def word_f1(predicted: str, gold: str) -> float:
    """F1 over the words of both, counted with multiplicity; 0 where neither has any.

    >>> round(word_f1("the tall man", "a man who is tall"), 3)
    0.667
    """
    ours, theirs = normalise_answer(predicted).split(), normalise_answer(gold).split()
    return _f1(sum((Counter(ours) & Counter(theirs)).values()), len(ours), len(theirs))


def character_f1(predicted: str, gold: str) -> float:
    """F1 of the longest common run of Chinese characters and foreign words.

    >>> round(character_f1("光荣和ω-force", "光荣"), 3)
    0.667
    """
    ours, theirs = chinese_segments(predicted), chinese_segments(gold)
    return _f1(_longest_run(ours, theirs), len(ours), len(theirs))


def chinese_segments(text: str) -> list[str]:
    """Chinese characters one by one and everything else as words, without punctuation.

    >>> chinese_segments("2018年，Ada胜出。")
    ['2018', '年', 'ada', '胜', '出']
    """
    segments: list[str] = []
    other = ""
    for character in text.lower().strip():
        if character in _CHINESE_MARKS:
            continue
        if _HAN.match(character):
            segments += [*_FOREIGN.findall(other), character]
            other = ""
        else:
            other += character
    return [*segments, *_FOREIGN.findall(other)]


def score_answer(
    predicted: str | None, gold: Sequence[str], *, counting: Counting = "squad"
) -> tuple[float, float]:
    """Exact match and F1 of one answer, each the best over the references.

    Without a reference, None is right and any answer is wrong, as in SQuAD 2.0.

    >>> score_answer("in Rome", ["Rome", "the city of Rome"])
    (0.0, 0.6666666666666666)
    >>> score_answer(None, [])
    (1.0, 1.0)
    """
    if not gold or predicted is None:
        right = float(not gold and predicted is None)
        return right, right
    plain = normalise_answer if counting == "squad" else _without_marks
    f1 = word_f1 if counting == "squad" else character_f1
    exact = any(plain(predicted) == plain(each) for each in gold)
    return float(exact), max(f1(predicted, each) for each in gold)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadReport:
    """The scores of answers; `ReadReport.of` makes one."""

    n: int
    f1: float
    f1_interval: Interval
    exact_match: float
    exact_match_interval: Interval
    kinds: dict[str, dict[str, float]]
    """The same for questions with and without an answer, where some have none."""

    @classmethod
    def of(
        cls,
        predicted: Sequence[str | None],
        gold: Sequence[Sequence[str]],
        *,
        counting: Counting = "squad",
        num_samples: int = 1000,
        seed: int = 0,
    ) -> "ReadReport":
        """Measure answers; None and an empty list of gold answers mean that there is no answer.

        >>> report = ReadReport.of(["Rome", "a cat"], [["in Rome", "Rome"], ["the dog"]])
        >>> report.exact_match, report.f1
        (0.5, 0.5)
        """
        scores = score_answers(predicted, gold, counting=counting)
        answerable = np.array([bool(each) for each in gold])
        kinds = {}
        if not answerable.all():
            for name, rows in (("answerable", answerable), ("unanswerable", ~answerable)):
                exact, f1 = scores[rows].mean(axis=0) if rows.any() else (0.0, 0.0)
                kinds[name] = {"f1": float(f1), "exact_match": float(exact), "n": int(rows.sum())}
        return cls(
            n=len(scores),
            f1=float(scores[:, 1].mean()),
            f1_interval=mean_interval(scores[:, 1], num_samples=num_samples, seed=seed),
            exact_match=float(scores[:, 0].mean()),
            exact_match_interval=mean_interval(scores[:, 0], num_samples=num_samples, seed=seed),
            kinds=kinds,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {
            "f1": self.f1,
            "f1_interval": list(self.f1_interval),
            "exact_match": self.exact_match,
            "exact_match_interval": list(self.exact_match_interval),
        }
        by_label = {"by_label": self.kinds} if self.kinds else {}
        return {**plain, **by_label, "n": self.n}


def score_answers(
    predicted: Sequence[str | None], gold: Sequence[Sequence[str]], *, counting: Counting = "squad"
) -> Numbers:
    """Exact match and F1 of every answer: [N, 2].

    As in the script of SQuAD 2.0, references without any word are omitted where the set has
    questions without an answer.
    """
    if len(predicted) != len(gold):
        raise ValueError(f"{len(predicted)} answers for {len(gold)} questions")
    require_rows(np.zeros(len(gold)), name="gold")
    if counting == "squad" and not all(gold):
        gold = [[each for each in some if normalise_answer(each)] for some in gold]
    pairs = zip(predicted, gold, strict=True)
    return np.array([score_answer(said, some, counting=counting) for said, some in pairs])


def choose_abstention(
    scores: ArrayLike, f1: ArrayLike, answerable: Sequence[bool]
) -> tuple[float, float]:
    """The score below which to give no answer for the best mean F1, and that F1.

    Args:
        scores: The confidence in each best span.
        f1: The F1 of each best span; 0 where there is no answer.
        answerable: Whether the context answers the question.

    >>> choose_abstention([0.9, 0.8, 0.2], [1.0, 0.5, 0.0], [True, True, False])
    (0.5, 0.8333333333333334)
    """
    sure, gained = as_numbers(scores, name="scores"), as_numbers(f1, name="f1")
    known: NDArray[np.bool_] = np.array(answerable, dtype=bool)
    require_same_length(scores=sure, f1=gained, answerable=known)
    order = np.argsort(-sure, kind="stable")
    # The first k are answered, the others not, which is right where there is no answer.
    given = np.concatenate([[0.0], np.cumsum(np.where(known, gained, 0.0)[order])])
    refused = np.sum(~known) - np.concatenate([[0.0], np.cumsum(~known[order])])
    totals = given + refused
    falling = sure[order]
    splits = np.concatenate(
        [[True], falling[:-1] > falling[1:], [True]]
    )  # equal scores are not split
    best = int(np.where(splits, totals, -np.inf).argmax())
    if best == 0:
        return 1.0, float(totals[0] / len(sure))
    below = falling[best] if best < len(falling) else 0.0
    return float((falling[best - 1] + below) / 2), float(totals[best] / len(sure))


def _without_marks(text: str) -> str:
    return "".join(each for each in text.lower().strip() if each not in _CHINESE_MARKS)


def _longest_run(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """The length of the longest common contiguous run of two sequences."""
    longest, before = 0, [0] * (len(theirs) + 1)
    for one in ours:
        here = [0] * (len(theirs) + 1)
        for place, other in enumerate(theirs, 1):
            if one == other:
                here[place] = before[place - 1] + 1
                longest = max(longest, here[place])
        before = here
    return longest


def _f1(same: int, ours: int, theirs: int) -> float:
    if not same:
        return 0.0
    precision, recall = same / ours, same / theirs
    return 2 * precision * recall / (precision + recall)
