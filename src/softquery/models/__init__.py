"""One file per system; `registry` has the table from a name in `config.json` to its classes."""

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
from softquery.models.decomposable import Decomposable, DecomposableConfig
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
from softquery.models.mpnet import Mpnet, MpnetConfig, MpnetOutput
from softquery.models.outputs import ClassOutput, SentenceOutput, TagOutput
from softquery.models.pair_output import PairOutput
from softquery.models.pooled_encoder import PooledEncoder, PooledEncoderConfig
from softquery.models.registry import REGISTRY, ModelEntry, models_of, name_of
from softquery.models.sentence_encoders import (
    BertSentenceEncoder,
    BertSentenceEncoderConfig,
    MpnetSentenceEncoder,
    MpnetSentenceEncoderConfig,
)
from softquery.models.seq2seq import AskingConfig, Seq2Seq, Seq2SeqConfig
from softquery.models.siamese import Siamese, SiameseConfig
from softquery.models.tagger import BiLstmTagger, BiLstmTaggerConfig
from softquery.models.transformer import Looks, Transformer, TransformerConfig
from softquery.models.word2vec import WindowOutput, Word2Vec, Word2VecConfig
from softquery.nn import SpellingConfig

__all__ = [
    "PooledEncoder",
    "PooledEncoderConfig",
    "SentenceOutput",
    "REGISTRY",
    "ModelEntry",
    "models_of",
    "name_of",
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
    "BertSentenceEncoder",
    "BertSentenceEncoderConfig",
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
    "Decomposable",
    "DecomposableConfig",
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
    "Mpnet",
    "MpnetConfig",
    "MpnetOutput",
    "MpnetSentenceEncoder",
    "MpnetSentenceEncoderConfig",
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
