"""Rows of several sources, each cut in two: its first half fits, its second measures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError, counted
from softquery.files import Row
from softquery.measure import (
    Scaling,
    chance_calibration_error,
    expected_calibration_error,
    form_of,
    scalings_without_each,
    weigh_alike,
)
from softquery.numpy_softmax import softmax

Places = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceHalves:
    """Which rows fit, and which measure."""

    names: tuple[str, ...]
    """The sources in the order in which they appear."""
    ids: Places
    """For each row the place of its source in `names`."""
    first: Places
    """The rows of the first halves, in their order."""
    second: Places

    def weights(self, rows: Places) -> NDArray[np.float64] | None:
        """What each of these rows counts, so that sources count alike; None with one source."""
        return None if len(self.names) == 1 else weigh_alike(self.ids[rows])


def split_sources(
    rows: Sequence[Row], sources: Sequence[str] | None, *, least: int
) -> SourceHalves:
    """Cut the rows of every source in two by their order.

    Args:
        rows: Of all sources, in any order.
        sources: The name of each row's source; None where there is one.
        least: The rows that a source must have.

    Raises:
        InputError: A source has fewer rows.
    """
    given = [""] * len(rows) if sources is None else list(sources)
    if len(given) != len(rows):
        raise ValueError(f"{len(given)} sources for {len(rows)} rows")
    names = tuple(dict.fromkeys(given))
    place = {name: number for number, name in enumerate(names)}
    ids = np.array([place[name] for name in given], dtype=np.int64)
    first = np.zeros(len(rows), dtype=bool)
    for number, name in enumerate(names):
        own = np.flatnonzero(ids == number)
        if len(own) < least:
            raise InputError(
                f"source {name!r:.60}: {counted(len(own), 'row is', 'rows are')} too few to "
                f"calibrate on; expected at least {least}",
                source=rows[own[0]].source,
            )
        first[own[: len(own) // 2]] = True
    return SourceHalves(
        names=names, ids=ids, first=np.flatnonzero(first), second=np.flatnonzero(~first)
    )


def figures_by_source(
    halves: SourceHalves, scaling: Scaling, logits: NDArray[Any], gold: NDArray[Any]
) -> dict[str, Any]:
    """Calibration errors on the second half of every source, and which source is the worst.

    `ece_left_out` is the error where the scaling was fitted on the other sources alone: what a
    source that nobody has labelled may expect. `ece_by_chance` is what as few rows would show if
    every probability were true.
    """
    wide = logits.astype(np.float64)
    first, num_sources = halves.first, len(halves.names)
    without = (
        scalings_without_each(wide[first], gold[first], halves.ids[first], form_of(scaling))
        if num_sources > 1
        else {}
    )
    figures: dict[str, dict[str, Any]] = {}
    for number, name in enumerate(halves.names):
        rows = halves.second[halves.ids[halves.second] == number]
        some, answers = wide[rows], gold[rows]
        after = softmax(scaling.apply(some), axis=1)
        figures[name] = {
            "fitted_on": int((halves.ids[first] == number).sum()),
            "measured_on": len(rows),
            "ece_before": expected_calibration_error(softmax(some, axis=1), answers),
            "ece_after": expected_calibration_error(after, answers),
            "ece_by_chance": chance_calibration_error(after),
        }
        if without:
            left_out = softmax(without[number].apply(some), axis=1)
            figures[name]["ece_left_out"] = expected_calibration_error(left_out, answers)
    worst = max(figures, key=lambda name: figures[name]["ece_after"])
    return {
        "worst_source": worst,
        "worst_ece": figures[worst]["ece_after"],
        "sources": figures,
    }
