"""Language models: what a run of one is, and the recipes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from softquery.models import CharacterConfig, ElmoConfig, name_of
from softquery.models.elmo import presets
from softquery.recipes.overrides import check_least, check_seed, run_dict
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
        check_least(self, 1, "min_count")
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
        check_least(self, 1, "num_streams", "unroll", "rounds")


@dataclass(frozen=True, kw_only=True, slots=True)
class ElmoRun:
    """Everything that determines a training run of a language model, except its data."""

    counted: ClassVar[str] = "step"
    refused: ClassVar[Mapping[str, str]] = {"vectors": "reads characters, not word vectors"}

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
        check_seed(self.training)
        if self.model.softmax.kind == "none":
            raise ValueError("softmax.kind must not be none: nothing could be learnt")
        if self.text.unit in SUBWORDS:
            raise ValueError(f"text.unit must cut words, got {self.text.unit!r}")

    def model_name(self) -> str:
        """The model's name in a bundle."""
        return name_of(self.model)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for `run.json`."""
        return run_dict(self)


def elmo() -> ElmoRun:
    """ELMo's biLM in its original size, on raw text.

    Differs from paper: without the clips, which cuDNN lacks; Adam with warm-up and a cosine instead
    of Adagrad; a vocabulary of 200,000 words.
    """
    return _run("elmo", "ELMo's biLM on your own raw text, original size (4,096/512)", "original")


def elmo_medium() -> ElmoRun:
    """ELMo's biLM at half the width."""
    return _run("elmo-medium", "ELMo's biLM on your own raw text, medium (2,048/256)", "medium")


def elmo_small() -> ElmoRun:
    """ELMo's biLM at a quarter of the width."""
    return _run("elmo-small", "ELMo's biLM on your own raw text, small (1,024/128)", "small")


def elmo_en() -> ElmoRun:
    """The shipped `elmo-en`: five passes over 79 million words of English encyclopaedia.

    Half the paper's depth of filters and a quarter of its width, so that it fits in 8 MB.
    """
    small = _run("elmo-en", "The shipped English biLM (1,024/192), on encyclopaedia text", "small")
    filters = CharacterConfig(filters=(16, 16, 32, 64, 128, 128, 128), num_highways=1)
    return replace(
        small,
        model=replace(small.model, projection_size=192, characters=filters, dropout=0.0),
        targets=Targets(min_count=2, size=100_000),
        data=StreamFiles(num_streams=1024, rounds=2, tune_share=0.004),
        optim=Optim(lr=4e-3, clip_norm=10.0),
        training=replace(small.training, precision="bf16-mixed"),
    )


def _run(name: str, summary: str, size: str) -> ElmoRun:
    model: ElmoConfig = replace(presets()[size], way="fast")
    return ElmoRun(
        name=name,
        summary=summary,
        model=model,
        text=TextConfig(unicode_form="NFC", lowercase=False, boundaries=True, max_tokens=1024),
        targets=Targets(min_count=2, size=200_000),
        data=StreamFiles(),
        optim=Optim(lr=2.5e-3, clip_norm=10.0),
        schedule=Schedule(warmup_steps=1000, decay="cosine", plateau_factor=1.0),
        training=Training(max_epochs=10, patience=10),
    )
