"""Pairs that differ in one thing, made by rule from free texts; `hard_pairs.py` runs them."""
