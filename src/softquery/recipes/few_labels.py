"""A classifier from few labelled texts: what such a run is, and its recipe. Needs no torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from softquery.recipes.overrides import check_least, check_seed, run_dict

TuningRule = Literal["never", "where-it-pays"]
"""Whether fine-tuning is tried, and kept where cross-validation says that it pays."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadSettings:
    """What is tried for a head on a sentence encoder; cross-validation chooses among it."""

    encoder: str = ""
    """A sentence encoder by its name or its folder; none to choose one by the language."""
    costs: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0)
    """What a mistake costs beside the size of the weights: the C of LIBLINEAR and scikit-learn."""
    word_weights: tuple[float, ...] = (0.25, 0.5, 1.0, 1.5)
    """How much a text's words count beside its vector."""
    num_folds: int = 5
    max_tokens: int = 512
    """Of a text; an encoder that reads fewer at a time reads it in windows."""

    def __post_init__(self) -> None:
        check_least(self, 2, "num_folds")
        check_least(self, 3, "max_tokens")
        if not self.costs or min(self.costs) <= 0:
            raise ValueError(f"costs must be positive numbers, got {self.costs}")
        if not self.word_weights or min(self.word_weights) < 0:
            raise ValueError(f"word_weights must not be negative, got {self.word_weights}")


@dataclass(frozen=True, kw_only=True, slots=True)
class EncoderTuning:
    """How the sentence encoder under a head is fine-tuned by labels; needs torch."""

    when: TuningRule = "never"
    least_rows: int = 60
    """Fewer rows cannot tell whether it pays."""
    most_rows: int = 2_000
    """Beyond, recipes that train a whole network learn more."""
    num_steps: int | None = None
    """None for what `steps_for` says."""
    batch_size: int = 32
    lr: float = 1.5e-3
    """The highest, after a tenth of the steps; it then falls to zero."""
    temperature: float = 0.1

    def __post_init__(self) -> None:
        if self.when not in get_args(TuningRule):
            known = ", ".join(get_args(TuningRule))
            raise ValueError(f"when must be one of {known}, got {self.when!r}")
        check_least(self, 4, "least_rows", "batch_size")
        check_least(self, 1, "most_rows", "num_steps")
        if not (self.lr > 0 and self.temperature > 0):
            raise ValueError(
                f"lr and temperature must be positive, got {self.lr} and {self.temperature}"
            )

    def steps_for(self, num_rows: int) -> int:
        """Steps for so many rows: one for every two rows, at least 40 and at most 120.

        >>> [EncoderTuning().steps_for(rows) for rows in (60, 100, 1_000)]
        [40, 50, 120]
        """
        return min(120, max(40, num_rows // 2)) if self.num_steps is None else self.num_steps


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledFiles:
    """Which files of the data folder are read."""

    train: tuple[str, ...] = ("train",)
    dev: str = "dev"
    """Is only measured on; a folder may lack it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadTraining:
    """How folds are dealt out."""

    seed: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class FewLabelsRun:
    """Everything that determines a head on a sentence encoder, except its data."""

    counted: ClassVar[str] = "fit"
    refused: ClassVar[Mapping[str, str]] = {
        "vectors": "reads the vectors of a sentence encoder, and none of words",
        "devices": "takes seconds to a minute, in one process",
    }

    name: str
    summary: str
    head: HeadSettings = field(default_factory=HeadSettings)
    tuning: EncoderTuning = field(default_factory=EncoderTuning)
    data: LabelledFiles = field(default_factory=LabelledFiles)
    training: HeadTraining = field(default_factory=HeadTraining)

    def __post_init__(self) -> None:
        check_seed(self.training)

    def model_name(self) -> str:
        """The model's name in a bundle."""
        return "sentence-head"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for `run.json`."""
        return run_dict(self)


def classify_few() -> FewLabelsRun:
    """A head on a frozen sentence encoder, by cross-validation, in seconds."""
    return FewLabelsRun(
        name="classify-few",
        summary="Any classes from few labelled texts, English or Chinese, in seconds without torch",
    )


def classify_tuned() -> FewLabelsRun:
    """The same, and the encoder fine-tuned where cross-validation says that it pays."""
    return FewLabelsRun(
        name="classify-tuned",
        summary="As classify-few, with the encoder fine-tuned where cross-validation says it pays",
        tuning=EncoderTuning(when="where-it-pays"),
    )
