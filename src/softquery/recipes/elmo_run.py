"""A run of a language model as a value: what is read, predicted and trained, and for how long."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from softquery.models import EMBEDDERS, ElmoConfig
from softquery.text import SUBWORDS, TextConfig
from softquery.training import Optim, Schedule, Training


@dataclass(frozen=True, kw_only=True, slots=True)
class Targets:
    """Which words are predicted; all others are read by their characters, but count as `<unk>`."""

    min_count: int = 1
    """Words that the training text holds less often are not predicted."""
    size: int | None = None
    """The most words, the most frequent ones first; four reserved ones count."""

    def __post_init__(self) -> None:
        if self.min_count < 1:
            raise ValueError(f"min_count must be at least 1, got {self.min_count}")
        if self.size is not None and self.size < 5:
            raise ValueError(f"size must be at least 5 (four are reserved), got {self.size}")


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamFiles:
    """Which files of the data folder are read, and how they are cut into streams."""

    train: tuple[str, ...] = ("train",)
    """Each is one file, or shards such as train-00.txt.xz."""
    valid: str = "valid"
    tune_share: float = 0.01
    """Share of the training text, its end, that is held back to steer by."""
    num_streams: int = 128
    """Parts of the text that are read side by side: the size of a batch."""
    unroll: int = 20
    """Words of each stream that a step reads, and through which it learns."""
    fresh_share: float = 0.1
    """Share of the streams that begin anew at each step, so that the model learns to set out."""
    rounds: int = 1
    """Parts into which a pass over the text is cut, each an epoch after which the run is measured.

    `training.max_epochs` counts the parts: 5 epochs at 2 rounds are two and a half passes.
    """

    def __post_init__(self) -> None:
        if not 0 < self.tune_share < 1:
            raise ValueError(f"tune_share must be between 0 and 1, got {self.tune_share}")
        if not 0 <= self.fresh_share <= 1:
            raise ValueError(f"fresh_share must be from 0 to 1, got {self.fresh_share}")
        for name in ("num_streams", "unroll", "rounds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ElmoRun:
    """Everything that determines a training run of a language model, its data aside."""

    name: str
    summary: str
    model: ElmoConfig
    text: TextConfig = field(default_factory=TextConfig)
    targets: Targets = field(default_factory=Targets)
    data: StreamFiles = field(default_factory=StreamFiles)
    optim: Optim = field(default_factory=Optim)
    schedule: Schedule = field(default_factory=Schedule)
    training: Training = field(default_factory=Training)

    def __post_init__(self) -> None:
        if not 0 <= self.training.seed < 2**32:
            raise ValueError(f"seed must be from 0 to {2**32 - 1:,}, got {self.training.seed:,}")
        if self.model.softmax.kind == "none":
            raise ValueError("softmax.kind must not be none: nothing could be learnt")
        if self.text.unit in SUBWORDS:
            raise ValueError(f"text.unit must cut words, got {self.text.unit!r}")

    def model_name(self) -> str:
        """The model's name in a bundle."""
        return next(
            name for name, (config, _) in EMBEDDERS.items() if isinstance(self.model, config)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for `run.json`."""
        return {**dataclasses.asdict(self), "model_name": self.model_name()}
