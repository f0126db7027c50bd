"""Benchmarks: softquery and what users would pick instead, measured in one run."""

from softquery.bench.load_test import Load
from softquery.bench.match import MatchBench, run_match_bench
from softquery.bench.serve import ServeBench, run_serve_bench

__all__ = ["Load", "MatchBench", "ServeBench", "run_match_bench", "run_serve_bench"]
