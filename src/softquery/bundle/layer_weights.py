"""What a task has learnt to take from each layer of the biLM inside its model.

The mix of layers is γ Σ_j softmax(w)_j h_j (Peters et al. 2018, "Deep contextualized word
representations", Section 3.2, Eq. 1): one w_j per layer, the same for every word. So a few numbers
say what the task reads, and a card can show them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softquery.bundle.card import table_lines
from softquery.bundle.opening import Array, Bundle, check_weights, read_weights
from softquery.bundle.writing import with_section
from softquery.numpy_softmax import softmax

TITLE = "Layers of the biLM"
"""The heading of the card's section."""
_MIX = re.compile(r"embedder\.mixes\.(input|output)\.(?:weights|scale)")
_NOTE = (
    "The share of each layer, after the softmax, and the scale γ (Peters et al. 2018, Eq. 1), as "
    "the task has learnt them. Layer 0 reads the characters of a word and sees no context."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerShares:
    """One mix of a biLM's layers.

    Attributes:
        place: Where the model reads it: at its `"input"`, or beside its encoder's states,
            `"output"`.
        shares: What each layer counts for, the lowest first; they sum to one. A single one is that
            of the highest layer.
        scale: γ.
    """

    place: str
    shares: tuple[float, ...]
    scale: float


def layer_shares(weights: Mapping[str, Array]) -> list[LayerShares]:
    """The mixes among a model's weights; none where no biLM is inside.

    >>> [mix] = layer_shares({"embedder.mixes.input.weights": np.log([1.0, 3.0]),
    ...                       "embedder.mixes.input.scale": np.array(0.5)})
    >>> mix.place, [round(share, 2) for share in mix.shares], mix.scale
    ('input', [0.25, 0.75], 0.5)
    """
    found = []
    for place in ("input", "output"):
        name = f"embedder.mixes.{place}"
        learnt, scale = weights.get(f"{name}.weights"), weights.get(f"{name}.scale")
        if learnt is None or scale is None or not _is_mix(learnt, scale):
            continue
        shares = softmax(learnt.astype(np.float64)).tolist()
        found.append(LayerShares(place=place, shares=tuple(shares), scale=float(scale.item())))
    return found


def _is_mix(learnt: Array, scale: Array) -> bool:
    """Whether these are the numbers of a mix: a bundle may come from anybody."""
    is_shaped = learnt.ndim == 1 and learnt.size > 0 and scale.size == 1
    return is_shaped and bool(np.isfinite(learnt).all() and np.isfinite(scale).all())


def learnt_layers(bundle: Bundle) -> list[LayerShares]:
    """The mixes that a bundle holds; nothing else of its weights is read.

    Raises:
        BundleError: The file of weights is damaged.
    """
    names = [name for name in check_weights(bundle.weights_path) if _MIX.fullmatch(name)]
    return layer_shares(read_weights(bundle.weights_path, names)) if names else []


def with_layers(card: str, mixes: list[LayerShares]) -> str:
    """A card that shows the mixes; as it is where there are none.

    >>> with_layers("# cats", [])
    '# cats'
    """
    return with_section(card, TITLE, layer_lines(mixes)) if mixes else card


def layer_lines(mixes: list[LayerShares]) -> list[str]:
    """The card's section about the mixes, one row for each.

    >>> mix = LayerShares(place="input", shares=(0.156, 0.688, 0.156), scale=0.934)
    >>> layer_lines([mix])[0]
    '| read at | layer 0 | layer 1 | layer 2 | γ |'
    """
    size = max(len(mix.shares) for mix in mixes)
    names = [f"layer {layer}" for layer in range(size)] if size > 1 else ["the highest layer"]
    rows = [(mix.place, *_cells(mix.shares, size), f"{mix.scale:.2f}") for mix in mixes]
    return [*table_lines(("read at", *names, "γ"), rows), "", _NOTE]


def _cells(shares: tuple[float, ...], size: int) -> list[str]:
    """The shares as they are shown, the highest layer's last."""
    return [*[""] * (size - len(shares)), *(f"{share:.2f}" for share in shares)]
