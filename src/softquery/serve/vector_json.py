"""Vectors as clients want them: of length one, and compared."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softquery.measure.word_scores import unit_rows

Floats = NDArray[np.float32]


def normalised(vectors: Sequence[Floats]) -> list[Floats]:
    """Vectors of length 1; one of zeros stays as it is."""
    return list(unit_rows(np.stack(vectors)))


def cosines(one: Floats, others: Sequence[Floats]) -> list[float]:
    """How alike a vector is to each of the others, from -1 to 1."""
    (asked,) = normalised([one])
    return [float(np.clip(asked @ each, -1.0, 1.0)) for each in normalised(others)]
