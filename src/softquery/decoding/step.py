"""One step of a decoder as every search sees it: what is wanted, and what comes back.

A step takes the state after some tokens and the last of these tokens, and says which tokens may
come next. It returns the likeliest few of them instead of the whole vocabulary: on a GPU only those
need to cross to the host, and the state stays where it is. Searches are written against this alone,
so that one implementation serves torch and ONNX Runtime.

N rows (hypotheses), V tokens of the vocabulary, C candidates of a row, W watched tokens, S tokens
of the source.
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
    """[N, V], or [1, V] where all rows may take the same tokens; True for what may come next."""
    num_candidates: int
    """C: how many of the likeliest allowed tokens of each row; V or more for all tokens."""
    watched: Ids = field(default_factory=lambda: NOTHING)
    """[W]: tokens that are reported for every row, however unlikely they are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidates(Generic[State]):
    """What may come next, and the state from which to go on once one of it is taken.

    Tokens that are not allowed have a log-probability of minus infinity. Probabilities are those of
    the model: leaving tokens out does not make the others likelier.
    """

    tokens: Ids
    """[N, C + W]: the likeliest first, then the watched ones. If all tokens are wanted, they come
    unsorted, in the order of the vocabulary."""
    log_probabilities: Floats
    """[N, C + W]; a watched token that stands among the likeliest counts there alone."""
    state: State
    attention: Floats | None = None
    """[N, ..., S]: where each row looked, for models that can say; heads and layers in between."""


class Step(Protocol[State]):
    """A decoder, one token at a time."""

    @property
    def vocab_size(self) -> int:
        """V."""

    def __call__(self, state: State, tokens: Ids, wanted: StepRequest) -> Candidates[State]:
        """What may follow the last token [N] of every row."""

    def reorder(self, state: State, rows: Ids) -> State:
        """The state whose rows are these rows of the given one, some left out, some repeated."""


class WholeStep(Generic[State]):
    """A step from a function that gives the log-probabilities of the whole vocabulary.

    Args:
        advance: From a state and the last tokens [N] to log-probabilities [N, V], the next state,
            and attention [N, ..., S] or None.
        reorder: From a state and row numbers to the state of those rows.
        vocab_size: V.

    >>> def advance(state, tokens):
    ...     return np.log([[0.1, 0.6, 0.3]] * len(tokens)), state, None
    >>> step = WholeStep(advance, lambda state, rows: state, 3)
    >>> wanted = Wanted(allowed=np.array([[True, False, True]]), num_candidates=1)
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
        """V."""
        return self._vocab_size

    def __call__(self, state: State, tokens: Ids, wanted: StepRequest) -> Candidates[State]:
        """What may follow the last token of every row."""
        log_probabilities, after, attention = self._advance(state, tokens)
        found, values = candidates_of(log_probabilities, wanted)
        return Candidates(tokens=found, log_probabilities=values, state=after, attention=attention)

    def reorder(self, state: State, rows: Ids) -> State:
        """The state of these rows."""
        return self._reorder(state, rows)


def candidates_of(log_probabilities: Floats, wanted: StepRequest) -> tuple[Ids, Floats]:
    """Candidates [N, C + W] and their log-probabilities from those [N, V] of the vocabulary.

    Of equals the lower number comes first. Not a number counts as impossible.
    """
    values = np.where(wanted.allowed, log_probabilities, -np.inf)
    if np.isnan(values.max(initial=-np.inf)):  # one look at all is cheaper than one at each
        values = np.where(np.isnan(values), -np.inf, values)
    if wanted.num_candidates >= values.shape[1]:
        return all_tokens(values, wanted.watched)
    tokens = likeliest(values, wanted.num_candidates)
    found = values[np.arange(len(values))[:, None], tokens]
    return with_watched(tokens, found, wanted.watched, values[:, wanted.watched])


def all_tokens(values: Floats, watched: Ids) -> tuple[Ids, Floats]:
    """Every token [N, V] with its value, in order; watched ones are among them."""
    tokens = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return with_watched(tokens, values, watched, values[:, watched])


def with_watched(
    tokens: Ids, values: Floats, watched: Ids, watched_values: Floats
) -> tuple[Ids, Floats]:
    """Put watched tokens [W] with their values [N, W] behind the likeliest ones, none twice."""
    if not len(watched):
        return tokens, values
    is_there = np.stack([(tokens == token).any(axis=1) for token in watched], axis=1)  # [N, W]
    more = np.broadcast_to(watched, is_there.shape)
    more_values = np.where(is_there, -np.inf, watched_values)
    return np.hstack([tokens, more]), np.hstack([values, more_values])


def likeliest(values: Floats, count: int) -> Ids:
    """Places of the `count` largest values of each row, falling; of equals the first comes first.

    >>> likeliest(np.array([[1.0, 3.0, 3.0, 2.0]]), 2).tolist()
    [[1, 2]]
    """
    size = values.shape[1]
    count = min(count, size)
    if count == 1:
        best: Ids = values.argmax(axis=1, keepdims=True)
        return best
    if 2 * count >= size:  # sorting all is no dearer
        return np.argsort(-values, axis=1, kind="stable")[:, :count]
    # A partition finds the largest in linear time, but takes any of equals where they are too many.
    places = np.sort(np.argpartition(-values, count - 1, axis=1)[:, :count], axis=1)
    found = np.take_along_axis(values, places, axis=1)
    smallest = found.min(axis=1, keepdims=True)
    for row in np.flatnonzero((values >= smallest).sum(axis=1) > count):
        places[row] = np.sort(np.argsort(-values[row], kind="stable")[:count])
    found = np.take_along_axis(values, places, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)


class WatchedStep(Generic[State]):
    """The same step, with somebody who is told the last token of every row.

    Args:
        step: The decoder.
        tell: Takes the tokens [N] that are about to be gone on from.
    """

    def __init__(self, step: Step[State], tell: Callable[[Ids], object]) -> None:
        self.step, self.tell = step, tell

    @property
    def vocab_size(self) -> int:
        """V."""
        return self.step.vocab_size

    def __call__(self, state: State, tokens: Ids, wanted: StepRequest) -> Candidates[State]:
        """What may follow the last token of every row."""
        self.tell(tokens)
        return self.step(state, tokens, wanted)

    def reorder(self, state: State, rows: Ids) -> State:
        """The state of these rows."""
        return self.step.reorder(state, rows)
