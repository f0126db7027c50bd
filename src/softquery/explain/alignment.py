"""The attention weights of one pair, in both directions, with the answer they led to; as JSON too.

P tokens of the first sentence, H tokens of the second.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError
from softquery.explain.lettering import LabelNames, shortened
from softquery.explain.reasons import Reasons


class Partner(NamedTuple):
    """A token that was attended to, and the weight it received."""

    token: str
    position: int
    """Its place in its sentence, from 0; it tells apart two occurrences of one word."""
    weight: float


class StrongestLinks(NamedTuple):
    """A token, and the tokens that it attended to most.

    >>> print(StrongestLinks("dog", 1, (Partner("animal", 3, 0.81),)))
    dog: animal 0.81
    """

    token: str
    position: int
    partners: tuple[Partner, ...]
    """Highest weight first; ties are ordered by position."""

    def __str__(self) -> str:
        named = ", ".join(f"{each.token} {each.weight:.2f}" for each in self.partners)
        return f"{self.token}: {named or 'nothing'}"


def strongest_partners(
    askers: Sequence[str], asked: Sequence[str], weights: NDArray[np.float32], *, top: int
) -> tuple[StrongestLinks, ...]:
    """For each token that asks, up to `top` tokens with a weight above 0.

    >>> print(*strongest_partners(["a"], ["x", "y", "z"], np.array([[0.3, 0.7, 0.0]]), top=3))
    a: y 0.70, x 0.30
    """
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    order = np.argsort(-weights, axis=1, kind="stable")[:, :top]
    return tuple(
        StrongestLinks(
            token,
            row,
            tuple(
                Partner(asked[place], int(place), float(weights[row, place]))
                for place in order[row]
                if weights[row, place] > 0
            ),
        )
        for row, token in enumerate(askers)
    )


Weights = NDArray[np.float32]

SENTENCES = ("first sentence", "second sentence")
_DRAWN = ("label_names", "sides", "found")
"""Fields that say how it is drawn."""
_SLACK = 1e-3
"""Tolerance by which a row may exceed 1, for softmax in half precision."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PairAlignment:
    """The attention of each word of two sentences to the other one, and the answer.

    A row of weights sums to 1; to less where some of the attended positions are not among the
    tokens, and to 0 where there was nothing to attend to. Weights are read-only float32.

    >>> alignment = PairAlignment(
    ...     first="He eats.",
    ...     second="Eats!",
    ...     first_tokens=("he", "eats", "."),
    ...     second_tokens=("eats", "!"),
    ...     first_to_second=np.array([[0.6, 0.4], [0.9, 0.1], [0.2, 0.8]]),
    ...     second_to_first=np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]),
    ...     label="entailment",
    ...     score=0.9,
    ...     probabilities={"entailment": 0.9, "neutral": 0.1},
    ... )
    >>> alignment.first_to_second.shape
    (3, 2)
    """

    first: str
    """The first sentence, as given."""
    second: str
    first_tokens: tuple[str, ...]
    """The tokens of the first sentence that the model read."""
    second_tokens: tuple[str, ...]
    first_to_second: Weights
    """Each token of the first sentence asks those of the second: [P, H]."""
    second_to_first: Weights
    """Each token of the second sentence asks those of the first: [H, P]."""
    label: str | None
    """The answer; None for a grade, or where the model abstains."""
    score: float
    probabilities: dict[str, float] = field(default_factory=dict)
    """One for each label; empty for a grade."""
    model: str = ""
    reasons: Reasons | None = None
    """What the answer owes to each word of the two sentences; None where nobody asked."""
    label_names: LabelNames = field(default_factory=dict)
    """What pictures call the labels, by language; no part of the data, as what follows."""
    sides: tuple[str, str] = SENTENCES
    """What pictures call the two texts."""
    found: range = range(0)
    """Which tokens of the second text are the answer, where the answer is a part of it."""

    def __post_init__(self) -> None:
        put = object.__setattr__  # the way into a frozen dataclass
        put(self, "first_tokens", tuple(self.first_tokens))
        put(self, "second_tokens", tuple(self.second_tokens))
        num_first, num_second = len(self.first_tokens), len(self.second_tokens)
        for name, shape in (
            ("first_to_second", (num_first, num_second)),
            ("second_to_first", (num_second, num_first)),
        ):
            put(self, name, _checked(getattr(self, name), shape, name=name))
        put(self, "score", float(self.score))
        chances = {str(label): float(chance) for label, chance in self.probabilities.items()}
        put(self, "probabilities", chances)
        if not np.isfinite([self.score, *chances.values()]).all():
            raise ValueError("score and probabilities must be finite, but hold NaN or infinity")
        if not all(0 <= chance <= 1 + _SLACK for chance in chances.values()):
            raise ValueError(f"probabilities must be in [0, 1], got {chances}")
        if self.reasons is not None and len(self.reasons.words) != 2:
            raise ValueError("reasons must be those of two sentences")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PairAlignment):
            return NotImplemented
        return all(
            bool(np.array_equal(getattr(self, each.name), getattr(other, each.name)))
            if each.name in ("first_to_second", "second_to_first")
            else getattr(self, each.name) == getattr(other, each.name)
            for each in fields(self)
            if each.name not in _DRAWN
        )

    def __repr__(self) -> str:
        texts = f"{shortened(self.first)!r}, {shortened(self.second)!r}"
        return f"{type(self).__name__}({texts}, label={self.label!r}, score={self.score:.3f})"

    def _repr_html_(self) -> str:
        """The picture of `plot`, as notebooks show it."""
        from softquery.explain.notebook import picture_html
        from softquery.explain.svg import to_svg  # imports this module

        return picture_html(to_svg(self), f"Attention between “{self.first}” and “{self.second}”")

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, floats and strings under the names of the fields, ready for JSON."""
        names = [each.name for each in fields(self) if each.name not in _DRAWN]
        values = {name: getattr(self, name) for name in names}
        for name in ("first_tokens", "second_tokens"):
            values[name] = list(values[name])
        for name in ("first_to_second", "second_to_first"):
            values[name] = shortest_floats(values[name])
        values["probabilities"] = dict(self.probabilities)
        values["reasons"] = None if self.reasons is None else self.reasons.to_dict()
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "PairAlignment":
        """Rebuild an alignment from what `to_dict` returned, without loss.

        Raises:
            InputError: If a field is missing, unknown, or does not fit the others.
        """
        return _from_mapping(values)

    def strongest(
        self, top: int = 3
    ) -> tuple[tuple[StrongestLinks, ...], tuple[StrongestLinks, ...]]:
        """For each token of the first sentence, then of the second, what it attended to most.

        Args:
            top: The most partners per token; those with a weight of 0 are omitted.

        >>> alignment = PairAlignment(
        ...     first="I eat", second="eat", first_tokens=("i", "eat"), second_tokens=("eat",),
        ...     first_to_second=np.ones((2, 1)), second_to_first=np.array([[0.25, 0.75]]),
        ...     label=None, score=4.5,
        ... )
        >>> for asking in alignment.strongest()[1]:
        ...     print(asking)
        eat: eat 0.75, i 0.25
        """
        return (
            strongest_partners(
                self.first_tokens, self.second_tokens, self.first_to_second, top=top
            ),
            strongest_partners(
                self.second_tokens, self.first_tokens, self.second_to_first, top=top
            ),
        )

    def plot(self, path: str | PathLike[str]) -> Path:
        """Write a picture (.svg, .png), an interactive page (.html) or data (.json), atomically.

        Args:
            path: The file; its ending decides what is written.

        Raises:
            InputError: If the ending is none of these, or the file cannot be written.
            MissingExtra: If a PNG is asked for without `[plot]`.
        """
        from softquery.explain.write import write_explanation  # imports this module

        return write_explanation(self, path)


def _checked(values: Any, shape: tuple[int, int], *, name: str) -> Weights:
    """A read-only copy of the weights, checked for shape and range."""
    weights = np.array(values, dtype=np.float32)
    if weights.size == 0 and 0 in shape:  # an empty list of rows does not know its width
        weights = weights.reshape(shape)
    if weights.shape != shape:
        raise ValueError(f"{name} must have shape {shape} (tokens by tokens), got {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"{name} must hold weights of at least 0, but holds others")
    if (weights.sum(axis=1, dtype=np.float64) > 1 + _SLACK).any():
        raise ValueError(f"{name} must have rows that sum to at most 1, but one sums to more")
    weights.setflags(write=False)
    return weights


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def to_json(alignment: PairAlignment) -> str:
    """The alignment as one JSON object on one line; Chinese stays readable."""
    return one_line_json(alignment.to_dict())


def one_line_json(values: Mapping[str, Any]) -> str:
    r"""Plain values as one line of JSON that UTF-8 can hold.

    >>> one_line_json({"text": "好", "half": chr(0xD800)})
    '{"text": "好", "half": "\\ud800"}'
    """
    text = json.dumps(values, ensure_ascii=False, allow_nan=False)
    # A lone surrogate may occur in a Python string and as a JSON escape, but not in UTF-8.
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def from_json(text: str) -> PairAlignment:
    """Parse an alignment that `to_json` wrote.

    Raises:
        InputError: If the text is not JSON, or does not describe an alignment.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected an alignment as JSON, found a fault: {error}") from error
    return PairAlignment.from_dict(values)


def _from_mapping(values: Mapping[str, Any]) -> PairAlignment:
    """Build an alignment from untrusted values, checking every field first."""
    if not isinstance(values, Mapping):
        raise InputError(f"expected an alignment as an object, found {type(values).__name__}")
    known = {each.name: each for each in fields(PairAlignment) if each.name not in _DRAWN}
    for name in values:
        if name not in known:
            close = get_close_matches(str(name), known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(f"unknown field {name!r} in an alignment{hint}")
    for name, each in known.items():
        if name not in values and each.default is MISSING and each.default_factory is MISSING:
            raise InputError(f"an alignment needs the field {name!r}")
    for name, value in values.items():
        _require_kind(name, value)
    reasons = values.get("reasons")
    if reasons is not None:
        values = {**values, "reasons": Reasons.from_dict(reasons)}
    try:
        return PairAlignment(**values)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"not an alignment: {error}") from error


def _require_kind(name: str, value: Any) -> None:
    """Refuse values that Python would silently convert, such as a string into tokens."""
    if name in ("first", "second", "model", "label"):
        fits = isinstance(value, str) or (name == "label" and value is None)
        expected = "a string"
    elif name in ("first_tokens", "second_tokens"):
        fits = isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)
        expected = "a list of strings"
    elif name == "reasons":
        fits, expected = value is None or isinstance(value, Mapping), "an object"
    elif name == "score":
        fits, expected = _is_number(value), "a number"
    elif name == "probabilities":
        fits = isinstance(value, Mapping) and all(_is_number(each) for each in value.values())
        expected = "an object of numbers"
    else:
        fits, expected = isinstance(value, (list, tuple, np.ndarray)), "a list of rows"
    if not fits:
        raise InputError(f"field {name!r} of an alignment must be {expected}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def shortest_floats(weights: NDArray[np.float32]) -> list[list[float]]:
    """Rows of the shortest decimals that parse back to the same float32.

    >>> shortest_floats(np.array([[0.42, 1e-5]], dtype=np.float32))
    [[0.42, 1e-05]]
    """
    rows: list[list[float]] = weights.astype(np.str_).astype(np.float64).tolist()
    return rows
