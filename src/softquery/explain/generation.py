"""The attention of each generated token to the tokens of the source.

T generated tokens, S tokens of the source, L layers, H heads.
"""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.explain.alignment import StrongestLinks, shortest_floats, strongest_partners
from softquery.explain.lettering import shortened

Weights = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GenerationAlignment:
    """The attention of every generated token, the end token included, to the source.

    >>> alignment = GenerationAlignment(
    ...     source="ein Mann", text="a man", source_tokens=("ein", "Mann"), tokens=("a", "man"),
    ...     weights=np.array([[0.9, 0.1], [0.2, 0.8]]), score=-0.5,
    ... )
    >>> print(alignment.strongest(top=1)[1])
    man: Mann 0.80
    """

    source: str
    """The source text, as given."""
    text: str
    """The generated text."""
    source_tokens: tuple[str, ...]
    tokens: tuple[str, ...]
    weights: Weights
    """[T, S], or [L, H, T, S] where there are layers and heads."""
    score: float
    model: str = ""

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.float32)
        shape = (len(self.tokens), len(self.source_tokens))
        if weights.ndim not in (2, 4) or weights.shape[-2:] != shape:
            raise ValueError(f"weights must be [T, S] or [L, H, T, S] with {shape}")
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError("weights must be at least 0, but some are not")
        weights.setflags(write=False)
        object.__setattr__(self, "weights", weights)

    def __repr__(self) -> str:
        texts = f"{shortened(self.source)!r}, {shortened(self.text)!r}"
        return f"{type(self).__name__}({texts}, score={self.score:.3f})"

    def _repr_html_(self) -> str:
        """The picture of `plot`, as notebooks show it."""
        from softquery.explain.maps.maps_svg import generation_svg  # imports this module
        from softquery.explain.notebook import picture_html

        return picture_html(generation_svg(self), f"Where “{self.text}” looked in “{self.source}”")

    @property
    def mean(self) -> Weights:
        """[T, S]: the weights averaged over layers and heads."""
        if self.weights.ndim == 2:
            return self.weights
        found: Weights = self.weights.mean(axis=(0, 1))
        return found

    def heads(self) -> list[tuple[str, Weights]]:
        """The weights of every layer and head, with a name; empty where there is only one map."""
        if self.weights.ndim == 2:
            return []
        return [
            (f"layer {layer + 1}, head {head + 1}", weights)
            for layer, heads in enumerate(self.weights)
            for head, weights in enumerate(heads)
        ]

    def strongest(self, top: int = 3) -> tuple[StrongestLinks, ...]:
        """For each generated token, the source tokens that it attended to most."""
        return strongest_partners(self.tokens, self.source_tokens, self.mean, top=top)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, floats and strings under the names of the fields, ready for JSON."""
        return {
            "source": self.source,
            "text": self.text,
            "source_tokens": list(self.source_tokens),
            "tokens": list(self.tokens),
            "weights": _nested(self.weights),
            "score": self.score,
            "model": self.model,
        }

    def plot(self, path: str | PathLike[str]) -> Path:
        """Write a picture (.svg, .png), a page (.html) or data (.json), atomically."""
        from softquery.explain.write import write_explanation  # imports this module

        return write_explanation(self, path)


def _nested(weights: Weights) -> list[Any]:
    return shortest_floats(weights) if weights.ndim == 2 else [_nested(part) for part in weights]
