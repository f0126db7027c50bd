"""Rows to typed, length-bucketed batches of tensors."""

from softquery.data.buckets import (
    Slot,
    bucketed,
    budgeted,
    in_order,
    round_up,
)
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
from softquery.data.document_text import (
    DocumentText,
)
from softquery.data.documents import (
    DocumentBatch,
    Documents,
    DocumentShape,
    document_slots,
)
from softquery.data.labelled_texts import (
    TextBatch,
    Texts,
    encode_ids,
    encode_words,
)
from softquery.data.masking import (
    NONE,
    MaskedBatch,
    MaskedText,
    Masking,
    bin_rows,
    bin_slots,
)
from softquery.data.pairs import (
    NO_LABEL,
    PairBatch,
    Pairs,
    encode_pairs,
    first_sentence,
    split_rows,
    take_share,
)
from softquery.data.piece_rows import (
    PieceBatch,
    PiecePairs,
    PieceWindows,
    WordPieceBatch,
    WordPieces,
    encode_piece_windows,
    joined_rows,
)
from softquery.data.questions import (
    NO_ANSWER,
    QuestionBatch,
    Questions,
    encode_windows,
)
from softquery.data.streams import (
    StreamBatch,
    Streams,
    StreamSlots,
    Windows,
)
from softquery.data.taught_texts import (
    TaughtBatch,
    TaughtTexts,
)
from softquery.data.tokens import (
    PackedTokens,
    Sentences,
    Tokens,
    WordIds,
    build_lexicon,
    encode_labels,
)
from softquery.data.translations import (
    TranslationBatch,
    Translations,
    encode_translations,
)

__all__ = [
    "NO_LABEL",
    "Corpus",
    "DocumentBatch",
    "DocumentCorpus",
    "DocumentShape",
    "DocumentText",
    "Documents",
    "MaskedBatch",
    "MaskedText",
    "Masking",
    "NONE",
    "NO_ANSWER",
    "PackedTokens",
    "PairBatch",
    "Pairs",
    "PieceBatch",
    "PieceWindows",
    "PiecePairs",
    "QuestionBatch",
    "Questions",
    "Sentences",
    "Slot",
    "StreamBatch",
    "StreamSlots",
    "Streams",
    "TaughtBatch",
    "TaughtTexts",
    "TextBatch",
    "Texts",
    "Tokens",
    "TranslationBatch",
    "Translations",
    "Windows",
    "WordIds",
    "WordPieceBatch",
    "WordPieces",
    "bin_rows",
    "bin_slots",
    "bucketed",
    "budgeted",
    "build_lexicon",
    "corpus_fingerprint",
    "document_fingerprint",
    "document_slots",
    "encode_ids",
    "encode_labels",
    "encode_windows",
    "encode_pairs",
    "encode_piece_windows",
    "encode_translations",
    "encode_words",
    "first_sentence",
    "in_order",
    "is_corpus",
    "is_document_corpus",
    "joined_rows",
    "read_corpus",
    "read_documents",
    "round_up",
    "split_rows",
    "take_share",
    "write_corpus",
    "write_documents",
]
