"""A run is a value: model, task, text, data, optimiser and how long, in one frozen dataclass.

`override` changes one of its fields, as `--set optim.lr=3e-4` does; see `overrides`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from softquery.models import name_of
from softquery.nn import ElmoSettings
from softquery.recipes.overrides import check_least, check_seed, run_dict
from softquery.text import TextConfig
from softquery.training import Optim, Schedule, Training


@dataclass(frozen=True, kw_only=True, slots=True)
class Vocabulary:
    """Which words get a row of the embedding table."""

    min_count: int = 1
    """Rarer words of the training text become `<unk>`."""
    size: int | None = None
    """The most entries; for BPE and WordPiece, how many pieces are learnt."""
    from_vectors: int = 0
    """How many words of the first vectors file, most frequent first, are added to the text's."""
    frozen: bool = False
    """Keep the embedding table as it was filled; a table that nothing fills learns all the same."""

    def __post_init__(self) -> None:
        check_least(self, 1, "min_count", "size")
        if self.from_vectors < 0:
            raise ValueError(f"from_vectors must not be negative, got {self.from_vectors}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    """Which files of the data folder are read, and how they are cut into batches."""

    train: tuple[str, ...] = ("train",)
    dev: str = "dev"
    tune_share: float = 0.05
    """Share of the training rows that is held back to stop early by and to tune on."""
    tune: str | None = None
    """A split to tune on, in place of a share of the training rows."""
    share: float = 1.0
    """Share of what is then left that is trained on, to see how much of it is needed."""
    batch_size: int = 32
    pad_multiple: int = 8
    num_tokens: int | None = None
    """The most tokens of a batch of documents, padding included; None for no limit."""

    def __post_init__(self) -> None:
        if not 0 < self.tune_share < 1:
            raise ValueError(f"tune_share must be between 0 and 1, got {self.tune_share}")
        if not 0 < self.share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {self.share}")
        if self.batch_size < 1 or self.pad_multiple < 1:
            raise ValueError("batch_size and pad_multiple must be positive")
        if self.num_tokens is not None and self.num_tokens < 1:
            raise ValueError(f"num_tokens must be positive, got {self.num_tokens}")


@dataclass(frozen=True, kw_only=True, slots=True)
class BertSettings:
    """The encoder under a head: where it comes from, and how much of it is tuned."""

    bundle: str = ""
    """A pretrained BERT, by its name or its folder; its sizes and its vocabulary are taken."""
    weights: Literal["pretrained", "random"] = "pretrained"
    """`"random"` takes no more than sizes and vocabulary, and without a bundle learns pieces from
    the training text: to see what pretraining is worth."""
    tuned_layers: int | None = None
    """How many of the highest layers learn as well; none for every layer and the embeddings, 0 for
    the head alone."""

    def __post_init__(self) -> None:
        if self.tuned_layers is not None and self.tuned_layers < 0:
            raise ValueError(f"tuned_layers must not be negative, got {self.tuned_layers}")


class TaskSettings(Protocol):
    """What a run says about its task besides the task itself; see `softquery.tasks`."""

    key: ClassVar[str]
    """Under which it stands in `--set` and in `run.json`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Everything that determines a training run of a model for a task, except its data."""

    keyed: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "settings": ("tags", "classes", "writing", "reading", "distill")
    }
    """Fields that stand in `--set` and in `run.json` under one of several keys: that of what they
    hold."""
    counted: ClassVar[str] = "step"
    """What its progress is counted in."""
    refused: ClassVar[Mapping[str, str]] = {}
    """Options of the command line that mean nothing to it, each with the reason."""

    name: str
    summary: str
    model: Any
    """A config of `softquery.models.REGISTRY`."""
    task: Any | None = None
    """Of `softquery.tasks`; without one, classes and tags are those found in the training file."""
    settings: TaskSettings | None = None
    """How rows of the task are read and learnt; None for matching by labels alone."""
    text: TextConfig = field(default_factory=TextConfig)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    vectors: tuple[str, ...] = ()
    """Files of pretrained word vectors, laid side by side."""
    elmo: ElmoSettings | None = None
    """A biLM inside the model, which gives the words vectors in their context."""
    bert: BertSettings | None = None
    """A pretrained encoder under a head."""
    data: Files = field(default_factory=Files)
    optim: Optim = field(default_factory=Optim)
    schedule: Schedule = field(default_factory=Schedule)
    training: Training = field(default_factory=Training)

    def __post_init__(self) -> None:
        check_seed(self.training)

    def model_name(self) -> str:
        """The model's name in a bundle."""
        return name_of(self.model)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for `run.json`."""
        return run_dict(self)
