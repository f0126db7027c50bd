"""A bare encoder on ONNX Runtime: the states of pieces on every layer. Needs no torch.

int8 is a way of storing its weights; it computes in float32.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.bert.rows import BertRow, Floats, batches, padded
from softquery.runtime.graph_weights import arrange, dequantised
from softquery.runtime.match.onnx import stored_weights
from softquery.runtime.onnx_session import FOLDER, open_session, short_reason

GRAPH = "encode"


class OnnxPieces:
    """The `encode` graph of an exported bundle; threads take whole batches.

    Args:
        bundle: With its `onnx/` folder.
        threads: How many batches are computed at a time; None for one a core.
    """

    def __init__(self, bundle: Bundle, threads: int | None = None) -> None:
        stored = stored_weights(bundle)
        try:
            wide = dequantised(stored)
        except BundleError as error:
            raise BundleError(f"{bundle.weights_path}: {error}") from None
        self._session = open_session(bundle.path, GRAPH, arrange(wide))
        count = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(count, "softquery") if count > 1 else None
        try:
            self.states([BertRow([bundle.config.model["config"]["vocab_size"] - 1], 1)])
        except Exception as error:  # the library raises several kinds, none of them public
            place = bundle.path / FOLDER
            raise BundleError(f"{place}: cannot be run ({short_reason(error)})") from None

    @property
    def name(self) -> str:
        """What computes."""
        return "onnx"

    def states(self, rows: Sequence[BertRow]) -> list[Floats]:
        """Of each row: [layers, pieces, width]."""
        found: list[Floats] = [np.empty((0, 0, 0), dtype=np.float32)] * len(rows)
        places = batches(rows)

        def read(some: list[int]) -> Floats:
            states: Floats = self._session.run(["states"], padded([rows[place] for place in some]))[
                0
            ]
            return states

        run = map if self._pool is None or len(places) == 1 else self._pool.map
        for some, states in zip(places, run(read, places), strict=True):
            for number, place in enumerate(some):
                found[place] = states[:, number, : len(rows[place].ids)]
        return found
