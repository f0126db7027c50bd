"""One file a system. `MODELS` maps the name in a matcher's config to what builds it."""

from softquery.models.esim import Esim, EsimConfig
from softquery.models.pair_output import PairOutput
from softquery.models.siamese import Siamese, SiameseConfig
from softquery.models.word2vec import WindowOutput, Word2Vec, Word2VecConfig

MODELS: dict[str, tuple[type[EsimConfig] | type[SiameseConfig], type[Esim] | type[Siamese]]] = {
    "esim": (EsimConfig, Esim),
    "siamese": (SiameseConfig, Siamese),
}

__all__ = [
    "MODELS",
    "Esim",
    "EsimConfig",
    "PairOutput",
    "Siamese",
    "SiameseConfig",
    "WindowOutput",
    "Word2Vec",
    "Word2VecConfig",
]
