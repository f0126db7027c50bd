"""What differs between matching, tagging and other tasks on the one way from rows to a bundle."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, Protocol

import numpy as np
from torch import nn

from softquery.recipes.run import Run
from softquery.text import TextPipeline
from softquery.training import Plan

Say = Callable[[str], None]
Folder = str | PathLike[str]


@dataclass(frozen=True, kw_only=True)
class SourceRows:
    """Rows of every split, before any vocabulary."""

    train: list[Any]
    tune: list[Any]
    dev: list[Any]
    fingerprint: str
    """Hash of the training rows: a resumed run must see the same ones."""
    num_shared: int
    """Rows of dev that also stand in train."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What `train` needs once the data has been read."""

    run: Run
    """With sizes and labels filled in."""
    task: Any
    pipeline: TextPipeline
    table: np.ndarray[Any, np.dtype[np.float32]] | None
    source: SourceRows
    source_pipeline: TextPipeline | None = None
    """By what sources are read, where they have a vocabulary of their own."""
    max_characters: int | None = None
    """Symbols by which words are spelt for a biLM inside the model."""


class TaskAdapter(Protocol):
    """How rows of a task are read, encoded, learnt from and measured."""

    @property
    def kind(self) -> str:
        """Of the bundle, such as `"matcher"`."""

    @property
    def noun(self) -> str:
        """What a row is called, in the plural."""

    def read(
        self, folder: Folder, split: str, rename: Mapping[str, str] | None, say: Say
    ) -> list[Any]:
        """The rows of one split."""

    def group(self, row: Any) -> Hashable:
        """Rows with the same group are held back together."""

    def identity(self, row: Any) -> Hashable:
        """By which a row of dev is found in train."""

    def written(self, row: Any) -> str:
        """All that training sees of a row, for the fingerprint."""

    def settle(self, run: Run, source: SourceRows, say: Say) -> Run:
        """The run with its task, found in the rows where it has none."""

    def build_pipeline(self, run: Run, source: SourceRows) -> TextPipeline:
        """The vocabulary of the training rows; a `ValueError` where the settings allow none."""

    def encode(
        self, rows: list[Any], prepared: Prepared, say: Say, name: str, *, taught: bool = False
    ) -> Any:
        """A split as tensors.

        Args:
            rows: Of the split.
            prepared: Pipeline and task.
            say: Told what was cut.
            name: Of the split.
            taught: Learn from a teacher's probabilities where rows have them.
        """

    def num_taught(self, rows: list[Any], train: Any) -> int:
        """How many training rows are learnt from, once they are tensors."""

    def plan(self, prepared: Prepared, train: Any, tune: Any) -> Plan:
        """Batches and the held-back metric, from splits that lie on the device."""

    def report(self, prepared: Prepared, model: nn.Module, dev: Any) -> dict[str, Any]:
        """The task's metrics on dev."""
