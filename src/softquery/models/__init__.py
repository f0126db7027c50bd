"""One file a system. `MODELS` and the like: from a name in a bundle's config to what builds it."""

from softquery.models.attentive import (
    Attentive,
    AttentiveConfig,
    Hierarchical,
    HierarchicalConfig,
)
from softquery.models.bert import Bert, BertConfig, BertOutput, MaskedOutput
from softquery.models.bert_heads import (
    BertClassifier,
    BertClassifierConfig,
    BertHead,
    BertHeadConfig,
    BertMatcher,
    BertMatcherConfig,
    BertReader,
    BertReaderConfig,
    BertTagger,
    BertTaggerConfig,
)
from softquery.models.bidaf import BiDaf, BiDafConfig
from softquery.models.elmo import (
    BiLmState,
    CharacterConfig,
    Contextual,
    Elmo,
    ElmoConfig,
    LanguageModelOutput,
    SoftmaxConfig,
)
from softquery.models.esim import Esim, EsimConfig
from softquery.models.generator import (
    GeneratorModel,
    GeneratorOutput,
    Stepped,
    TorchState,
    TorchStep,
    generate,
    select_rows,
)
from softquery.models.outputs import ClassOutput, TagOutput
from softquery.models.pair_output import PairOutput
from softquery.models.seq2seq import AskingConfig, Seq2Seq, Seq2SeqConfig
from softquery.models.siamese import Siamese, SiameseConfig
from softquery.models.tagger import BiLstmTagger, BiLstmTaggerConfig
from softquery.models.transformer import Looks, Transformer, TransformerConfig
from softquery.models.word2vec import WindowOutput, Word2Vec, Word2VecConfig
from softquery.nn import SpellingConfig

MODELS: dict[str, tuple[type[EsimConfig] | type[SiameseConfig], type[Esim] | type[Siamese]]] = {
    "esim": (EsimConfig, Esim),
    "siamese": (SiameseConfig, Siamese),
}

TEXT_MODELS: dict[str, tuple[type[BiLstmTaggerConfig], type[BiLstmTagger]]] = {
    "tagger": (BiLstmTaggerConfig, BiLstmTagger)
}
"""Likewise for models that read one text."""

CLASSIFIERS: dict[
    str,
    tuple[type[AttentiveConfig] | type[HierarchicalConfig], type[Attentive] | type[Hierarchical]],
] = {
    "attentive": (AttentiveConfig, Attentive),
    "hierarchical": (HierarchicalConfig, Hierarchical),
}
"""Likewise for models that give a whole text a class."""

READERS: dict[str, tuple[type[BiDafConfig], type[BiDaf]]] = {"bidaf": (BiDafConfig, BiDaf)}
"""Likewise for models that answer questions about a context."""

EMBEDDERS: dict[str, tuple[type[ElmoConfig], type[Elmo]]] = {"elmo": (ElmoConfig, Elmo)}
"""Likewise for models that give words vectors in their context."""

ENCODERS: dict[str, tuple[type[BertConfig], type[Bert]]] = {"bert": (BertConfig, Bert)}
"""Likewise for models that are pretrained on text and then given a head for a task."""

BERT_HEADS: dict[str, tuple[type[BertHeadConfig], type[BertHead]]] = {
    "bert-classifier": (BertClassifierConfig, BertClassifier),
    "bert-matcher": (BertMatcherConfig, BertMatcher),
    "bert-tagger": (BertTaggerConfig, BertTagger),
    "bert-reader": (BertReaderConfig, BertReader),
}
"""Likewise for such heads, each with its encoder."""

GENERATORS: dict[
    str, tuple[type[Seq2SeqConfig] | type[TransformerConfig], type[Seq2Seq] | type[Transformer]]
] = {"seq2seq": (Seq2SeqConfig, Seq2Seq), "transformer": (TransformerConfig, Transformer)}
"""Likewise for models that write."""

__all__ = [
    "BERT_HEADS",
    "CLASSIFIERS",
    "EMBEDDERS",
    "ENCODERS",
    "GENERATORS",
    "MODELS",
    "READERS",
    "TEXT_MODELS",
    "AskingConfig",
    "Bert",
    "BertClassifier",
    "BertClassifierConfig",
    "BertConfig",
    "BertHead",
    "BertHeadConfig",
    "BertMatcher",
    "BertMatcherConfig",
    "BertReader",
    "BertReaderConfig",
    "BertTagger",
    "BertTaggerConfig",
    "BertOutput",
    "Attentive",
    "AttentiveConfig",
    "BiDaf",
    "BiDafConfig",
    "BiLmState",
    "CharacterConfig",
    "ClassOutput",
    "Contextual",
    "Elmo",
    "ElmoConfig",
    "Esim",
    "EsimConfig",
    "GeneratorModel",
    "GeneratorOutput",
    "Hierarchical",
    "HierarchicalConfig",
    "LanguageModelOutput",
    "Looks",
    "MaskedOutput",
    "PairOutput",
    "Seq2Seq",
    "Seq2SeqConfig",
    "Siamese",
    "SiameseConfig",
    "SoftmaxConfig",
    "WindowOutput",
    "Word2Vec",
    "Word2VecConfig",
    "SpellingConfig",
    "Stepped",
    "TagOutput",
    "BiLstmTagger",
    "BiLstmTaggerConfig",
    "TorchState",
    "TorchStep",
    "Transformer",
    "TransformerConfig",
    "generate",
    "select_rows",
]
