"""Bricks of models: embeddings, characters, recurrence, Transformer blocks, softmax, dropout."""

from softquery.nn.asking import PreparedAttention, ScoreName
from softquery.nn.bridge import Bridge
from softquery.nn.character_cnn import Activation, CharacterCnn
from softquery.nn.contexts import KnownContexts, sentence_keys
from softquery.nn.crf import Crf, Transitions, log_likelihood, log_partition, path_score
from softquery.nn.dropout import VariationalDropout
from softquery.nn.elmo_embedder import BiLm, ElmoEmbedder, ElmoSettings, Embedded
from softquery.nn.embedding import WordEmbedding
from softquery.nn.highway import Highway
from softquery.nn.layer_norm import LayerNorm
from softquery.nn.learned_query import LearnedQuery, PooledStates
from softquery.nn.lexicon import Lexicon
from softquery.nn.maxout import Maxout
from softquery.nn.mix import LayerMix
from softquery.nn.own_words import ScheduledSampling
from softquery.nn.placed_tokens import InputEmbedding
from softquery.nn.pooling import AttentivePool, max_pool, mean_pool
from softquery.nn.positions import PositionKind, Positions, sinusoids
from softquery.nn.projected_lstm import LstmStack, LstmState, ProjectedLstm, Way
from softquery.nn.reader import Direction, RecurrentEncoder, RecurrentOutput
from softquery.nn.recurrence import CellState, Recurrence, RecurrentCell
from softquery.nn.recurrent import BiRecurrent, Cell, beside, reverse_within
from softquery.nn.softmax import AdaptiveSoftmax, Sampler, WordSoftmax, log_uniform
from softquery.nn.span_head import NoAnswer, SpanHead, SpanOutput
from softquery.nn.spelling import SpellingConfig
from softquery.nn.spelt_words import CharacterLstm, SpeltWords
from softquery.nn.transformer import (
    BlockActivation,
    DecoderBlock,
    DecoderOutput,
    EncoderBlock,
    FeedForward,
    NormPlace,
    Weights,
    activated,
)
from softquery.nn.two_way import MeetingScore, TwoWayAttention, TwoWayOutput
from softquery.nn.word_head import WordHead
from softquery.nn.word_tables import Tie, WordTables
from softquery.nn.word_vectors import SpeltVectors, StoredVectors

__all__ = [
    "Activation",
    "AdaptiveSoftmax",
    "PooledStates",
    "PreparedAttention",
    "AttentivePool",
    "BiLm",
    "BiRecurrent",
    "BlockActivation",
    "Cell",
    "Bridge",
    "CellState",
    "CharacterCnn",
    "DecoderBlock",
    "DecoderOutput",
    "Direction",
    "CharacterLstm",
    "Crf",
    "ElmoEmbedder",
    "ElmoSettings",
    "Embedded",
    "EncoderBlock",
    "FeedForward",
    "Highway",
    "KnownContexts",
    "LayerMix",
    "LayerNorm",
    "LearnedQuery",
    "Lexicon",
    "LstmStack",
    "LstmState",
    "Maxout",
    "MeetingScore",
    "TwoWayOutput",
    "NoAnswer",
    "NormPlace",
    "ScheduledSampling",
    "InputEmbedding",
    "PositionKind",
    "Positions",
    "ProjectedLstm",
    "RecurrentOutput",
    "RecurrentEncoder",
    "Recurrence",
    "RecurrentCell",
    "Sampler",
    "ScoreName",
    "SpanHead",
    "SpanOutput",
    "SpellingConfig",
    "SpeltVectors",
    "SpeltWords",
    "StoredVectors",
    "Tie",
    "Transitions",
    "TwoWayAttention",
    "VariationalDropout",
    "Way",
    "Weights",
    "WordEmbedding",
    "WordHead",
    "WordSoftmax",
    "WordTables",
    "activated",
    "beside",
    "log_likelihood",
    "log_partition",
    "log_uniform",
    "max_pool",
    "mean_pool",
    "path_score",
    "reverse_within",
    "sentence_keys",
    "sinusoids",
]
