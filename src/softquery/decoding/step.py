"""One step of a decoder, the interface between searches and models.

A step takes the state after some tokens and the last of these tokens, and returns the likeliest few
next tokens instead of the whole vocabulary: on a GPU only those need to be copied to the host, and
the state stays on the device. One implementation of each search thus serves torch and ONNX Runtime.

N rows (hypotheses), V tokens of the vocabulary, C candidates per row, W watched tokens, S tokens of
the source.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Ids: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.floating[Any]]
State = TypeVar("State")

NOTHING: Ids = np.zeros(0, np.int64)


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRequest:
    """What a search asks of a step."""

    allowed: Mask
    """[N, V], or [1, V] where all rows are alike: True for tokens that may come next."""
    num_candidates: int
    """C: how many of the likeliest allowed tokens per row; V or more for all tokens."""
    watched: Ids = field(default_factory=lambda: NOTHING)
    """[W]: tokens that are returned for every row, however unlikely they are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidates(Generic[State]):
    """The candidates for the next token, and the state after this step.

    Tokens that are not allowed have a log-probability of minus infinity. Probabilities are those of
    the model, not renormalised over the allowed tokens.
    """

    tokens: Ids
    """[N, C + W]: the likeliest first, then the watched ones. All tokens, if requested, come in the
    order of the vocabulary."""
    log_probabilities: Floats
    """[N, C + W]; a watched token that is among the likeliest has its probability only there."""
    state: State
    attention: Floats | None = None
    """[N, ..., S]: the attention of each row, if the model gives it; layers and heads between."""


class Step(Protocol[State]):
    """A decoder, one token at a time."""

    @property
    def vocab_size(self) -> int:
        """The size V of the vocabulary."""

    def __call__(self, state: State, tokens: Ids, wanted: StepRequest) -> Candidates[State]:
        """The candidates after the last token [N] of every row."""

    def reorder(self, state: State, rows: Ids) -> State:
        """The state of the given rows, which may omit and repeat rows."""


class WholeStep(Generic[State]):
    """A step from a function that gives the log-probabilities of the whole vocabulary.

    Args:
        advance: From a state and the last tokens [N] to log-probabilities [N, V], the next state,
            and attention [N, ..., S] or None.
        reorder: From a state and row indices to the state of those rows.
        vocab_size: The size V of the vocabulary.

    >>> def advance(state, tokens):
    ...     return np.log([[0.1, 0.6, 0.3]] * len(tokens)), state, None
    >>> step = WholeStep(advance, lambda state, rows: state, 3)
    >>> wanted = StepRequest(allowed=np.array([[True, False, True]]), num_candidates=1)
    >>> step(None, np.array([2]), wanted).tokens.tolist()
    [[2]]
    """

    def __init__(
        self,
        advance: Callable[[State, Ids], tuple[Floats, State, Floats | None]],
        reorder: Callable[[State, Ids], State],
        vocab_size: int,
    ) -> None:
        self._advance, self._reorder, self._vocab_size = advance, reorder, vocab_size

    @property
    def vocab_size(self) -> int:
        """The size V of the vocabulary."""
        return self._vocab_size

    def __call__(self, state: State, tokens: Ids, wanted: StepRequest) -> Candidates[State]:
        """The candidates after the last token of every row."""
        log_probabilities, after, attention = self._advance(state, tokens)
        found, values = candidates_of(log_probabilities, wanted)
        return Candidates(tokens=found, log_probabilities=values, state=after, attention=attention)

    def reorder(self, state: State, rows: Ids) -> State:
        """The state of the given rows."""
        return self._reorder(state, rows)


def candidates_of(log_probabilities: Floats, wanted: StepRequest) -> tuple[Ids, Floats]:
    """Candidates [N, C + W] and their log-probabilities from those [N, V] of the vocabulary.

    Of equal values the lower id comes first. NaN counts as impossible.
    """
    values = np.where(wanted.allowed, log_probabilities, -np.inf)
    if np.isnan(values.max(initial=-np.inf)):  # one reduction is cheaper than a test of every value
        values = np.where(np.isnan(values), -np.inf, values)
    if wanted.num_candidates >= values.shape[1]:
        return all_tokens(values, wanted.watched)
    tokens = likeliest(values, wanted.num_candidates)
    found = values[np.arange(len(values))[:, None], tokens]
    return with_watched(tokens, found, wanted.watched, values[:, wanted.watched])


def all_tokens(values: Floats, watched: Ids) -> tuple[Ids, Floats]:
    """Every token [N, V] with its value, in the order of the vocabulary."""
    tokens = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return with_watched(tokens, values, watched, values[:, watched])


def with_watched(
    tokens: Ids, values: Floats, watched: Ids, watched_values: Floats
) -> tuple[Ids, Floats]:
    """Append watched tokens [W] and their values [N, W] to the likeliest, without duplicates."""
    if not len(watched):
        return tokens, values
    is_there = np.stack([(tokens == token).any(axis=1) for token in watched], axis=1)  # [N, W]
    more = np.broadcast_to(watched, is_there.shape)
    more_values = np.where(is_there, -np.inf, watched_values)
    return np.hstack([tokens, more]), np.hstack([values, more_values])


def likeliest(values: Floats, count: int) -> Ids:
    """Columns of the `count` largest values of each row, descending; ties in order of the columns.

    >>> likeliest(np.array([[1.0, 3.0, 3.0, 2.0]]), 2).tolist()
    [[1, 2]]
    """
    size = values.shape[1]
    count = min(count, size)
    if count == 1:
        best: Ids = values.argmax(axis=1, keepdims=True)
        return best
    if 2 * count >= size:  # sorting everything costs no more
        return np.argsort(-values, axis=1, kind="stable")[:, :count]
    # A partition finds the largest in linear time, but picks arbitrarily among ties.
    places = np.sort(np.argpartition(-values, count - 1, axis=1)[:, :count], axis=1)
    found = np.take_along_axis(values, places, axis=1)
    smallest = found.min(axis=1, keepdims=True)
    for row in np.flatnonzero((values >= smallest).sum(axis=1) > count):
        places[row] = np.sort(np.argsort(-values[row], kind="stable")[:count])
    found = np.take_along_axis(values, places, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)


class WatchedStep(Generic[State]):
    """A step that also reports the last token of every row, to show a text while it is decoded.

    Args:
        step: The decoder.
        tell: Called with the tokens [N] that the step continues from.
    """

    def __init__(self, step: Step[State], tell: Callable[[Ids], object]) -> None:
        self.step, self.tell = step, tell

    @property
    def vocab_size(self) -> int:
        """The size V of the vocabulary."""
        return self.step.vocab_size

    def __call__(self, state: State, tokens: Ids, wanted: StepRequest) -> Candidates[State]:
        """The candidates after the last token of every row."""
        self.tell(tokens)
        return self.step(state, tokens, wanted)

    def reorder(self, state: State, rows: Ids) -> State:
        """The state of the given rows."""
        return self.step.reorder(state, rows)
