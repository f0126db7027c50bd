"""Which of a deep model's layers are wanted, or how they are mixed.

J layers, T tokens, D width.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softquery.errors import ConfigError
from softquery.numpy_softmax import softmax
from softquery.runtime.match.backend import Floats

Choice = Literal["all", "mix", "top", "average"]
CHOICES = ("all", "mix", "top", "average")
_EPSILON = 1e-5
"""Under the root of a layer normalisation, as in torch."""


@dataclass(frozen=True, slots=True)
class Mix:
    """γ Σ_j softmax(w)_j h_j (Peters et al. 2018, Eq. 1): `softquery.nn.LayerMix`, without torch.

    Attributes:
        weights: w, one a layer; the highest layers, where there are more of them.
        scale: γ.
        normalise: Whether each token of each layer is normalised first.
    """

    weights: tuple[float, ...]
    scale: float = 1.0
    normalise: bool = False

    @classmethod
    def average(cls, num_layers: int) -> "Mix":
        """The mean of all layers."""
        return cls((0.0,) * num_layers)

    @classmethod
    def read(
        cls, weights: Mapping[str, NDArray[Any]], name: str, *, normalise: bool = False
    ) -> "Mix":
        """A mix that was learnt, from a bundle's weights.

        Args:
            weights: By torch's names.
            name: Of the `LayerMix`, such as `"embedder.mixes.input"`.
            normalise: What its settings say.
        """
        learnt = weights[f"{name}.weights"].astype(np.float64).tolist()
        return cls(tuple(learnt), float(weights[f"{name}.scale"]), normalise)

    @property
    def shares(self) -> list[float]:
        """What each layer counts for; they sum to one.

        >>> Mix((0.0, 0.0)).shares
        [0.5, 0.5]
        """
        shares: list[float] = softmax(np.array(self.weights)).tolist()
        return shares

    def of(self, layers: Floats) -> Floats:
        """One vector per token, [T, D], from the highest of all layers, [J, T, D].

        >>> Mix((0.0, 0.0), scale=2.0).of(np.array([[[1.0]], [[3.0]]], np.float32)).item()
        4.0
        """
        if len(layers) < len(self.weights):
            raise ValueError(f"expected {len(self.weights)} layers, got {len(layers)}")
        layers = layers[len(layers) - len(self.weights) :]
        if self.normalise:
            centred = layers - layers.mean(axis=-1, keepdims=True)
            spread = np.square(centred).mean(axis=-1, keepdims=True)
            layers = centred / np.sqrt(spread + np.float32(_EPSILON))
        shares = np.array(self.shares, np.float32) * np.float32(self.scale)
        mixed: Floats = np.tensordot(shares, layers, axes=1)
        return mixed


def parse_layers(text: str) -> Choice | int:
    """Read the command line's `--layers`.

    >>> parse_layers("top"), parse_layers("1")
    ('top', 1)
    """
    if text in CHOICES:
        return text  # type: ignore[return-value]
    if text.isascii() and text.isdigit():
        return int(text)
    raise ConfigError(
        f"--layers must be one of {', '.join(CHOICES)}, or the number of a layer, got {text!r:.40}"
    )


def chosen(layers: Floats, choice: Choice | int, mix: Mix) -> Floats:
    """The layers that are asked for, [1 or J, T, D].

    Args:
        layers: All layers of a sentence, [J, T, D].
        choice: Which.
        mix: What `"mix"` means.
    """
    if choice == "all":
        return layers
    if choice == "top":
        return layers[-1:]
    if isinstance(choice, int):
        return layers[choice : choice + 1]
    used = mix if choice == "mix" else Mix.average(len(layers))
    return used.of(layers)[None]


def check_choice(choice: Choice | int, num_layers: int) -> None:
    """Refuse a layer that the model lacks."""
    if isinstance(choice, int) and not isinstance(choice, bool):
        if not 0 <= choice < num_layers:
            raise ConfigError(f"the model has layers 0 to {num_layers - 1}, got {choice}")
    elif choice not in CHOICES:
        raise ConfigError(
            f"layers must be one of {', '.join(CHOICES)}, or a number, got {choice!r}"
        )
