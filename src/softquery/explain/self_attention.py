"""Whom each token of one text asked, in every layer and head of an encoder.

T tokens, L layers, H heads.
"""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError
from softquery.explain.alignment import StrongestLinks, shortest_floats, strongest_partners
from softquery.explain.lettering import shortened

Weights = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SelfAttention:
    """The weights with which every token of a text asks every token of it.

    >>> shown = SelfAttention(text="it sat", tokens=("it", "sat"),
    ...                       weights=np.array([[[[0.1, 0.9], [0.5, 0.5]]]]))
    >>> print(shown.strongest(top=1)[0])
    it: sat 0.90
    """

    text: str
    """The text, as given."""
    tokens: tuple[str, ...]
    """What the model read, the marks at both ends among them."""
    weights: Weights
    """[L, H, T, T]: the row of a token says whom it asks, and adds up to 1."""
    model: str = ""

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.float32)
        num = len(self.tokens)
        if weights.ndim != 4 or weights.shape[-2:] != (num, num) or not weights.size:
            raise ValueError(f"weights must be [L, H, {num}, {num}], got {list(weights.shape)}")
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError("weights must be at least 0, but some are not")
        weights.setflags(write=False)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "tokens", tuple(self.tokens))

    def __repr__(self) -> str:
        num_layers, num_heads = self.weights.shape[:2]
        what = f"{shortened(self.text)!r}, layers={num_layers}, heads={num_heads}"
        return f"{type(self).__name__}({what})"

    def _repr_html_(self) -> str:
        """The picture of `plot`, as notebooks show it."""
        from softquery.explain.maps.maps_svg import self_svg  # imports this module
        from softquery.explain.notebook import picture_html

        return picture_html(self_svg(self), f"Whom the tokens of “{self.text}” asked")

    @property
    def source_tokens(self) -> tuple[str, ...]:
        """The tokens that are asked: all of them."""
        return self.tokens

    @property
    def mean(self) -> Weights:
        """[T, T]: the weights averaged over layers and heads."""
        found: Weights = self.weights.mean(axis=(0, 1))
        return found

    def heads(self) -> list[tuple[str, Weights]]:
        """The weights of every layer and head, with a name."""
        return [
            (f"layer {layer + 1}, head {head + 1}", weights)
            for layer, heads in enumerate(self.weights)
            for head, weights in enumerate(heads)
        ]

    def chosen(self, layer: int | None = None, head: int | None = None) -> Weights:
        """[T, T]: one layer's mean, one head of one layer, or the mean of everything.

        Args:
            layer: From 1; None for all.
            head: From 1, of that layer; None for all.

        Raises:
            InputError: The model has no such layer or head, or a head is named without its layer.
        """
        num_layers, num_heads = self.weights.shape[:2]
        for name, number, most in (("layer", layer, num_layers), ("head", head, num_heads)):
            if number is not None and not 1 <= number <= most:
                raise InputError(f"{name} must be from 1 to {most}, got {number}")
        if head is not None and layer is None:
            raise InputError("name the layer of the head, too")
        some = self.weights if layer is None else self.weights[layer - 1 : layer]
        some = some if head is None else some[:, head - 1 : head]
        found: Weights = some.mean(axis=(0, 1))
        return found

    def strongest(
        self, top: int = 3, *, layer: int | None = None, head: int | None = None
    ) -> tuple[StrongestLinks, ...]:
        """For each token, those that it asked most; see `chosen`."""
        return strongest_partners(self.tokens, self.tokens, self.chosen(layer, head), top=top)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, floats and strings under the names of the fields, ready for JSON."""
        nested = [[shortest_floats(head) for head in layer] for layer in self.weights]
        names = {"text": self.text, "tokens": list(self.tokens), "model": self.model}
        return {**names, "weights": nested}

    def plot(self, path: str | PathLike[str]) -> Path:
        """Write a picture (.svg, .png), a page (.html) or data (.json), atomically."""
        from softquery.explain.write import write_explanation  # imports this module

        return write_explanation(self, path)
