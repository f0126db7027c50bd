"""Rows and word vectors from any file, and files that appear whole or not at all."""

from softquery.files.columns import parse_columns
from softquery.files.conllu import TaggedSentence, find_conllu, read_conllu
from softquery.files.opening import LONGEST_LINE, TextLines, open_text
from softquery.files.row import Row
from softquery.files.rows import find_split, read_rows
from softquery.files.senses import (
    Sensed,
    SensedSentence,
    find_senses,
    read_semcor,
    read_sense_task,
)
from softquery.files.table import Coverage, fill_table
from softquery.files.texts import find_texts, fingerprint, read_texts
from softquery.files.vectors import WordVectors, read_vectors, write_vectors
from softquery.whole import whole_folder, write_bytes, write_json, write_text, write_whole

__all__ = [
    "LONGEST_LINE",
    "Coverage",
    "Row",
    "Sensed",
    "SensedSentence",
    "TaggedSentence",
    "TextLines",
    "WordVectors",
    "fill_table",
    "find_conllu",
    "find_senses",
    "find_split",
    "find_texts",
    "fingerprint",
    "open_text",
    "parse_columns",
    "read_conllu",
    "read_rows",
    "read_semcor",
    "read_sense_task",
    "read_texts",
    "read_vectors",
    "whole_folder",
    "write_bytes",
    "write_json",
    "write_text",
    "write_vectors",
    "write_whole",
]
