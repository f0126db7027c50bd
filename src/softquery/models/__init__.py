"""One file a system. `MODELS`, `EMBEDDERS`: from a name in a bundle's config to what builds it."""

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
from softquery.models.pair_output import PairOutput
from softquery.models.siamese import Siamese, SiameseConfig
from softquery.models.word2vec import WindowOutput, Word2Vec, Word2VecConfig

MODELS: dict[str, tuple[type[EsimConfig] | type[SiameseConfig], type[Esim] | type[Siamese]]] = {
    "esim": (EsimConfig, Esim),
    "siamese": (SiameseConfig, Siamese),
}

EMBEDDERS: dict[str, tuple[type[ElmoConfig], type[Elmo]]] = {"elmo": (ElmoConfig, Elmo)}
"""Likewise for models that give words vectors in their context."""

__all__ = [
    "EMBEDDERS",
    "MODELS",
    "BiLmState",
    "CharacterConfig",
    "Contextual",
    "Elmo",
    "ElmoConfig",
    "Esim",
    "EsimConfig",
    "LanguageModelOutput",
    "PairOutput",
    "Siamese",
    "SiameseConfig",
    "SoftmaxConfig",
    "WindowOutput",
    "Word2Vec",
    "Word2VecConfig",
]
