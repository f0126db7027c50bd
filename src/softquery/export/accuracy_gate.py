"""What an export reports, and what int8 had to pass."""

from dataclasses import dataclass
from pathlib import Path


def points_lost(before: float, after: float) -> float:
    """What a share between 0 and 1 lost, in points.

    >>> points_lost(0.75, 0.5)
    25.0
    """
    return 100 * (before - after)


def per_cent_grown(before: float, after: float) -> float:
    """By how many per cent a perplexity grew.

    >>> per_cent_grown(40.0, 50.0)
    25.0
    """
    return 100 * (after / before - 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class AccuracyGate:
    """What int8 cost, and whether that was within the limit."""

    metric: str
    float32: float
    int8: float
    lost_points: float
    limit_points: float
    n: int
    accepted: bool

    @classmethod
    def decide(
        cls, *, metric: str, float32: float, int8: float, lost: float, limit: float, n: int
    ) -> "AccuracyGate":
        """Accept int8 where it lost no more than the limit."""
        return cls(
            metric=metric,
            float32=float32,
            int8=int8,
            lost_points=lost,
            limit_points=limit,
            n=n,
            accepted=lost <= limit,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportReport:
    """What was written."""

    bundle: Path
    precision: str
    """`"float32"` or `"int8"`."""
    difference: float | None
    """The largest difference of a float32 graph from torch: in a matcher's probability, in a number
    of an embedder's vectors. None where there was no torch to compare with."""
    gate: AccuracyGate | None
    size_bytes: int
