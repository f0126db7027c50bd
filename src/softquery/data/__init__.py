"""Rows to typed, length-bucketed batches of tensors."""

from softquery.data.buckets import Slot, bucketed, in_order, round_up
from softquery.data.pairs import PairBatch, Pairs, encode_pairs, split_rows
from softquery.data.tokens import Sentences, Tokens
from softquery.data.windows import Windows

__all__ = [
    "PairBatch",
    "Pairs",
    "Sentences",
    "Slot",
    "Tokens",
    "Windows",
    "bucketed",
    "encode_pairs",
    "in_order",
    "round_up",
    "split_rows",
]
