"""Bulk work past one machine, on Ray Data: files to shards of answers, and data sets to data sets.

Needs the extra `ray`, which is imported when the first function is called.
"""

from softquery.ray.bulk_files import answer_files, embed_files
from softquery.ray.bulk_run import ShardedResult
from softquery.ray.bulk_work import ModelChoice, VectorOptions
from softquery.ray.cluster import Actors
from softquery.ray.data_sets import embed
from softquery.ray.verbs import classify, fill, generate, match, read, tag

__all__ = [
    "Actors",
    "ModelChoice",
    "ShardedResult",
    "VectorOptions",
    "answer_files",
    "classify",
    "embed",
    "embed_files",
    "fill",
    "generate",
    "match",
    "read",
    "tag",
]
