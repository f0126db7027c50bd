"""Every model that a bundle's `config.json` can name: the one table from a name to its classes.

To add a model, write its file and one entry here.
"""

from dataclasses import dataclass
from typing import Any

from torch import nn

from softquery.models.attentive import Attentive, AttentiveConfig, Hierarchical, HierarchicalConfig
from softquery.models.bert import Bert, BertConfig
from softquery.models.bert_heads import (
    BertClassifier,
    BertClassifierConfig,
    BertMatcher,
    BertMatcherConfig,
    BertReader,
    BertReaderConfig,
    BertTagger,
    BertTaggerConfig,
)
from softquery.models.bidaf import BiDaf, BiDafConfig
from softquery.models.decomposable import Decomposable, DecomposableConfig
from softquery.models.elmo import Elmo, ElmoConfig
from softquery.models.esim import Esim, EsimConfig
from softquery.models.pooled_encoder import PooledEncoder, PooledEncoderConfig
from softquery.models.sentence_encoders import (
    BertSentenceEncoder,
    BertSentenceEncoderConfig,
    MpnetSentenceEncoder,
    MpnetSentenceEncoderConfig,
)
from softquery.models.seq2seq import Seq2Seq, Seq2SeqConfig
from softquery.models.siamese import Siamese, SiameseConfig
from softquery.models.tagger import BiLstmTagger, BiLstmTaggerConfig
from softquery.models.transformer import Transformer, TransformerConfig
from softquery.models.word2vec import Word2Vec, Word2VecConfig


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelEntry:
    """What the library knows about a model besides its code."""

    config: type[Any]
    """Its settings, a dataclass."""
    module: type[nn.Module]
    """Built from a config, and from an embedder where it can have one inside."""
    kind: str
    """The kind of bundle that it is stored in."""
    structure: tuple[str, ...]
    """Settings that decide which weights there are and what they mean; `--init` takes them over.
    Sizes that follow from the data, dropout and the like are not among them."""
    output_layer: tuple[str, ...] = ()
    """Beginnings of the names of the weights whose outputs are the labels; none where no layer has
    as many outputs as there are labels."""

    @property
    def has_encoder(self) -> bool:
        """Whether it is a head on a pretrained encoder."""
        return "encoder" in self.structure


REGISTRY: dict[str, ModelEntry] = {
    "esim": ModelEntry(
        config=EsimConfig,
        module=Esim,
        kind="matcher",
        structure=("embedding_size", "hidden_size", "cell", "parts"),
        output_layer=("classifier.4.",),
    ),
    "decomposable": ModelEntry(
        config=DecomposableConfig,
        module=Decomposable,
        kind="matcher",
        structure=("embedding_size", "hidden_size", "max_distance"),
        output_layer=("classifier.4.",),
    ),
    "siamese": ModelEntry(
        config=SiameseConfig,
        module=Siamese,
        kind="matcher",
        structure=("embedding_size", "hidden_size", "cell", "pooling", "head"),
        output_layer=("head.layers.4.",),
    ),
    "pooled-encoder": ModelEntry(
        config=PooledEncoderConfig,
        module=PooledEncoder,
        kind="sentence-encoder",
        structure=(
            "output_size", "body", "embedding_size", "hidden_size", "cell", "num_layers",
            "num_heads", "pools", "window", "middle_size",
        ),
    ),
    "bert-sentence-encoder": ModelEntry(
        config=BertSentenceEncoderConfig,
        module=BertSentenceEncoder,
        kind="sentence-encoder",
        structure=("output_size", "pools", "dense", "length", "encoder"),
    ),
    "mpnet-sentence-encoder": ModelEntry(
        config=MpnetSentenceEncoderConfig,
        module=MpnetSentenceEncoder,
        kind="sentence-encoder",
        structure=("output_size", "pools", "dense", "length", "encoder"),
    ),
    "tagger": ModelEntry(
        config=BiLstmTaggerConfig,
        module=BiLstmTagger,
        kind="tagger",
        structure=("embedding_size", "hidden_sizes", "spelling", "decoder"),
        output_layer=("output.", "crf."),
    ),
    "attentive": ModelEntry(
        config=AttentiveConfig,
        module=Attentive,
        kind="classifier",
        structure=("embedding_size", "hidden_size", "cell", "merge"),
        output_layer=("output.",),
    ),
    "hierarchical": ModelEntry(
        config=HierarchicalConfig,
        module=Hierarchical,
        kind="classifier",
        structure=("embedding_size", "hidden_size", "cell", "context_size", "max_sentences"),
        output_layer=("output.",),
    ),
    "bidaf": ModelEntry(
        config=BiDafConfig,
        module=BiDaf,
        kind="reader",
        structure=(
            "embedding_size", "hidden_size", "spelling", "num_layers", "num_highways", "score",
        ),
    ),
    "bert-classifier": ModelEntry(
        config=BertClassifierConfig,
        module=BertClassifier,
        kind="classifier",
        structure=("encoder",),
        output_layer=("output.",),
    ),
    "bert-matcher": ModelEntry(
        config=BertMatcherConfig,
        module=BertMatcher,
        kind="matcher",
        structure=("encoder",),
        output_layer=("output.",),
    ),
    "bert-tagger": ModelEntry(
        config=BertTaggerConfig,
        module=BertTagger,
        kind="tagger",
        structure=("decoder", "encoder"),
        output_layer=("output.", "crf."),
    ),
    "bert-reader": ModelEntry(
        config=BertReaderConfig, module=BertReader, kind="reader", structure=("encoder",)
    ),
    "seq2seq": ModelEntry(
        config=Seq2SeqConfig,
        module=Seq2Seq,
        kind="generator",
        structure=(
            "embedding_size", "hidden_size", "cell", "num_layers", "tie", "direction", "context",
            "attention",
        ),
    ),
    "transformer": ModelEntry(
        config=TransformerConfig,
        module=Transformer,
        kind="generator",
        structure=(
            "hidden_size", "inner_size", "num_heads", "num_encoder_layers", "num_decoder_layers",
            "norm", "activation", "positions", "max_length", "tie",
        ),
    ),
    "elmo": ModelEntry(
        config=ElmoConfig,
        module=Elmo,
        kind="embedder",
        structure=(
            "reads", "num_words", "characters", "hidden_size", "projection_size", "num_layers",
            "residual", "way", "cell_clip", "projection_clip",
        ),
    ),
    "bert": ModelEntry(
        config=BertConfig,
        module=Bert,
        kind="encoder",
        structure=(
            "vocab_size", "hidden_size", "embedding_size", "num_layers", "num_heads", "inner_size",
            "max_length", "num_segments", "activation", "norm_eps",
        ),
    ),
    "word2vec": ModelEntry(config=Word2VecConfig, module=Word2Vec, kind="vectors", structure=()),
}  # fmt: skip
"""By the name that stands in `config.json`."""


def models_of(*kinds: str) -> dict[str, ModelEntry]:
    """The models that bundles of these kinds hold.

    >>> list(models_of("matcher"))
    ['esim', 'decomposable', 'siamese', 'bert-matcher']
    """
    return {name: entry for name, entry in REGISTRY.items() if entry.kind in kinds}


def name_of(config: object) -> str:
    """The name of the model that a config describes.

    >>> name_of(EsimConfig())
    'esim'

    Raises:
        TypeError: The table has no such model.
    """
    for name, entry in REGISTRY.items():
        if type(config) is entry.config:
            return name
    raise TypeError(f"no model is registered for {type(config).__name__}")
