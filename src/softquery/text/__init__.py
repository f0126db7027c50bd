"""Strings to ids: normalise, segment, number; the same in training and at run time."""

from softquery.text.bert import CONTINUATION, bert_vocabulary
from softquery.text.build import build_pipeline, pipeline_from_pieces, pipeline_from_words
from softquery.text.couplets import (
    OPPOSITE,
    Tone,
    first_places,
    is_han,
    is_sign,
    last_word,
    tone_of,
)
from softquery.text.ngrams import ngram_buckets
from softquery.text.normalise import normalise, visible_form
from softquery.text.parts import in_parts, rejoined
from softquery.text.pipeline import Encoded, TextPipeline
from softquery.text.sentence_split import sentence_spans, split_sentences
from softquery.text.spelling import (
    MAX_CHARACTERS,
    NUM_CHARACTERS,
    spell,
    spell_bytes,
    spell_sentences,
    spell_tokens,
    spell_vocabulary,
    unspell,
)
from softquery.text.text_config import SUBWORDS, TextConfig, UnicodeForm, Unit
from softquery.text.text_reading import Reading, ReadText, Tokens
from softquery.text.vocabulary import (
    BERT_CLS,
    BERT_MASK,
    BERT_PAD,
    BERT_RESERVED,
    BERT_SEP,
    BERT_UNK,
    BOS,
    BOS_ID,
    CLS,
    EOS,
    EOS_ID,
    MASK,
    PAD,
    PAD_ID,
    SEP,
    UNK,
    UNK_ID,
    reserved_tokens,
)
from softquery.text.word_cutting import WordCutter
from softquery.text.word_pieces import PieceRow, WordCutting

__all__ = [
    "PieceRow",
    "WordCutting",
    "BERT_CLS",
    "BERT_MASK",
    "BERT_PAD",
    "BERT_RESERVED",
    "BERT_SEP",
    "BERT_UNK",
    "BOS",
    "BOS_ID",
    "CLS",
    "CONTINUATION",
    "EOS",
    "EOS_ID",
    "MASK",
    "MAX_CHARACTERS",
    "NUM_CHARACTERS",
    "PAD",
    "PAD_ID",
    "SEP",
    "SUBWORDS",
    "UNK",
    "UNK_ID",
    "Encoded",
    "ReadText",
    "Reading",
    "TextConfig",
    "TextPipeline",
    "Tokens",
    "UnicodeForm",
    "Unit",
    "WordCutter",
    "bert_vocabulary",
    "build_pipeline",
    "ngram_buckets",
    "in_parts",
    "normalise",
    "pipeline_from_pieces",
    "pipeline_from_words",
    "rejoined",
    "reserved_tokens",
    "sentence_spans",
    "spell",
    "spell_bytes",
    "spell_sentences",
    "spell_tokens",
    "spell_vocabulary",
    "split_sentences",
    "unspell",
    "visible_form",
    "OPPOSITE",
    "Tone",
    "first_places",
    "is_han",
    "is_sign",
    "last_word",
    "tone_of",
]
