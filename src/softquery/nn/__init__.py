"""Bricks of models: embedding, characters, recurrence, pooling, mixing, softmax, dropout."""

from softquery.nn.character_cnn import Activation, CharacterCnn
from softquery.nn.crf import Crf, Transitions, log_likelihood, log_partition, path_score
from softquery.nn.dropout import VariationalDropout
from softquery.nn.elmo_embedder import BiLm, ElmoEmbedder, ElmoSettings, Embedded
from softquery.nn.embedding import WordEmbedding
from softquery.nn.highway import Highway
from softquery.nn.learned_query import Asked, LearnedQuery
from softquery.nn.lexicon import Lexicon
from softquery.nn.mix import LayerMix
from softquery.nn.pooling import AttentivePool, max_pool, mean_pool
from softquery.nn.projected_lstm import LstmStack, LstmState, ProjectedLstm, Way
from softquery.nn.recurrent import BiRecurrent, Cell, beside, reverse_within
from softquery.nn.softmax import AdaptiveSoftmax, Sampler, WordSoftmax, log_uniform
from softquery.nn.spelt_words import CharacterLstm, SpeltWords
from softquery.nn.word_vectors import SpeltVectors, StoredVectors

__all__ = [
    "Activation",
    "AdaptiveSoftmax",
    "Asked",
    "AttentivePool",
    "BiLm",
    "BiRecurrent",
    "Cell",
    "CharacterCnn",
    "CharacterLstm",
    "Crf",
    "ElmoEmbedder",
    "ElmoSettings",
    "Embedded",
    "Highway",
    "LayerMix",
    "LearnedQuery",
    "Lexicon",
    "LstmStack",
    "LstmState",
    "ProjectedLstm",
    "Sampler",
    "SpeltVectors",
    "SpeltWords",
    "StoredVectors",
    "Transitions",
    "VariationalDropout",
    "Way",
    "WordEmbedding",
    "WordSoftmax",
    "beside",
    "log_likelihood",
    "log_partition",
    "log_uniform",
    "max_pool",
    "mean_pool",
    "path_score",
    "reverse_within",
]
