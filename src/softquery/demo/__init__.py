"""A tour of the main jobs on sample files that come with softquery."""

from softquery.demo.samples import SAMPLES, write_samples
from softquery.demo.tour import TOUR, Stop, what_is_missing

__all__ = ["SAMPLES", "TOUR", "Stop", "what_is_missing", "write_samples"]
