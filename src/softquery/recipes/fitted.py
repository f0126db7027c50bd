"""Values of a run that follow from how much data there is: each a rule, with its result.

Recipes are made for some 100,000 rows. With less, their warm-up may be longer than the run, their
batch may hold all rows, and their patience may end after a few steps. The rules here take the
recipe's value where there is data enough for it, which is always so from 100,000 rows on, and
otherwise one that lets the run learn. What a user has set is left alone.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from softquery.errors import counted
from softquery.recipes.overrides import override
from softquery.recipes.run import Run

LEAST_HELD_BACK = 100
"""Rows by which a run is steered, where that is no more than `MOST_HELD_BACK` of them."""
MOST_HELD_BACK = 0.2
LEAST_BATCHES = 16
"""Steps of an epoch, as far as batches of `LEAST_BATCH` rows allow."""
LEAST_BATCH = 8
LEAST_STEPS = 600
"""Steps of a run."""
STEADY_STEPS = 1_500
"""From so many steps on, a recipe's warm-up and average are as they are."""
LARGEST_PART = 10
"""Warm-up and the average's memory are at most one step in so many of a shorter run."""
PATIENT_STEPS = 150
"""Steps without improvement after which a run may stop."""
PLATEAU_STEPS = 50
"""Steps without improvement after which the rate may fall."""
FEW_ROWS = 5_000
LEAST_DROPOUT = 0.3
"""With fewer than `FEW_ROWS` rows, for models without a pretrained encoder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """A setting, its value for this data, and the rule that gave it."""

    setting: str
    """As `--set` knows it."""
    value: int | float
    recipe: int | float
    """What the recipe has."""
    rule: str

    @property
    def is_changed(self) -> bool:
        """Whether the data asks for another value than the recipe's."""
        return self.value != self.recipe

    def __str__(self) -> str:
        """A line for people.

        >>> str(Fitted(setting="data.batch_size", value=8, recipe=64, rule="72 rows"))
        'data.batch_size 8, not 64: 72 rows'
        """
        other = f", not {self.recipe:g}" if self.is_changed else ""
        return f"{self.setting} {self.value:g}{other}: {self.rule}"

    def to_dict(self) -> dict[str, Any]:
        """As it stands in `run.json` and `metrics.json`."""
        return asdict(self)


def apply(run: Run, found: Collection[Fitted]) -> Run:
    """The run with these values."""
    return override(run, [f"{each.setting}={each.value!r}" for each in found if each.is_changed])


def fit_held_back(run: Run, num_groups: int, chosen: Collection[str]) -> list[Fitted]:
    """The share of the training rows that is held back to steer by.

    Args:
        run: The recipe.
        num_groups: Rows, those that stay together counted once.
        chosen: Settings that the user named.
    """
    own = run.data.tune_share
    if run.data.tune is not None or "data.tune_share" in chosen:
        return []
    share = own
    if num_groups > 1:
        least = min(MOST_HELD_BACK, LEAST_HELD_BACK / num_groups)
        share = round(max(own, least, 1 / num_groups), 4)
    rule = (
        f"{LEAST_HELD_BACK} rows are held back to steer by, or {MOST_HELD_BACK:.0%} of "
        f"{num_groups:,} where that is fewer"
        if share != own
        else f"{own:.0%} of {num_groups:,} rows are enough to steer by"
    )
    return [Fitted(setting="data.tune_share", value=share, recipe=own, rule=rule)]


def fit_rows(run: Run, num_rows: int, chosen: Collection[str]) -> list[Fitted]:
    """Batch size and dropout, from the number of rows that are trained on."""
    found = [_batch_size(run, num_rows), _dropout(run, num_rows)]
    return [each for each in found if each is not None and each.setting not in chosen]


def _batch_size(run: Run, num_rows: int) -> Fitted | None:
    own = run.data.batch_size
    if hasattr(run.settings, "batch_tokens"):  # batches hold so many tokens there
        return None
    if getattr(run.task, "contrast", 0):
        rule = "the other rows of a batch are what each is told apart from"
        return Fitted(setting="data.batch_size", value=own, recipe=own, rule=rule)
    # A power of two, so that a few rows more or less change nothing.
    power = 2 ** int(math.log2(max(1, num_rows / LEAST_BATCHES)))
    value = min(own, max(LEAST_BATCH, power))
    steps = counted(math.ceil(num_rows / value), "step")
    rule = f"{num_rows:,} rows are then {steps} per epoch"
    if value != own:
        rule += f"; {LEAST_BATCHES} are aimed at, with at least {LEAST_BATCH} rows each"
    return Fitted(setting="data.batch_size", value=value, recipe=own, rule=rule)


def _dropout(run: Run, num_rows: int) -> Fitted | None:
    own = getattr(run.model, "dropout", None)
    if own is None or run.bert is not None:
        return None
    value = max(own, LEAST_DROPOUT) if num_rows < FEW_ROWS else own
    rule = f"{num_rows:,} rows; fewer than {FEW_ROWS:,} need at least {LEAST_DROPOUT}"
    return Fitted(setting="model.dropout", value=value, recipe=own, rule=rule)


def fit_steps(run: Run, steps_per_epoch: int, chosen: Collection[str]) -> list[Fitted]:
    """Epochs, patience, warm-up and average, from the number of steps.

    Args:
        run: With the batch size and the rows that the steps come from.
        steps_per_epoch: Batches of an epoch.
        chosen: Settings that the user named.
    """
    length = _epochs(run, steps_per_epoch)
    epochs = run.training.max_epochs if length.setting in chosen else int(length.value)
    total = total_steps(run, epochs, steps_per_epoch)
    found = [
        length,
        _patience(run, epochs, steps_per_epoch),
        _plateau(run, steps_per_epoch),
        _warmup(run, total),
        _average(run, total),
    ]
    return [each for each in found if each is not None and each.setting not in chosen]


def total_steps(run: Run, epochs: int, steps_per_epoch: int) -> int:
    """Steps of a run that is not stopped early."""
    limit = run.training.max_steps
    total = epochs * steps_per_epoch
    return total if limit is None else min(total, limit)


def _epochs(run: Run, steps_per_epoch: int) -> Fitted:
    own = run.training.max_epochs
    value = max(own, math.ceil(LEAST_STEPS / steps_per_epoch))
    rule = (
        f"{counted(steps_per_epoch, 'step')} per epoch, and {LEAST_STEPS} steps are the least"
        if value != own
        else f"{own * steps_per_epoch:,} steps at {steps_per_epoch:,} per epoch"
    )
    return Fitted(setting="training.max_epochs", value=value, recipe=own, rule=rule)


def _patience(run: Run, epochs: int, steps_per_epoch: int) -> Fitted:
    own = run.training.patience
    if own >= run.training.max_epochs:
        value, rule = max(own, epochs), "the run goes on to its last epoch"
    else:
        value = max(own, math.ceil(PATIENT_STEPS / steps_per_epoch))
        rule = f"epochs without improvement; {PATIENT_STEPS} steps are the least"
    return Fitted(setting="training.patience", value=value, recipe=own, rule=rule)


def _plateau(run: Run, steps_per_epoch: int) -> Fitted | None:
    own = run.schedule.plateau_patience
    if run.schedule.plateau_factor == 1:
        return None
    value = max(own, math.ceil(PLATEAU_STEPS / steps_per_epoch) - 1)
    rule = f"the rate falls after {PLATEAU_STEPS} steps without improvement at the earliest"
    return Fitted(setting="schedule.plateau_patience", value=value, recipe=own, rule=rule)


def _warmup(run: Run, total: int) -> Fitted | None:
    own = run.schedule.warmup_steps
    if not own:
        return None
    value = own
    if total < max(STEADY_STEPS, own + 1):
        value = min(own, max(1, total // LARGEST_PART))
    rule = f"{counted(total, 'step')} in all{_a_part(value, own)}"
    return Fitted(setting="schedule.warmup_steps", value=value, recipe=own, rule=rule)


def _average(run: Run, total: int) -> Fitted | None:
    own = run.training.average_decay
    if not own:
        return None
    value = own
    if total < STEADY_STEPS:
        memory = min(1 / (1 - own), max(2, total / LARGEST_PART))
        value = min(own, round(1 - 1 / memory, 4))
    rule = f"the average remembers {1 / (1 - value):.0f} of {total:,} steps{_a_part(value, own)}"
    return Fitted(setting="training.average_decay", value=value, recipe=own, rule=rule)


def _a_part(value: float, own: float) -> str:
    return "" if value == own else f"; one in {LARGEST_PART} is the most"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFit:
    """What decides the values of a run, and those that were found so far."""

    chosen: frozenset[str] | None
    """Settings that the user named; None to leave the whole run as it is."""
    recorded: Mapping[str, Fitted] | None = None
    """Values of the run that is resumed."""
    found: tuple[Fitted, ...] = ()

    def held_back(self, run: Run, num_groups: int) -> tuple[Run, "RunFit"]:
        """Fit the share of rows that steers the run."""
        return self._fitted(run, fit_held_back(run, num_groups, self.chosen or ()))

    def rows(self, run: Run, num_rows: int) -> tuple[Run, "RunFit"]:
        """Fit what follows from the number of training rows."""
        return self._fitted(run, fit_rows(run, num_rows, self.chosen or ()))

    def steps(self, run: Run, steps_per_epoch: int) -> tuple[Run, "RunFit"]:
        """Fit what follows from the number of steps."""
        return self._fitted(run, fit_steps(run, steps_per_epoch, self.chosen or ()))

    def _fitted(self, run: Run, found: Sequence[Fitted]) -> tuple[Run, "RunFit"]:
        if self.chosen is None:
            return run, self
        if self.recorded is not None:
            known = self.recorded
            found = [known[each.setting] for each in found if each.setting in known]
        return apply(run, found), replace(self, found=(*self.found, *found))

    def tell(self, say: Callable[[str], None]) -> None:
        """Every value that the data changed with its rule, and all others in one line."""
        changed = [each for each in self.found if each.is_changed]
        kept = [each for each in self.found if not each.is_changed]
        if changed:
            say("fitted to the data (--set leaves any of these as you want it):")
        for each in changed:
            say(f"  {each}")
        if kept:
            shown = ", ".join(f"{each.setting} {each.value:g}" for each in kept)
            say(f"as in the recipe: {shown}")

    def to_list(self) -> list[dict[str, Any]]:
        """As it stands in `run.json` and `metrics.json`."""
        return [each.to_dict() for each in self.found]
