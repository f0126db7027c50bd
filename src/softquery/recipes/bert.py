"""BERT's pretraining, and that of a language model from left to right: runs and recipes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from softquery.data import Masking
from softquery.models import BertConfig, name_of
from softquery.models.bert import presets
from softquery.recipes.overrides import check_least, check_seed, run_dict
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
        check_least(self, 1, "min_count")


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
        check_least(self, 8, "length", "long_length")
        check_least(self, 1, "num_tokens", "rounds")


@dataclass(frozen=True, kw_only=True, slots=True)
class BertRun:
    """Everything that determines a pretraining run, except its data."""

    counted: ClassVar[str] = "step"
    refused: ClassVar[Mapping[str, str]] = {"vectors": "learns the vectors of its pieces by itself"}

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
        check_seed(self.training)
        if self.model.heads == "none":
            raise ValueError("heads must not be none: nothing could be learnt")
        if self.is_left_to_right and (self.has_pairs or self.masking != Masking()):
            raise ValueError(
                "direction left predicts every next piece: it goes with heads=words, and hides none"
            )
        if self.text.unit != "bert":
            raise ValueError(f"text.unit must be bert, got {self.text.unit!r}")

    @property
    def is_left_to_right(self) -> bool:
        """Whether it predicts every next piece, and hides none."""
        return self.model.direction == "left"

    @property
    def has_pairs(self) -> bool:
        """Whether it learns which texts follow each other."""
        return self.model.heads == "words+next"

    def model_name(self) -> str:
        """The model's name in a bundle."""
        return name_of(self.model)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for `run.json`."""
        return run_dict(self)


def bert_tiny() -> BertRun:
    """The smallest of the published sizes: a test of one's text, on any machine."""
    return _run("tiny", lr=1e-3)


def bert_mini() -> BertRun:
    """A BERT of 11 million parameters, two thirds of them vectors of pieces."""
    return _run("mini", lr=1e-3)


def bert_mini_en() -> BertRun:
    """What made the shipped `bert-mini-en`: twelve passes over 79 million words of encyclopaedia.

    Fewer pieces than the paper's, so that it fits in 5.4 MB.
    """
    return replace(
        bert_mini(),
        name="bert-mini-en",
        summary="What made the shipped bert-mini-en (4 layers of 256, 6,000 pieces) on enwiki-2015",
        pieces=Pieces(size=6_000),
        training=replace(bert_mini().training, max_epochs=12),
    )


def left_to_right_mini() -> BertRun:
    """The blocks of `bert-mini` as a language model from left to right (Radford et al. 2018).

    Every next piece is predicted, so that a step asks the head for all places and not for 15 % of
    them; batches are smaller for it.

    Differs from paper: normalisation after the residual, WordPiece, and excerpts of documents that
    begin with `[CLS]`.
    """
    run = bert_mini()
    return replace(
        run,
        name="left-to-right-mini",
        summary="language model from left to right on your own raw text, mini (4 layers of 256)",
        model=replace(run.model, direction="left", heads="words", pooler=False),
        data=replace(run.data, num_tokens=16_384),
    )


def bert_small() -> BertRun:
    """Mini's depth at twice its width."""
    return _run("small", lr=7e-4)


def bert_base() -> BertRun:
    """The paper's base model.

    Differs from paper: attention weights are not dropped, half the tokens per batch, a larger step.
    """
    return _run("base", lr=2e-4)


def bert_large() -> BertRun:
    """The paper's large model."""
    return _run("large", lr=1e-4)


def _run(size: str, *, lr: float) -> BertRun:
    model = presets()[size]
    sizes = f"{model.num_layers} layers of {model.hidden_size}"
    return BertRun(
        name=f"bert-{size}",
        summary=f"BERT, pretrained on your own raw text, {size} ({sizes})",
        model=replace(model, attention_dropout=0.0),
        text=TextConfig(unit="bert", strip_accents=True, boundaries=True, max_tokens=512),
        data=DocumentFiles(),
        optim=Optim(lr=lr, eps=1e-6, weight_decay=0.01, decayed="matrices", clip_norm=1.0),
        schedule=Schedule(warmup_steps=1000, decay="linear", plateau_factor=1.0),
        training=Training(max_epochs=10, patience=10, precision="bf16-mixed"),
    )
