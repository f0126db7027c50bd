"""The sizes of a biLM, read from a bundle's config with every doubt said. Needs no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from softquery.errors import BundleError


@dataclass(frozen=True, kw_only=True, slots=True)
class BiLmSizes:
    """What a runtime must know of a biLM besides its weights."""

    num_layers: int
    """Of LSTMs; the characters are one more."""
    width: int
    """Of one direction; a word's vector is twice as wide."""
    hidden_size: int
    residual: bool
    cell_clip: float
    """After every step; 0 for none, as for a model that was trained without."""
    projection_clip: float
    carried_clips: tuple[float, float]
    """Of outputs and cells that are carried on to the next sentence; 0 for none."""
    max_characters: int
    widths: tuple[int, ...]
    filters: tuple[int, ...]
    num_highways: int
    activation: str

    @property
    def num_filters(self) -> int:
        """Filters of all widths."""
        return sum(self.filters)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "BiLmSizes":
        """From the config of an ELMo.

        Raises:
            BundleError: What is missing or cannot be, without the file's name.
        """
        try:
            reads, clips = config["characters"], config["way"] == "exact"
            limits = float(config["projection_clip"]), float(config["cell_clip"])
            sizes = cls(
                num_layers=config["num_layers"],
                width=config["projection_size"],
                hidden_size=config["hidden_size"],
                residual=config["residual"],
                cell_clip=limits[1] if clips else 0.0,
                projection_clip=limits[0] if clips else 0.0,
                carried_clips=limits,
                max_characters=reads["max_characters"],
                widths=tuple(reads["widths"]),
                filters=tuple(reads["filters"]),
                num_highways=reads["num_highways"],
                activation=reads["activation"],
            )
            sizes.check()
        except KeyError as error:
            raise BundleError(f"elmo lacks the setting {error}") from None
        except (TypeError, ValueError) as error:
            raise BundleError(f"elmo cannot be built: {error}") from None
        return sizes

    def check(self) -> None:
        """Refuse numbers that no biLM can have."""
        counts = (self.num_layers, self.width, self.hidden_size, *self.widths, *self.filters)
        if not all(type(count) is int and count > 0 for count in counts):
            raise ValueError(f"sizes must be positive whole numbers, got {counts}")
        if not self.widths or len(self.widths) != len(self.filters):
            raise ValueError(f"widths {self.widths} and filters {self.filters} must be pairs")
        if type(self.max_characters) is not int or self.max_characters < max(3, *self.widths):
            raise ValueError(f"max_characters ({self.max_characters}) must hold every filter")
        if type(self.num_highways) is not int or self.num_highways < 0:
            raise ValueError(f"num_highways must not be negative, got {self.num_highways}")
        if self.activation not in ("relu", "tanh"):
            raise ValueError(f"activation must be relu or tanh, got {self.activation!r}")
