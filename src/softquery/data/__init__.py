"""Rows to typed, length-bucketed batches of tensors."""

from softquery.data.buckets import Slot, bucketed, in_order, round_up
from softquery.data.corpus import Corpus, read_corpus, write_corpus
from softquery.data.pairs import PairBatch, Pairs, encode_pairs, split_rows
from softquery.data.streams import StreamBatch, Streams, StreamSlots
from softquery.data.tokens import Sentences, Tokens
from softquery.data.windows import Windows

__all__ = [
    "Corpus",
    "PairBatch",
    "Pairs",
    "Sentences",
    "Slot",
    "StreamBatch",
    "StreamSlots",
    "Streams",
    "Tokens",
    "Windows",
    "bucketed",
    "encode_pairs",
    "in_order",
    "read_corpus",
    "round_up",
    "split_rows",
    "write_corpus",
]
