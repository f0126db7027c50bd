"""Bricks of models: embedding, recurrence, pooling, dropout."""

from softquery.nn.dropout import VariationalDropout
from softquery.nn.embedding import WordEmbedding
from softquery.nn.pooling import AttentivePool, max_pool, mean_pool
from softquery.nn.recurrent import BiRecurrent, Cell, reverse_within

__all__ = [
    "AttentivePool",
    "BiRecurrent",
    "Cell",
    "VariationalDropout",
    "WordEmbedding",
    "max_pool",
    "mean_pool",
    "reverse_within",
]
