"""A matching bundle that answers."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Match, parse_class, parse_grade
from softquery.bundle import Bundle, read_bundle
from softquery.errors import BundleError, ConfigError, MissingExtra
from softquery.text import TextConfig, TextPipeline
from softquery.zoo import resolve

Backend = Literal["torch"]
Pair = tuple[str, str]


class PairBackend(Protocol):
    """What computes: ids of both sides in, logits out."""

    def logits(
        self, first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]
    ) -> NDArray[np.float32]:
        """One row of logits a pair, in the order of the pairs."""


class Matcher:
    """Answers what two sentences are to each other.

    Args:
        bundle: The model folder.
        backend: What computes its logits.
    """

    def __init__(self, bundle: Bundle, backend: PairBackend) -> None:
        self.bundle = bundle
        self.pipeline = TextPipeline.load(bundle.path, TextConfig.from_dict(bundle.config.text))
        self.task: dict[str, Any] = bundle.config.task
        self.labels: tuple[str, ...] = tuple(self.task.get("labels", ()))
        self._backend = backend

    @property
    def is_graded(self) -> bool:
        """Whether answers are grades rather than classes."""
        return not self.labels

    def parse_label(self, text: str) -> int | float:
        """A gold label as this model's task reads it: a class id, or a share of the scale."""
        if self.is_graded:
            return parse_grade(text, self.task["low"], self.task["high"])
        return parse_class(text, self.labels)

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """One row a pair: a distribution over the labels, or the grade's share of the scale."""
        if not pairs:
            return np.empty((0, max(1, len(self.labels))))
        first = self.pipeline.encode_ids([pair[0] for pair in pairs])
        second = self.pipeline.encode_ids([pair[1] for pair in pairs])
        logits = self._backend.logits(first, second).astype(np.float64)
        if self.is_graded:
            return 1 / (1 + np.exp(-logits))
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
        return shares

    def predict(self, pairs: Sequence[Pair]) -> list[Match]:
        """An answer for each pair."""
        return [self._answer(row) for row in self.probabilities(pairs).tolist()]

    def _answer(self, row: list[float]) -> Match:
        if self.is_graded:
            low, high = self.task["low"], self.task["high"]
            return Match(None, low + row[0] * (high - low), {})
        best = max(range(len(row)), key=row.__getitem__)
        score = row[1] if len(row) == 2 else row[best]
        return Match(self.labels[best], score, dict(zip(self.labels, row, strict=True)))


def load(
    name_or_path: str | PathLike[str],
    *,
    backend: Backend = "torch",
    device: str | None = None,
) -> Matcher:
    """Open a bundle by its name in the zoo or by its folder.

    Args:
        name_or_path: Such as `"nli-en"`, or a folder.
        backend: What computes; `"torch"` needs the extra `[train]`.
        device: For torch: `"cpu"` or `"cuda"`; a GPU is used where there is one.
    """
    bundle = read_bundle(resolve(name_or_path))
    if bundle.config.kind != "matcher":
        raise BundleError(f"{bundle.path}: a {bundle.config.kind}, not a matcher")
    if backend != "torch":
        raise ConfigError(f"backend must be 'torch', got {backend!r}")
    try:
        from softquery.runtime.torch_backend import TorchBackend
    except ImportError as error:
        if error.name and error.name.split(".")[0] in ("torch", "jaxtyping"):
            raise MissingExtra("train", needed_for="running a model on torch") from None
        raise
    return Matcher(bundle, TorchBackend(bundle, device))
