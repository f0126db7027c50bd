"""Where each token of an answer looked in its source: as data, and as pictures.

T tokens of the answer, S tokens of the source, L layers, H heads.
"""

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.explain.data import shortest_floats
from softquery.explain.strongest import StrongestLinks, strongest_partners

Weights = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GenerationAlignment:
    """What every token of an answer asked of the source, the end of the answer included.

    >>> alignment = WrittenAlignment(
    ...     source="ein Mann", text="a man", source_tokens=("ein", "Mann"), tokens=("a", "man"),
    ...     weights=np.array([[0.9, 0.1], [0.2, 0.8]]), score=-0.5,
    ... )
    >>> print(alignment.strongest(top=1)[1])
    man: Mann 0.80
    """

    source: str
    """As given."""
    text: str
    """The answer."""
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

    @property
    def mean(self) -> Weights:
        """[T, S]: over layers and heads."""
        if self.weights.ndim == 2:
            return self.weights
        found: Weights = self.weights.mean(axis=(0, 1))
        return found

    def heads(self) -> list[tuple[str, Weights]]:
        """Every layer and head by its name; nothing where there are none."""
        if self.weights.ndim == 2:
            return []
        return [
            (f"layer {layer + 1}, head {head + 1}", weights)
            for layer, heads in enumerate(self.weights)
            for head, weights in enumerate(heads)
        ]

    def strongest(self, top: int = 3) -> tuple[StrongestLinks, ...]:
        """For each token of the answer, whom it asked most."""
        return strongest_partners(self.tokens, self.source_tokens, self.mean, top=top)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, floats and strings, ready for JSON."""
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
        """Write a picture (.svg, .png), a page (.html) or the data (.json), whole."""
        from softquery.atomic import write_text
        from softquery.explain.generation_picture import (
            generation_html,
            generation_png,
            generation_svg,
        )
        from softquery.explain.write import require_ending

        require_ending(path)
        target = Path(path)
        ending = target.suffix.lower()
        if ending == ".png":
            generation_png(self, target)
        elif ending == ".json":
            write_text(target, json.dumps(self.to_dict(), ensure_ascii=False) + "\n")
        else:
            write_text(target, generation_html(self) if ending == ".html" else generation_svg(self))
        return target


def _nested(weights: Weights) -> list[Any]:
    return shortest_floats(weights) if weights.ndim == 2 else [_nested(part) for part in weights]
