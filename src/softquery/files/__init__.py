"""Rows, texts, annotations and word vectors from any file; files that are written atomically."""

from softquery.atomic import atomic_folder, write_atomically, write_bytes, write_json, write_text
from softquery.files.corpus_file import CorpusFile, open_corpus_file, write_corpus_file
from softquery.files.corpus_ids import Phrases
from softquery.files.npz import NpzEntries
from softquery.files.plain_text import (
    DocumentLine,
    Sentence,
    find_shards,
    find_texts,
    fingerprint,
    read_lines,
    read_sentences,
    read_texts,
)
from softquery.files.row import Row, TaggedSentence, UntaggedText, parse_columns
from softquery.files.row_files import find_split, read_aligned, read_rows
from softquery.files.senses import (
    SensedSentence,
    SenseMention,
    find_senses,
    read_semcor,
    read_sense_task,
)
from softquery.files.spreadsheet_cells import shown_cell
from softquery.files.squad import (
    NOWHERE,
    QUESTION_FORMS,
    AskedQuestion,
    GoldAnswer,
    read_questions,
)
from softquery.files.table import Coverage, fill_table
from softquery.files.tagged_sentences import TAGGED_FORMS, read_tagged, read_untagged
from softquery.files.text_lines import (
    LONGEST_LINE,
    LONGEST_TEXT,
    TextLines,
    open_text,
    running_text,
)
from softquery.files.vector_files import (
    VectorTable,
    read_vectors,
    read_vectors_and_ngrams,
    write_vectors,
)

__all__ = [
    "shown_cell",
    "read_aligned",
    "LONGEST_LINE",
    "LONGEST_TEXT",
    "NOWHERE",
    "QUESTION_FORMS",
    "TAGGED_FORMS",
    "AskedQuestion",
    "Coverage",
    "DocumentLine",
    "GoldAnswer",
    "NpzEntries",
    "CorpusFile",
    "Phrases",
    "Row",
    "SenseMention",
    "SensedSentence",
    "Sentence",
    "TaggedSentence",
    "TextLines",
    "UntaggedText",
    "VectorTable",
    "fill_table",
    "find_shards",
    "find_senses",
    "find_split",
    "find_texts",
    "fingerprint",
    "open_corpus_file",
    "open_text",
    "parse_columns",
    "read_lines",
    "read_questions",
    "read_rows",
    "read_sentences",
    "read_semcor",
    "read_sense_task",
    "read_tagged",
    "read_untagged",
    "read_texts",
    "read_vectors",
    "read_vectors_and_ngrams",
    "running_text",
    "atomic_folder",
    "write_bytes",
    "write_json",
    "write_corpus_file",
    "write_text",
    "write_vectors",
    "write_atomically",
]
