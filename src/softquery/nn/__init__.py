"""Bricks of models: embedding, characters, recurrence, pooling, mixing, softmax, dropout."""

from softquery.nn.character_cnn import Activation, CharacterCnn
from softquery.nn.dropout import VariationalDropout
from softquery.nn.elmo_embedder import BiLm, ElmoEmbedder, ElmoSettings, Embedded
from softquery.nn.embedding import WordEmbedding
from softquery.nn.highway import Highway
from softquery.nn.mix import LayerMix
from softquery.nn.pooling import AttentivePool, max_pool, mean_pool
from softquery.nn.projected_lstm import LstmStack, LstmState, ProjectedLstm, Way
from softquery.nn.recurrent import BiRecurrent, Cell, beside, reverse_within
from softquery.nn.softmax import AdaptiveSoftmax, Sampler, WordSoftmax, log_uniform
from softquery.nn.word_vectors import SpeltVectors, StoredVectors

__all__ = [
    "Activation",
    "AdaptiveSoftmax",
    "AttentivePool",
    "BiLm",
    "BiRecurrent",
    "Cell",
    "CharacterCnn",
    "ElmoEmbedder",
    "ElmoSettings",
    "Embedded",
    "Highway",
    "LayerMix",
    "LstmStack",
    "LstmState",
    "ProjectedLstm",
    "Sampler",
    "SpeltVectors",
    "StoredVectors",
    "VariationalDropout",
    "Way",
    "WordEmbedding",
    "WordSoftmax",
    "beside",
    "log_uniform",
    "max_pool",
    "mean_pool",
    "reverse_within",
]
