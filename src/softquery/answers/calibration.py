"""Calibration: temperature, threshold, and the probability below which no answer is given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import BundleError
from softquery.numpy_softmax import softmax


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """How logits become probabilities and probabilities become answers.

    >>> Calibration.from_dict({"temperature": 1.5, "threshold": 0.62}).threshold
    0.62
    """

    temperature: float = 1.0
    """Logits are divided by it (Guo et al. 2017, Section 4.2)."""
    bias: tuple[float, ...] | None = None
    """Added to the scaled logits, one number per label."""
    growth: float = 0.0
    """How much larger logits are sharpened; see `softquery.measure.Scaling`."""
    threshold: float | None = None
    """With two labels: the second is answered from this probability on."""
    abstain_below: float | None = None
    """No label is answered where the probability of the answer is lower."""

    def __post_init__(self) -> None:
        if not (_is_number(self.temperature) and 1e-6 <= self.temperature <= 1e6):
            raise ValueError(
                f"temperature must be a number from 1e-6 to 1e6, got {self.temperature!r:.40}"
            )
        if self.bias is not None and not (
            isinstance(self.bias, tuple) and all(_is_number(each) for each in self.bias)
        ):
            raise ValueError(f"bias must be a number for each label, got {self.bias!r:.40}")
        if not (_is_number(self.growth) and 0 <= self.growth <= 1e6):
            raise ValueError(f"growth must be a number from 0 to 1e6, got {self.growth!r:.40}")
        for name in ("threshold", "abstain_below"):
            value = getattr(self, name)
            if value is not None and not (_is_number(value) and 0 <= value <= 1):
                raise ValueError(f"{name} must be a number from 0 to 1, got {value!r:.40}")

    def probabilities(self, logits: NDArray[Any]) -> NDArray[np.float64]:
        """A distribution over the labels for each row of logits.

        >>> Calibration(temperature=2.0).probabilities(np.array([[0.0, 0.0]])).tolist()
        [[0.5, 0.5]]
        """
        wide = logits.astype(np.float64)
        wide = wide - wide.mean(axis=1, keepdims=True)
        spread = wide.max(axis=1, keepdims=True)
        wide = wide * (1 / self.temperature + self.growth * spread)
        if self.bias is not None:
            wide = wide + np.array(self.bias)
        return softmax(wide, axis=1)

    def decide(self, probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
        """The label of each row: by the threshold where there is one, otherwise the likeliest.

        >>> Calibration(threshold=0.7).decide(np.array([[0.4, 0.6], [0.2, 0.8]])).tolist()
        [0, 1]
        """
        if self.threshold is not None and probabilities.shape[1] == 2:
            chosen: NDArray[np.int64] = (probabilities[:, 1] >= self.threshold).astype(np.int64)
            return chosen
        likeliest: NDArray[np.int64] = probabilities.argmax(axis=1)
        return likeliest

    def is_sure(self, probability: float) -> bool:
        """Whether an answer of this probability is given rather than withheld."""
        return self.abstain_below is None or probability >= self.abstain_below

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> "Calibration":
        """Parse a bundle's `calibration.json`; keys that say how it was fitted are ignored."""
        if data is None:
            return cls()
        names = ("temperature", "growth", "bias", "threshold", "abstain_below")
        given = {name: data[name] for name in names if name in data}
        if isinstance(given.get("bias"), list):
            given["bias"] = tuple(given["bias"])
        try:
            return cls(**given)
        except ValueError as error:
            raise BundleError(f"calibration.json: {error}") from None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
