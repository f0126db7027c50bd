"""One file a system. `MODELS` and the like: from a name in a bundle's config to what builds it."""

from softquery.models.attentive import (
    Attentive,
    AttentiveConfig,
    ClassOutput,
    Hierarchical,
    HierarchicalConfig,
)
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
from softquery.models.tagger import SpellingConfig, Tagger, TaggerConfig, TagOutput

MODELS: dict[str, tuple[type[EsimConfig] | type[SiameseConfig], type[Esim] | type[Siamese]]] = {
    "esim": (EsimConfig, Esim),
    "siamese": (SiameseConfig, Siamese),
}

TEXT_MODELS: dict[str, tuple[type[TaggerConfig], type[Tagger]]] = {"tagger": (TaggerConfig, Tagger)}
"""Likewise for models that read one text."""

CLASSIFIERS: dict[
    str,
    tuple[type[AttentiveConfig] | type[HierarchicalConfig], type[Attentive] | type[Hierarchical]],
] = {
    "attentive": (AttentiveConfig, Attentive),
    "hierarchical": (HierarchicalConfig, Hierarchical),
}
"""Likewise for models that give a whole text a class."""

EMBEDDERS: dict[str, tuple[type[ElmoConfig], type[Elmo]]] = {"elmo": (ElmoConfig, Elmo)}
"""Likewise for models that give words vectors."""

__all__ = [
    "CLASSIFIERS",
    "EMBEDDERS",
    "MODELS",
    "TEXT_MODELS",
    "Attentive",
    "AttentiveConfig",
    "BiLmState",
    "CharacterConfig",
    "ClassOutput",
    "Contextual",
    "Elmo",
    "ElmoConfig",
    "Esim",
    "EsimConfig",
    "Hierarchical",
    "HierarchicalConfig",
    "LanguageModelOutput",
    "PairOutput",
    "Siamese",
    "SiameseConfig",
    "SoftmaxConfig",
    "SpellingConfig",
    "TagOutput",
    "Tagger",
    "TaggerConfig",
]
