"""A matcher's graphs on ONNX Runtime: torch-free, and safe from many threads."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.backend import Alignment, Floats, Ids, padded_ids, padded_rows
from softquery.runtime.onnx_session import FOLDER, open_session, short_reason
from softquery.runtime.weights import arrange

BATCH = 32
"""Pairs or sentences that a graph sees at a time in bulk work."""


class OnnxBackend:
    """The `encode` and `compare` graphs of an exported bundle.

    Args:
        bundle: With its `onnx/` folder.
        threads: How many threads one call may use; None for all cores.
    """

    def __init__(self, bundle: Bundle, threads: int | None = None) -> None:
        weights = _arranged(bundle)
        self._encode = open_session(bundle.path, "encode", weights, threads=threads)
        self._compare = open_session(bundle.path, "compare", weights, threads=threads)
        self._inputs = {each.name for each in self._compare.get_inputs()}
        self._outputs = [each.name for each in self._compare.get_outputs()]
        self._try_out(bundle, len(weights["embedder.table.weight"]))

    @property
    def name(self) -> str:
        """What computes."""
        return "onnx"

    def encode(self, sentences: Ids) -> list[Floats]:
        """What `compare` needs of each sentence: [T, 4 S] for ESIM, [2 S] for Siamese."""
        ids, lengths = padded_ids(sentences)
        (encodings,) = self._encode.run(["encoding"], {"ids": ids, "lengths": lengths})
        if encodings.ndim == 2:
            return list(encodings)
        return [row[:length] for row, length in zip(encodings, lengths.tolist(), strict=True)]

    def compare(self, first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
        """Logits of encodings pairwise, or of one first side with every second side."""
        (logits,) = self._compare.run(["logits"], self._feed(first, second))
        answers: Floats = logits
        return answers

    def align(self, first: Floats, second: Floats) -> Alignment | None:
        """Logits and alignments of one pair; None for a Siamese model."""
        names = ["logits", "first_to_second", "second_to_first"]
        if not set(names) <= set(self._outputs):
            return None
        return Alignment(
            *(each[0] for each in self._compare.run(names, self._feed([first], [second])))
        )

    def pair_logits(self, first: Ids, second: Ids) -> Floats:
        """Logits straight from ids: equal sentences are encoded once, like lengths together."""
        sentences = dict.fromkeys(map(tuple, [*first, *second]))
        encodings: dict[tuple[int, ...], Floats] = {}
        for batch in _batches(sorted(sentences, key=lambda sentence: (len(sentence), sentence))):
            encodings.update(zip(batch, self.encode(batch), strict=True))
        order = sorted(
            range(len(first)), key=lambda row: (max(len(first[row]), len(second[row])), row)
        )
        answers: NDArray[Any] | None = None
        for rows in _batches(order):
            logits = self.compare(
                [encodings[tuple(first[row])] for row in rows],
                [encodings[tuple(second[row])] for row in rows],
            )
            if answers is None:
                answers = np.empty((len(first), logits.shape[1]), dtype=np.float32)
            answers[list(rows)] = logits
        return np.empty((0, 0), dtype=np.float32) if answers is None else answers

    def _try_out(self, bundle: Bundle, vocab_size: int) -> None:
        """Answer one pair, so that graphs and weights that do not belong together are found now."""
        settings = bundle.config.model["config"]
        if vocab_size != settings.get("vocab_size"):
            raise BundleError(
                f"{bundle.weights_path}: holds vectors of {vocab_size} words, "
                f"but config.json says {settings.get('vocab_size')}"
            )
        try:
            encodings = self.encode([[vocab_size - 1]])
            shape = self.compare(encodings, encodings).shape
        except Exception as error:  # the library raises several kinds, none of them public
            place = bundle.path / FOLDER
            raise BundleError(f"{place}: cannot be run ({short_reason(error)})") from None
        if shape != (1, settings.get("output_size")):
            raise BundleError(
                f"{bundle.path / FOLDER}: the graphs give {shape[-1]} outputs, "
                f"but config.json says {settings.get('output_size')}"
            )

    def _feed(self, first: Sequence[Floats], second: Sequence[Floats]) -> dict[str, Any]:
        if "first_lengths" not in self._inputs:
            return {"first": np.stack(first), "second": np.stack(second)}
        (one, one_lengths), (other, other_lengths) = padded_rows(first), padded_rows(second)
        return {
            "first": one,
            "first_lengths": one_lengths,
            "second": other,
            "second_lengths": other_lengths,
        }


def _arranged(bundle: Bundle) -> dict[str, NDArray[Any]]:
    stored = bundle.read_weights()
    for name, values in stored.items():
        if not np.isfinite(values).all():
            raise BundleError(f"{bundle.weights_path}: {name} holds a number that is not finite")
    try:
        weights = arrange(stored)
        if weights["embedder.table.weight"].ndim == 2:
            return weights
        raise ValueError("embedder.table.weight is no table")
    except (KeyError, ValueError, IndexError, TypeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else short_reason(error)
        raise BundleError(f"{bundle.weights_path}: does not fit the graphs ({reason})") from None


def _batches(items: Sequence[Any]) -> list[Sequence[Any]]:
    return [items[start : start + BATCH] for start in range(0, len(items), BATCH)]
