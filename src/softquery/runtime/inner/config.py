"""A biLM inside another model, as a bundle's config describes it. Needs torch."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from softquery.bundle import Bundle
from softquery.models import Elmo
from softquery.nn import ElmoEmbedder, ElmoSettings
from softquery.runtime.base_bundle import open_base
from softquery.runtime.graph_weights import Array, Weights
from softquery.runtime.inner.reads import NESTED, PREFIX

KEY = NESTED


@dataclass(frozen=True, kw_only=True, slots=True)
class InnerEmbedder:
    """An embedder as plain values: what it is, how it is used, and how many words it can spell."""

    name: str
    config: dict[str, Any]
    settings: dict[str, Any]
    num_types: int
    """Words of a closed vocabulary that it spells; none where batches bring a lexicon."""
    word_size: int
    ends: str
    num_words: int | None = None
    """Rows of the table of words; as many as there are types by default."""

    def build(
        self,
        build_bilm: Callable[[str, dict[str, Any]], Elmo],
        build_settings: Callable[[dict[str, Any]], ElmoSettings],
    ) -> ElmoEmbedder:
        """The brick with random weights; its words are spelt by what is then loaded into it."""
        bilm = build_bilm(self.name, self.config)
        longest = bilm.config.characters.max_characters
        return build_settings(self.settings).embedder(
            bilm,
            torch.zeros(self.num_types, longest, dtype=torch.int16),
            word_size=self.word_size,
            ends=self.ends,  # type: ignore[arg-type]
            num_words=self.num_words,
        )


def describe(embedder: ElmoEmbedder) -> dict[str, Any]:
    """What a bundle's config says of a nested biLM; its softmax stays behind."""
    bilm, words = embedder.bilm, embedder.words
    if not isinstance(bilm, Elmo) or embedder.settings is None:
        raise TypeError("only an embedder that settings have made can be described")
    nested = InnerEmbedder(
        name="elmo",
        config={**asdict(bilm.config), "softmax": {"kind": "none"}},
        settings={**asdict(embedder.settings), "bundle": Path(embedder.settings.bundle).name},
        num_types=len(embedder.characters),
        word_size=0 if words is None else words.output_size,
        ends=embedder.ends,
        num_words=None if words is None else words.table.num_embeddings,
    )
    return asdict(nested)


def with_base(bundle: Bundle, weights: Weights) -> dict[str, Array]:
    """A head's weights, and those of the biLM that it was trained on, which it does not hold."""
    found = open_base(bundle)
    if found is None:
        return dict(weights)
    return {**weights, **{f"{PREFIX}{name}": values for name, values in found[1].items()}}
