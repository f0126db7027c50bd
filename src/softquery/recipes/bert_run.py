"""A run of BERT's pretraining as a value: what is read, hidden, foretold and trained on."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal

from softquery.data import Masking
from softquery.models import ENCODERS, BertConfig
from softquery.text import BERT_RESERVED, TextConfig
from softquery.training import Optim, Schedule, Training


@dataclass(frozen=True, kw_only=True, slots=True)
class Pieces:
    """The vocabulary: learnt from the training text, or given."""

    size: int = 30_000
    """The most pieces (Devlin et al. 2019, Section 3)."""
    min_count: int = 2
    """Pairs that the text holds less often are not joined."""
    given: str = ""
    """A `vocab.txt` to take in place of learning one."""

    def __post_init__(self) -> None:
        least = len(BERT_RESERVED) + 2
        if self.size < least:
            raise ValueError(f"size must be at least {least} (five are reserved), got {self.size}")
        if self.min_count < 1:
            raise ValueError(f"min_count must be at least 1, got {self.min_count}")


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentFiles:
    """Which files of the data folder are read, and how documents are cut (Section A.2)."""

    train: tuple[str, ...] = ("train",)
    """Each is one file, or shards such as train-00.txt.xz."""
    valid: str = "valid"
    tune_share: float = 0.005
    """Share of the training text, its end, that is held back to steer by."""
    length: int = 128
    """Tokens of a sequence, the reserved ones included."""
    long_length: int = 512
    """The same at the end of the run, by when position vectors up to there must be learnt."""
    long_share: float = 0.1
    """Share of the steps that read long sequences."""
    num_tokens: int = 65_536
    """Tokens of a batch, whatever the length of its sequences."""
    rounds: int = 1
    """Parts into which a pass over the text is cut, each an epoch after which the run is measured.

    `training.max_epochs` counts the parts: 5 epochs at 2 rounds are two and a half passes.
    """

    def __post_init__(self) -> None:
        if not 0 < self.tune_share < 1:
            raise ValueError(f"tune_share must be between 0 and 1, got {self.tune_share}")
        if not 0 <= self.long_share <= 1:
            raise ValueError(f"long_share must be from 0 to 1, got {self.long_share}")
        for name in ("length", "long_length"):
            if getattr(self, name) < 8:
                raise ValueError(f"{name} must be at least 8, got {getattr(self, name)}")
        for name in ("num_tokens", "rounds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class BertRun:
    """Everything that determines a pretraining run, its data aside."""

    name: str
    summary: str
    model: BertConfig
    """Without the head for pairs (`heads=words`), sequences are single texts."""
    text: TextConfig = field(default_factory=lambda: TextConfig(unit="bert", boundaries=True))
    pieces: Pieces = field(default_factory=Pieces)
    masking: Masking = field(default_factory=Masking)
    data: DocumentFiles = field(default_factory=DocumentFiles)
    kept: Literal["all", "encoder"] = "all"
    """Whether the bundle holds the heads, with which one can go on, or the encoder alone."""
    optim: Optim = field(default_factory=Optim)
    schedule: Schedule = field(default_factory=Schedule)
    training: Training = field(default_factory=Training)

    def __post_init__(self) -> None:
        if not 0 <= self.training.seed < 2**32:
            raise ValueError(f"seed must be from 0 to {2**32 - 1:,}, got {self.training.seed:,}")
        if self.model.heads == "none":
            raise ValueError("heads must not be none: nothing could be learnt")
        if self.model.direction != "both":
            raise ValueError("direction must be both: hidden words are foretold from both sides")
        if self.text.unit != "bert":
            raise ValueError(f"text.unit must be bert, got {self.text.unit!r}")

    @property
    def has_pairs(self) -> bool:
        """Whether it learns which texts follow each other."""
        return self.model.heads == "words+next"

    def model_name(self) -> str:
        """The model's name in a bundle."""
        return next(
            name for name, (config, _) in ENCODERS.items() if isinstance(self.model, config)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for `run.json`."""
        return {**dataclasses.asdict(self), "model_name": self.model_name()}
