"""Fit a run to its data by the rules of `softquery.recipes.fitted`, and say what came of it.

A run that is resumed takes the values that it was started with.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from softquery.bundle import RECORDS
from softquery.recipes import Run
from softquery.recipes.fitted import Fitted, apply, fit_held_back, fit_rows, fit_steps
from softquery.running.run_folder import FITTED, SETTINGS, partial_folder
from softquery.running.run_options import RunOptions, Say


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFit:
    """What decides the values of a run, and those that were found so far."""

    chosen: frozenset[str] | None
    """Settings that the user named; None to leave the whole run as it is."""
    recorded: Mapping[str, Fitted] | None = None
    """Values of the run that is resumed."""
    found: tuple[Fitted, ...] = ()

    @classmethod
    def of(cls, options: RunOptions) -> "RunFit":
        """From the options of the command; where a run is resumed, from its record as well."""
        recorded = _recorded(Path(options.output)) if options.resume else None
        return cls(chosen=options.chosen, recorded=recorded)

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

    def tell(self, say: Say) -> None:
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


def _recorded(output: Path) -> dict[str, Fitted] | None:
    """What an interrupted run was started with; None where it left no settings.

    A run of an earlier version, which fitted nothing, has an empty record. What is damaged is
    reported where the settings are compared.
    """
    note = partial_folder(output) / RECORDS / SETTINGS
    try:
        found = json.loads(note.read_text(encoding="utf-8")).get(FITTED, [])
        return {each["setting"]: Fitted(**each) for each in found}
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return {} if note.exists() else None
