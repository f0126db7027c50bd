"""Words for masks on ONNX Runtime: torch-free, and safe from many threads."""

from collections.abc import Sequence

import numpy as np

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.batches import Floats
from softquery.runtime.bert.backend import BertRow, padded, row_batches
from softquery.runtime.fill.backend import MaskedRow, by_row, flat_places
from softquery.runtime.graph_weights import arrange, dequantised
from softquery.runtime.graphs import FOLDER, OnnxGraphs, stored_weights

FILL = "fill"
"""The name of the graph."""


def has_graph(bundle: Bundle) -> bool:
    """Whether an exported bundle holds the graph; those of earlier versions lack it."""
    return (bundle.path / FOLDER / f"{FILL}.onnx").is_file()


class OnnxFillBackend:
    """The `fill` graph of an exported bundle.

    int8 is a way of storing its weights; it computes in float32.

    Args:
        bundle: With its `onnx/` folder.
        threads: How many batches are computed at a time; None for one per core.
    """

    def __init__(self, bundle: Bundle, threads: int | None = None) -> None:
        model = bundle.config.model
        try:
            wide = dequantised(stored_weights(bundle))
        except BundleError as error:
            raise BundleError(f"{bundle.weights_path}: {error}") from None
        self._graphs = OnnxGraphs.of(bundle, (FILL,), arrange(wide, model["name"]), threads)
        self.name = self._graphs.name
        last = MaskedRow(BertRow([model["config"]["vocab_size"] - 1], 1), [0])
        (found,) = self._graphs.try_out(lambda: self.logits([last]))
        self._graphs.check_outputs(found, model["config"]["vocab_size"])

    def logits(self, rows: Sequence[MaskedRow]) -> list[Floats]:
        """Logits of all pieces at the places of each row: [M, V]."""
        found: list[Floats] = [np.empty((0, 0), dtype=np.float32)] * len(rows)
        places = row_batches([each.row for each in rows])
        batches = [[rows[place] for place in some] for some in places]
        for some, answers in zip(places, self._graphs.beside(self._answered, batches), strict=True):
            for place, answer in zip(some, answers, strict=True):
                found[place] = answer
        return found

    def _answered(self, rows: Sequence[MaskedRow]) -> list[Floats]:
        fed = padded([each.row for each in rows])
        fed["places"] = np.array(flat_places(rows), dtype=np.int64)
        return by_row(self._graphs.run(FILL, ["logits"], fed)[0], rows)
