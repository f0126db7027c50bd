"""What makes a score mean something: a temperature, a threshold, and the right to abstain."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from softquery.errors import BundleError


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """How logits become probabilities and probabilities become answers.

    >>> Calibration.from_dict({"temperature": 1.5, "threshold": 0.62}).threshold
    0.62
    """

    temperature: float = 1.0
    """Logits are divided by it (Guo et al. 2017, Section 4.2)."""
    threshold: float | None = None
    """With two labels: the second one is answered from this probability on."""
    abstain_below: float | None = None
    """No label is answered where the answer's probability is lower."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise ValueError(f"temperature must be positive, got {self.temperature}")
        for name in ("threshold", "abstain_below"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise ValueError(f"{name} must be from 0 to 1, got {value}")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> "Calibration":
        """Read a bundle's `calibration.json`; what else stands there tells how it was fitted."""
        if data is None:
            return cls()
        names = ("temperature", "threshold", "abstain_below")
        try:
            return cls(**{name: data[name] for name in names if name in data})
        except (TypeError, ValueError) as error:
            raise BundleError(f"calibration.json: {error}") from None
