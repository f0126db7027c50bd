"""A tuned score as it is stored, every number of it checked when it is read."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from softquery.search.aims import AimCurve
from softquery.search.storage.index_files import damaged
from softquery.search.storage.json_fields import Expected, check_fields
from softquery.search.storage.tuning_files import TUNING, StoredTuning
from softquery.search.tuning.remembered import Remembered
from softquery.search.tuning.tuned_score import FEATURES, Correction, TunedScore


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]


def _are_numbers(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_number, value))


_NUMBER = Expected("a number", _is_number)
_NUMBERS = Expected("a list of numbers", _are_numbers)
_PER_FEATURE = Expected(
    f"{len(FEATURES)} numbers", lambda value: _are_numbers(value) and len(value) == len(FEATURES)
)
_SCORE = {
    "features": Expected(", ".join(FEATURES), lambda value: value == list(FEATURES)),
    "centres": _PER_FEATURE,
    "scales": Expected(
        "numbers above 0",
        lambda value: _PER_FEATURE.holds(value) and all(each > 0 for each in value),
    ),
    "weights": _PER_FEATURE,
    **dict.fromkeys(("offset", "slope", "shift"), _NUMBER),
}
_CURVE = dict.fromkeys(("scores", "precision", "coverage"), _NUMBERS)


def stored_form(score: TunedScore) -> dict[str, Any]:
    """As JSON holds it: `score`, `curve` and `relevant`."""
    learned, curve = score.correction, score.curve
    numbers = {name: getattr(learned, name).tolist() for name in ("centres", "scales", "weights")}
    single = {name: getattr(learned, name) for name in ("offset", "slope", "shift")}
    return {
        "score": {"features": list(FEATURES), **numbers, **single},
        "curve": {name: list(getattr(curve, name)) for name in _CURVE},
        "relevant": [list(ids) for ids in score.remembered.relevant],
    }


def tuned_score_of(stored: StoredTuning) -> TunedScore:
    """The score that a tuning holds.

    Raises:
        InputError: It is damaged.
    """
    path = stored.folder / TUNING
    try:
        learned = check_fields(stored.score, _SCORE, "the score")
        curve = check_fields(stored.curve, _CURVE, "the curve")
    except ValueError as error:
        raise damaged(path, str(error)) from None
    lengths = {len(each) for each in curve.values()}
    if len(lengths) != 1 or not curve["scores"]:
        raise damaged(path, "its curve is not as long everywhere")
    centres, scales, weights = (
        np.array(learned[name], dtype=np.float64) for name in ("centres", "scales", "weights")
    )
    offset, slope, shift = (float(learned[name]) for name in ("offset", "slope", "shift"))
    correction = Correction(centres, scales, weights, offset, slope, shift)
    remembered = Remembered(stored.vectors, stored.relevant)
    return TunedScore(correction, remembered, AimCurve(**_curve(curve)))


def _curve(values: Mapping[str, list[float]]) -> dict[str, list[float]]:
    return {name: [float(each) for each in column] for name, column in values.items()}
