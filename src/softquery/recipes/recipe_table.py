"""Every recipe by its name."""

from collections.abc import Callable

from softquery.recipes import (
    bert,
    bert_finetuning,
    classify,
    elmo,
    few_labels,
    generate,
    match,
    read,
    tag,
    word2vec,
)
from softquery.recipes.bert import BertRun
from softquery.recipes.elmo import ElmoRun
from softquery.recipes.few_labels import FewLabelsRun
from softquery.recipes.run import Run
from softquery.recipes.word2vec import Word2VecRun

AnyRun = Run | ElmoRun | BertRun | Word2VecRun | FewLabelsRun
"""What a recipe makes; `softquery.running.train` says what trains each."""

RECIPES: dict[str, Callable[[], AnyRun]] = {
    "esim": match.esim,
    "esim-fast": match.esim_fast,
    "esim-snli": match.esim_snli,
    "decomposable-snli": match.decomposable_snli,
    "esim-elmo": match.esim_elmo,
    "esim-zh": match.esim_zh,
    "esim-graded": match.esim_graded,
    "nli-en": match.nli_en,
    "match-en": match.match_en,
    "match-zh": match.match_zh,
    "siamese": match.siamese,
    "siamese-snli": match.siamese_snli,
    "siamese-graded": match.siamese_graded,
    "esim-search": match.esim_search,
    "siamese-search": match.siamese_search,
    "tagger": tag.tagger,
    "tagger-elmo": tag.tagger_elmo,
    "pos": tag.pos,
    "tagger-en": tag.tagger_en,
    "attention-bilstm": classify.attention_bilstm,
    "attention-bilstm-zh": classify.attention_bilstm_zh,
    "attention-bilstm-elmo": classify.attention_bilstm_elmo,
    "relations": classify.relations,
    "hierarchical-attention": classify.hierarchical_attention,
    "sentiment-en": classify.sentiment_en,
    "classify-few": few_labels.classify_few,
    "translate": generate.translate,
    "translate-multi30k": generate.translate_multi30k,
    "translate-tatoeba": generate.translate_tatoeba,
    "translate-de-en": generate.translate_de_en,
    "translate-rnn": generate.translate_rnn,
    "translate-bahdanau": generate.translate_bahdanau,
    "translate-luong": generate.translate_luong,
    "couplet": generate.couplet,
    "couplet-zh": generate.couplet_zh,
    "couplet-rnn": generate.couplet_rnn,
    "couplet-rnn-every-step": generate.couplet_rnn_every_step,
    "couplet-bahdanau": generate.couplet_bahdanau,
    "couplet-luong": generate.couplet_luong,
    "reader": read.reader,
    "reader-elmo": read.reader_elmo,
    "read-en": read.read_en,
    "reader-zh": read.reader_zh,
    "elmo": elmo.elmo,
    "elmo-medium": elmo.elmo_medium,
    "elmo-small": elmo.elmo_small,
    "elmo-en": elmo.elmo_en,
    "bert-tiny": bert.bert_tiny,
    "bert-mini": bert.bert_mini,
    "bert-mini-en": bert.bert_mini_en,
    "bert-small": bert.bert_small,
    "bert-base": bert.bert_base,
    "bert-large": bert.bert_large,
    "bert-classify": bert_finetuning.bert_classify,
    "bert-match": bert_finetuning.bert_match,
    "bert-tag": bert_finetuning.bert_tag,
    "bert-read": bert_finetuning.bert_read,
    "word2vec": word2vec.word2vec,
    "word2vec-cbow": word2vec.word2vec_cbow,
    "word2vec-300": word2vec.word2vec_300,
    "word2vec-phrases": word2vec.word2vec_phrases,
}
