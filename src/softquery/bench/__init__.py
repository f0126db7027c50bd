"""Side by side with what users would pick instead, in one run."""

from softquery.bench.match import MatchBench, run_match_bench

__all__ = ["MatchBench", "run_match_bench"]
