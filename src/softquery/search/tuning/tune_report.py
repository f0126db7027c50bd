"""What tuning an index has found: figures before and after, and whether they are surely better."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from softquery.errors import counted
from softquery.search.storage.index_files import damaged
from softquery.search.storage.tuning_files import TUNING, StoredTuning

BETTER_LOW = ("unanswerable_answered", "loss")
"""Figures of which less is better."""
DECISIVE = ("net", "loss")
"""Figures of which one must be surely better."""
LOG = "log"
"""The kind of a tuning by queries of which nobody says what answers them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TunedFigure:
    """A figure by cross-validation, before tuning and after; None where nothing can be measured.

    Attributes:
        before: By the index's own score and threshold.
        after: By those that were fitted without the queries that are asked.
        gain: After less before.
        low: Where the 95 % interval of the gain begins, paired by query.
        high: Where it ends.
    """

    before: float | None
    after: float | None
    gain: float | None
    low: float | None
    high: float | None

    def is_better(self, name: str) -> bool:
        """Whether it is surely better."""
        if self.low is None or self.high is None:
            return False
        return self.high < 0 if name in BETTER_LOW else self.low > 0

    def is_worse(self, name: str) -> bool:
        """Whether it is surely worse."""
        if self.low is None or self.high is None:
            return False
        return self.low > 0 if name in BETTER_LOW else self.high < 0


@dataclass(frozen=True, kw_only=True, slots=True)
class TuneReport:
    """What tuning has found.

    Attributes:
        num_queries: Queries that were learned from.
        num_answerable: Those that have an answer; of a log without labels, as far as it tells.
        kind: `"labels"`, `"clicks"` or `"log"`.
        aim: What the threshold is for.
        min_score_before: The threshold before; None if every row is an answer.
        min_score: That after.
        learned: What the score has learned, in words.
        figures: By name, each before and after; of a log the threshold, both in terms of the scores
            before, and what the scores after suggest of either.
        is_sure: Whether it is surely better; of a log, whether the threshold surely differs.
        is_changed: Whether the index was changed.
        notes: What else has to be said.
    """

    num_queries: int
    num_answerable: int
    kind: str
    aim: str
    min_score_before: float | None
    min_score: float
    learned: str
    figures: Mapping[str, TunedFigure]
    is_sure: bool
    is_changed: bool
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**asdict(self), "notes": list(self.notes)}

    @property
    def verdict(self) -> str:
        """One line on whether it is better, and by what."""
        if self.kind == LOG:
            found = self.figures["threshold"]
            change = f"{found.gain:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
            return f"the threshold {'surely differs' if self.is_sure else 'may stay'}: {change}"
        parts = [
            f"{name} {each.gain:+.3f} ({each.low:+.3f} to {each.high:+.3f})"
            for name in DECISIVE
            if (each := self.figures[name]).gain is not None
        ]
        return f"{'surely better' if self.is_sure else 'not surely better'}: {', '.join(parts)}"

    def __repr__(self) -> str:
        queries = counted(self.num_queries, "query", "queries")
        changed = "changed" if self.is_changed else "not changed"
        return f"{type(self).__name__}({queries}, {changed}, {self.verdict})"


def is_surely_better(figures: Mapping[str, TunedFigure]) -> bool:
    """Whether answers are surely better by one decisive figure, and by none surely worse.

    A score that means what it says, and answers fewer queries rightly for it, is no gain by itself:
    then right answers less wrong ones must be surely more.
    """
    names = (*DECISIVE, "mrr")
    if any(figures[name].is_worse(name) for name in names):
        return False
    if figures["answered_rightly"].is_worse("answered_rightly"):
        return figures["net"].is_better("net")
    return any(figures[name].is_better(name) for name in DECISIVE)


def report_of(stored: StoredTuning) -> TuneReport:
    """The report that a tuning was stored with.

    Raises:
        InputError: It is damaged.
    """
    try:
        data = dict(stored.report)
        data["figures"] = {name: TunedFigure(**each) for name, each in data["figures"].items()}
        data["notes"] = tuple(map(str, data["notes"]))
        found = TuneReport(**data)
        int(found.num_queries), str(found.verdict)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise damaged(stored.folder / TUNING, "its report is none") from None
    return found
