"""How good a reader is on questions with known answers: F1, exact match, slices and mistakes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Answer
from softquery.errors import InputError
from softquery.files import AskedQuestion
from softquery.measure import (
    ReadReport,
    by_length,
    by_value,
    choose_abstention,
    measure_slices,
    score_answers,
)
from softquery.runtime.read.model import Reader

SLICES = ("length", "question", "answer")
BEGINNINGS = ("what", "who", "whom", "whose", "when", "where", "which", "why", "how")
"""First words by which questions are told apart; others are one group."""


@dataclass(frozen=True, slots=True)
class ReadEvaluation:
    """Questions and answers."""

    reader: Reader
    rows: list[AskedQuestion]
    answers: list[Answer]
    """As the bundle gives them."""
    best: list[Answer]
    """The best span of each context, however unsure it is."""
    num_long: int
    """Distinct contexts that were read in several windows."""

    def report(self) -> dict[str, Any]:
        """F1 and exact match with bootstrap intervals.

        Where some questions have no answer, also the score under which to give none for the best
        F1 on these very questions, and that F1.
        """
        counting = self.reader.rules.counting
        predicted = [answer.text for answer in self.answers]
        found = ReadReport.of(predicted, self._gold(), counting=counting).to_dict()
        if not all(row.answers for row in self.rows):
            limit, f1 = choose_abstention(*self.abstention())
            found |= {"best_f1": f1, "best_abstain_below": limit}
        return found

    def abstention(self) -> tuple[list[float], list[float], list[bool]]:
        """For each question: how sure the best span is, its F1, and whether there is an answer."""
        scores = self._scores(self.best)
        answerable = [bool(row.answers) for row in self.rows]
        return [each.score for each in self.best], scores[:, 1].tolist(), answerable

    def slices(self, by: str) -> list[dict[str, Any]]:
        """F1 by `length` of the context, by how the `question` begins, or by `answer` length."""
        if by == "question":
            groups = by_value([beginning(row.question) for row in self.rows])
        elif by == "length":
            groups = by_length(self._num_words([row.context for row in self.rows]))
        elif by == "answer":
            gold = [row.answers[0].text if row.answers else "" for row in self.rows]
            groups = by_length(self._num_words(gold))
        else:
            raise InputError(
                f"cannot slice by {by!r}; expected one of {', '.join(SLICES)}",
                source=self.rows[0].source,
            )
        exact, f1 = self._scores(self.answers).T
        parts = measure_slices(
            groups,
            {"f1": lambda one, _: float(one.mean()), "exact_match": lambda _, two: two.mean()},
            f1,
            exact,
        )
        return [part.to_dict() for part in parts]

    def mistakes(self) -> list[dict[str, Any]]:
        """Answers that do not match exactly, the worst first and of those the surest."""
        scored = zip(self.rows, self.answers, self._scores(self.answers), strict=True)
        found = [
            {
                "id": row.id,
                "question": row.question,
                "answers": " | ".join(dict.fromkeys(gold.text for gold in row.answers)),
                "predicted": answer.text,
                "f1": round(float(f1), 4),
                "score": round(answer.score, 4),
                "context": row.context,
                "row": row.number,
            }
            for row, answer, (exact, f1) in scored
            if not exact
        ]
        return sorted(found, key=lambda record: (record["f1"], -record["score"]))

    def _num_words(self, texts: Sequence[str]) -> list[int]:
        return [len(spans) for spans in self.reader.pipeline.word_spans(texts)]

    def _scores(self, answers: Sequence[Answer]) -> NDArray[np.float64]:
        predicted = [answer.text for answer in answers]
        return score_answers(predicted, self._gold(), counting=self.reader.rules.counting)

    def _gold(self) -> list[list[str]]:
        return [[answer.text for answer in row.answers] for row in self.rows]


def evaluate_reader(reader: Reader, rows: Sequence[AskedQuestion]) -> ReadEvaluation:
    """Answer every question and keep what was said.

    Args:
        reader: The model.
        rows: With answers, or with none where the context holds none.
    """
    if not rows:
        raise InputError("there are no questions to evaluate on")
    best = reader.best([(row.question, row.context) for row in rows])
    answers = [answer.if_sure(reader.abstain_below) for answer in best]
    num_long = reader.num_long(list(dict.fromkeys(row.context for row in rows)))
    return ReadEvaluation(reader, list(rows), answers, best, num_long)


def beginning(question: str) -> str:
    """The word by which a question is told: its first, if that is one of the usual ones.

    >>> beginning("How many?"), beginning("Where?"), beginning("In which year?")
    ('how', 'where', 'other')
    """
    first = re.match(r"\w*", question.lower().lstrip())
    return first[0] if first and first[0] in BEGINNINGS else "other"
