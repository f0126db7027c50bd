"""A BERT on ONNX Runtime, with a head or without: torch-free, and safe from many threads."""

from collections.abc import Callable, Sequence

import numpy as np

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.batches import Floats
from softquery.runtime.bert.backend import BertRow, padded, row_batches, unpadded
from softquery.runtime.graph_weights import arrange, dequantised
from softquery.runtime.graphs import OnnxGraphs, fitting_graphs, laid_out, stored_weights
from softquery.runtime.tag.backend import Chain

ANSWER, ENCODE = "answer", "encode"
"""The names of the graphs, with a head and without."""


class OnnxBertHead:
    """The `answer` graph of an exported bundle.

    Args:
        bundle: With its `onnx/` folder.
        threads: How many batches are computed at a time; None for one per core.
    """

    def __init__(self, bundle: Bundle, threads: int | None = None) -> None:
        stored = stored_weights(bundle)
        weights, settings = laid_out(bundle, stored), bundle.config.model["config"]
        with fitting_graphs(bundle):
            self.chain = Chain.read(stored)
        self._graphs = OnnxGraphs.of(bundle, (ANSWER,), weights, threads)
        self.name = self._graphs.name
        (found,) = self._graphs.try_out(lambda: self.answers([_last_piece(settings["encoder"])]))
        self._graphs.check_outputs(found, settings.get("output_size"))

    def answers(self, rows: Sequence[BertRow]) -> list[Floats]:
        """What the head says of each row: [C], or [T, C] where every piece is judged."""

        def answered(some: Sequence[BertRow]) -> list[Floats]:
            return unpadded(self._graphs.run(ANSWER, ["answer"], padded(some))[0], some)

        return _of_each(self._graphs, rows, answered)

    def looks(self, row: BertRow) -> Floats:
        """Whom the first piece of one row asked in the highest layer: [T]."""
        weights: Floats = self._graphs.run(ANSWER, ["weights"], padded([row]))[0][0]
        return weights


class OnnxBertEncoder:
    """The `encode` graph of an exported bundle: the states of pieces on every layer.

    int8 is a way of storing its weights; it computes in float32. The arguments are those of
    `OnnxBertHead`.
    """

    def __init__(self, bundle: Bundle, threads: int | None = None) -> None:
        model = bundle.config.model
        try:
            wide = dequantised(stored_weights(bundle))
        except BundleError as error:
            raise BundleError(f"{bundle.weights_path}: {error}") from None
        self._graphs = OnnxGraphs.of(bundle, (ENCODE,), arrange(wide, model["name"]), threads)
        self.name = self._graphs.name
        self._graphs.try_out(lambda: self.states([_last_piece(model["config"])]))

    def states(self, rows: Sequence[BertRow]) -> list[Floats]:
        """Of each row: [L, T, D]."""

        def read(some: Sequence[BertRow]) -> list[Floats]:
            states = self._graphs.run(ENCODE, ["states"], padded(some))[0]
            return [states[:, place, : len(row.ids)] for place, row in enumerate(some)]

        return _of_each(self._graphs, rows, read)


def _last_piece(sizes: dict[str, int]) -> BertRow:
    """A row of the last piece of the vocabulary alone."""
    return BertRow([sizes["vocab_size"] - 1], 1)


def _of_each(
    graphs: OnnxGraphs,
    rows: Sequence[BertRow],
    answered: Callable[[Sequence[BertRow]], list[Floats]],
) -> list[Floats]:
    """What is answered of every row, in their order; rows of like length share a batch."""
    found: list[Floats] = [np.empty(0, dtype=np.float32)] * len(rows)
    places = row_batches(rows)
    batches = [[rows[place] for place in some] for some in places]
    for some, answers in zip(places, graphs.beside(answered, batches), strict=True):
        for place, answer in zip(some, answers, strict=True):
            found[place] = answer
    return found
