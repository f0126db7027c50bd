"""Callbacks: what a program is told of a run while it trains, and how it ends one early.

Needs no torch.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from softquery.errors import ConfigError

if TYPE_CHECKING:
    from softquery.training import Observer


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingEvent:
    """Where a run stands.

    >>> event = TrainingEvent(step=20, total_steps=100, epoch=1, facts={"tune_accuracy": 0.9})
    >>> event.share, event.facts["tune_accuracy"]
    (0.2, 0.9)
    """

    step: int
    """How many steps are done; of word vectors, how many words."""
    total_steps: int
    """The most steps of the run."""
    epoch: int = 0
    """From 0."""
    facts: Mapping[str, float] = field(default_factory=dict)
    """What was measured last, such as `loss`, `lr` and `tune_accuracy`; after an evaluation also
    `best`, and `bad_epochs`, the evaluations since then. Both outlive an interruption."""
    improved: bool = False
    """After an evaluation: whether it is the best so far."""

    @property
    def share(self) -> float:
        """The part of the run that is done."""
        return self.step / max(1, self.total_steps)


class Callback:
    """What is called while a run trains; subclass it, and override what you need.

    A method that returns True ends the run early, as if it had no more steps: what was learnt is
    measured, and the bundle is written with the best weights. An exception breaks the run off, and
    `resume` goes on from its last checkpoint. Decide by what the event says, and not by what a
    callback has counted itself, and a resumed run ends with the same weights, bit for bit.

    >>> class GoodEnough(Callback):
    ...     def on_evaluation(self, event):
    ...         return event.facts["tune_accuracy"] >= 0.95
    >>> event = TrainingEvent(step=20, total_steps=100, facts={"tune_accuracy": 0.97})
    >>> GoodEnough().on_evaluation(event)
    True
    """

    def on_begin(self, event: TrainingEvent) -> None:
        """The run starts, or goes on, at the step of the event."""

    def on_step(self, event: TrainingEvent) -> bool | None:
        """A step is done; `facts` are those of the last one that was logged."""

    def on_evaluation(self, event: TrainingEvent) -> bool | None:
        """The model was measured on rows that are held back."""

    def on_epoch(self, event: TrainingEvent) -> bool | None:
        """An epoch is over, and measured where the run measures."""


class Watched:
    """An observer that tells callbacks, and another observer, of a run.

    Args:
        callbacks: Told in their order.
        observer: Shows the run.
    """

    def __init__(self, callbacks: Sequence[Callback], observer: "Observer") -> None:
        if not isinstance(callbacks, Iterable):
            raise ConfigError(f"callbacks must be a list, got {callbacks!r:.60}")
        callbacks = tuple(callbacks)
        for each in callbacks:
            if not isinstance(each, Callback):
                raise ConfigError(
                    f"callbacks must be softquery.running.callbacks.Callback, got {each!r:.60}"
                )
        self.callbacks, self.observer = callbacks, observer
        self._total = self._done = self._epoch = 0

    def begin(self, total_steps: int, done: int) -> None:
        """The run starts, or goes on."""
        self._total, self._done = total_steps, done
        self.observer.begin(total_steps, done)
        for each in self.callbacks:
            each.on_begin(self._event({}))

    def step(self, done: int, facts: dict[str, float]) -> bool | None:
        """A step is done; whether a callback ends the run."""
        self._done, self._epoch = done, int(facts.get("epoch", self._epoch))
        wish = self.observer.step(done, facts)
        # All are told, also those behind one that ends the run.
        wishes = [each.on_step(self._event(facts)) for each in self.callbacks]
        return any([wish, *wishes])

    def epoch(self, number: int, facts: dict[str, float], improved: bool) -> bool | None:
        """An epoch was measured; whether a callback ends the run."""
        self._epoch = number
        wish = self.observer.epoch(number, facts, improved)
        event, wishes = self._event(facts, improved=improved), [wish]
        if any(name.startswith("tune_") for name in facts):
            wishes += [each.on_evaluation(event) for each in self.callbacks]
        wishes += [each.on_epoch(event) for each in self.callbacks]
        return any(wishes)

    def _event(self, facts: Mapping[str, float], *, improved: bool = False) -> TrainingEvent:
        return TrainingEvent(
            step=self._done,
            total_steps=self._total,
            epoch=self._epoch,
            facts=dict(facts),
            improved=improved,
        )


class Unwatched:
    """An observer that shows nothing."""

    def begin(self, total_steps: int, done: int) -> None:
        """Nothing is shown."""

    def step(self, done: int, facts: dict[str, float]) -> None:
        """Nothing is shown."""

    def epoch(self, number: int, facts: dict[str, float], improved: bool) -> None:
        """Nothing is shown."""


def watched_by(*callbacks: Callback) -> "Observer":
    """Callbacks as the observer of `RunOptions`; nothing is shown.

    >>> watched_by(Callback()).step(1, {})
    False
    """
    return Watched(callbacks, Unwatched())
