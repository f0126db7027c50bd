"""Runs as values, and the only place where a model meets a task."""

import difflib
from collections.abc import Callable

from softquery.errors import ConfigError
from softquery.recipes import (
    bert,
    bert_tasks,
    classifying,
    language,
    matching,
    reading,
    tagging,
    translating,
    words,
)
from softquery.recipes.bert_run import BertRun, DocumentFiles, Pieces
from softquery.recipes.language_run import LanguageRun, StreamFiles, Targets
from softquery.recipes.overrides import override
from softquery.recipes.run import (
    BertSettings,
    ClassSettings,
    Files,
    Run,
    TagSettings,
    Vocabulary,
    WriteSettings,
)
from softquery.recipes.words import WordList, WordRun

AnyRun = Run | LanguageRun | BertRun | WordRun
"""What a recipe makes; `kinds` says what trains each."""

RECIPES: dict[str, Callable[[], AnyRun]] = {
    "esim": matching.esim,
    "esim-snli": matching.esim_snli,
    "esim-elmo": matching.esim_elmo,
    "esim-zh": matching.esim_zh,
    "esim-graded": matching.esim_graded,
    "nli-en": matching.nli_en,
    "match-en": matching.match_en,
    "match-zh": matching.match_zh,
    "siamese": matching.siamese,
    "siamese-snli": matching.siamese_snli,
    "siamese-graded": matching.siamese_graded,
    "esim-search": matching.esim_search,
    "siamese-search": matching.siamese_search,
    "tagger": tagging.tagger,
    "tagger-elmo": tagging.tagger_elmo,
    "pos": tagging.pos,
    "tagger-en": tagging.tagger_en,
    "attention-bilstm": classifying.attention_bilstm,
    "attention-bilstm-zh": classifying.attention_bilstm_zh,
    "attention-bilstm-elmo": classifying.attention_bilstm_elmo,
    "relations": classifying.relations,
    "hierarchical-attention": classifying.hierarchical_attention,
    "sentiment-en": classifying.sentiment_en,
    "translate": translating.translate,
    "translate-multi30k": translating.translate_multi30k,
    "translate-tatoeba": translating.translate_tatoeba,
    "translate-de-en": translating.translate_de_en,
    "translate-rnn": translating.translate_rnn,
    "translate-bahdanau": translating.translate_bahdanau,
    "translate-luong": translating.translate_luong,
    "couplet": translating.couplet,
    "couplet-zh": translating.couplet_zh,
    "reader": reading.reader,
    "reader-elmo": reading.reader_elmo,
    "read-en": reading.read_en,
    "reader-zh": reading.reader_zh,
    "elmo": language.elmo,
    "elmo-medium": language.elmo_medium,
    "elmo-small": language.elmo_small,
    "elmo-en": language.elmo_en,
    "bert-tiny": bert.bert_tiny,
    "bert-mini": bert.bert_mini,
    "bert-mini-en": bert.bert_mini_en,
    "bert-small": bert.bert_small,
    "bert-base": bert.bert_base,
    "bert-large": bert.bert_large,
    "bert-classify": bert_tasks.bert_classify,
    "bert-match": bert_tasks.bert_match,
    "bert-tag": bert_tasks.bert_tag,
    "bert-read": bert_tasks.bert_read,
    "word2vec": words.word2vec,
    "word2vec-cbow": words.word2vec_cbow,
}


def recipe(name: str) -> AnyRun:
    """The recipe of that name, or `ConfigError` naming the nearest one."""
    if name not in RECIPES:
        near = difflib.get_close_matches(name[:100].lower(), RECIPES, n=1, cutoff=0.3)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"unknown recipe {name!r:.100}{hint} (known: {', '.join(RECIPES)})")
    return RECIPES[name]()


__all__ = [
    "RECIPES",
    "AnyRun",
    "BertRun",
    "BertSettings",
    "DocumentFiles",
    "ClassSettings",
    "Files",
    "LanguageRun",
    "Pieces",
    "Run",
    "StreamFiles",
    "TagSettings",
    "Targets",
    "Vocabulary",
    "WordList",
    "WordRun",
    "WriteSettings",
    "override",
    "recipe",
]
