"""Fitting an index to queries whose answers are known: its score, its threshold, its models."""
