"""Measurements: a folder per topic, with its scripts, page, raw results and figures together."""
