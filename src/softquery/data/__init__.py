"""Rows to typed, length-bucketed batches of tensors."""

from softquery.data.buckets import Slot, bucketed, budgeted, in_order, round_up
from softquery.data.corpus import (
    Corpus,
    corpus_fingerprint,
    is_corpus,
    read_corpus,
    write_corpus,
)
from softquery.data.document_corpus import (
    DocumentCorpus,
    document_fingerprint,
    is_document_corpus,
    read_documents,
    write_documents,
)
from softquery.data.document_text import DocumentText
from softquery.data.documents import DocumentBatch, Documents, DocumentShape, document_slots
from softquery.data.label_tensors import encode_labels
from softquery.data.lexicons import build_lexicon
from softquery.data.masking import (
    NONE,
    MaskedBatch,
    MaskedText,
    Masking,
    bin_rows,
    bin_slots,
)
from softquery.data.packed_tokens import PackedTokens
from softquery.data.pairs import (
    PairBatch,
    Pairs,
    encode_pairs,
    first_sentence,
    split_rows,
    take_share,
)
from softquery.data.pieces import (
    PieceBatch,
    PiecePairs,
    PieceWindows,
    WordPieceBatch,
    WordPieces,
    encode_piece_windows,
    joined_rows,
)
from softquery.data.questions import NO_ANSWER, QuestionBatch, Questions, encode_windows
from softquery.data.streams import StreamBatch, Streams, StreamSlots
from softquery.data.texts import TextBatch, Texts, encode_ids, encode_words
from softquery.data.tokens import Sentences, Tokens
from softquery.data.translations import TranslationBatch, Translations, encode_translations
from softquery.data.windows import Windows
from softquery.data.word_ids import WordIds

__all__ = [
    "NONE",
    "Corpus",
    "NO_ANSWER",
    "DocumentBatch",
    "DocumentCorpus",
    "DocumentText",
    "Documents",
    "MaskedBatch",
    "MaskedText",
    "Masking",
    "PackedTokens",
    "PairBatch",
    "Pairs",
    "PieceBatch",
    "PieceWindows",
    "PiecePairs",
    "QuestionBatch",
    "Questions",
    "Sentences",
    "DocumentShape",
    "Slot",
    "StreamBatch",
    "StreamSlots",
    "Streams",
    "TextBatch",
    "Texts",
    "Tokens",
    "WordIds",
    "WordPieceBatch",
    "WordPieces",
    "Windows",
    "TranslationBatch",
    "Translations",
    "bin_rows",
    "bin_slots",
    "bucketed",
    "budgeted",
    "build_lexicon",
    "document_slots",
    "encode_ids",
    "encode_labels",
    "encode_windows",
    "encode_piece_windows",
    "encode_pairs",
    "encode_translations",
    "encode_words",
    "first_sentence",
    "in_order",
    "corpus_fingerprint",
    "document_fingerprint",
    "is_document_corpus",
    "joined_rows",
    "read_documents",
    "write_documents",
    "is_corpus",
    "read_corpus",
    "round_up",
    "split_rows",
    "take_share",
    "write_corpus",
]
