"""The answer above a picture: what was said, and how sure the model is of each label."""

from typing import NamedTuple, Protocol

_MOST_LABELS = 5


class HasAnswer(Protocol):
    """Whatever is drawn with an answer on top."""

    @property
    def label(self) -> str | None:
        """The answer; None for a grade, or where the model abstains."""

    @property
    def score(self) -> float:
        """How sure it is, or the grade."""

    @property
    def probabilities(self) -> dict[str, float]:
        """One for each label; empty for a grade."""


class Chance(NamedTuple):
    """One label with its probability."""

    label: str
    probability: float
    chosen: bool


def answer_kind(alignment: HasAnswer) -> str:
    """What the headline is: a grade where the model knows no labels."""
    return "answer" if alignment.label is not None or alignment.probabilities else "grade"


def headline(alignment: HasAnswer) -> str:
    """The answer in a word: the label, a grade, or that the model abstains."""
    if alignment.label is not None:
        return alignment.label
    return "no answer" if alignment.probabilities else f"{alignment.score:.2f}"


def chances(alignment: HasAnswer) -> list[Chance]:
    """The labels with their probabilities, as the model orders them.

    Of more than five only the likeliest are named, the likeliest first.
    """
    named = [
        Chance(label, probability, label == alignment.label)
        for label, probability in alignment.probabilities.items()
    ]
    if len(named) <= _MOST_LABELS:
        return named
    return sorted(named, key=lambda each: -each.probability)[:_MOST_LABELS]


def percent(probability: float) -> str:
    """A probability for reading; what is not certain is not called so.

    >>> percent(0.937), percent(0.99999), percent(0.0002), percent(1.0)
    ('93.7%', '>99.9%', '<0.1%', '100%')
    """
    if 0 < probability < 0.001:
        return "<0.1%"
    if 0.999 < probability < 1:
        return ">99.9%"
    return f"{probability:.1%}" if 0 < probability < 1 else f"{min(probability, 1):.0%}"
