"""A classifier from few labelled texts: what such a run is, and its recipe. Needs no torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from softquery.recipes.overrides import check_least, check_seed, run_dict


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
    """Everything that determines a head on a frozen sentence encoder, except its data."""

    counted: ClassVar[str] = "fit"
    refused: ClassVar[Mapping[str, str]] = {
        "vectors": "reads the vectors of a sentence encoder, and none of words",
        "devices": "takes seconds, in one process",
    }

    name: str
    summary: str
    head: HeadSettings = field(default_factory=HeadSettings)
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
