"""Rows to typed, length-bucketed batches of tensors."""

from softquery.data.buckets import Slot, bucketed, budgeted, in_order, round_up
from softquery.data.corpus import Corpus, read_corpus, write_corpus
from softquery.data.pairs import PairBatch, Pairs, encode_pairs, split_rows
from softquery.data.streams import StreamBatch, Streams, StreamSlots
from softquery.data.tokens import Sentences, Tokens
from softquery.data.translations import TranslationBatch, Translations, encode_translations

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
    "TranslationBatch",
    "Translations",
    "bucketed",
    "budgeted",
    "encode_pairs",
    "encode_translations",
    "in_order",
    "read_corpus",
    "round_up",
    "split_rows",
    "write_corpus",
]
