"""A step that tells which tokens it was handed: how an answer is shown while it is made."""

from collections.abc import Callable
from typing import Generic

from softquery.decoding.step import Candidates, Ids, State, Step, StepRequest


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
