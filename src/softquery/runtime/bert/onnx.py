"""A BERT with a head on ONNX Runtime: torch-free, and safe from many threads."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.bert.rows import BertRow, Floats, batches, padded, unpadded
from softquery.runtime.graph_weights import arrange
from softquery.runtime.match.onnx import stored_weights
from softquery.runtime.onnx_session import FOLDER, open_session, short_reason
from softquery.runtime.tag.decode_tags import Chain

GRAPH = "answer"
"""The name of the graph."""
WORDS = "encoder.embedding.words.weight"


class OnnxBert:
    """The `answer` graph of an exported bundle; threads take whole batches.

    Args:
        bundle: With its `onnx/` folder.
        threads: How many batches are computed at a time; None for one a core.
    """

    def __init__(self, bundle: Bundle, threads: int | None = None) -> None:
        stored = stored_weights(bundle)
        try:
            weights = arrange(stored)
            found = len(stored[WORDS])
            self.chain = _chain(stored)
        except (KeyError, ValueError, IndexError, TypeError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else short_reason(error)
            place = bundle.weights_path
            raise BundleError(f"{place}: does not fit the graphs ({reason})") from None
        settings = bundle.config.model["config"]
        if found != settings["encoder"].get("vocab_size"):
            raise BundleError(
                f"{bundle.weights_path}: holds vectors of {found} pieces, "
                f"but config.json says {settings['encoder'].get('vocab_size')}"
            )
        self._session = open_session(bundle.path, GRAPH, weights)
        self._outputs = {each.name for each in self._session.get_outputs()}
        count = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(count, "softquery") if count > 1 else None
        self._try_out(bundle, found, settings.get("output_size"))

    @property
    def name(self) -> str:
        """What computes."""
        return "onnx"

    def answers(self, rows: Sequence[BertRow]) -> list[Floats]:
        """What the head says of each row: [C], or [T, C] where every piece is judged."""
        found: list[Floats] = [np.empty(0, dtype=np.float32)] * len(rows)
        places = batches(rows)

        def answered(some: list[int]) -> list[Floats]:
            chosen = [rows[place] for place in some]
            return unpadded(self._session.run(["answer"], padded(chosen))[0], chosen)

        run = map if self._pool is None or len(places) == 1 else self._pool.map
        for some, answers in zip(places, run(answered, places), strict=True):
            for place, answer in zip(some, answers, strict=True):
                found[place] = answer
        return found

    def looks(self, row: BertRow) -> Floats:
        """Whom the first piece of one row asked in the highest layer: [T]."""
        weights: Floats = self._session.run(["weights"], padded([row]))[0][0]
        return weights

    def _try_out(self, bundle: Bundle, vocab_size: int, output_size: int | None) -> None:
        """Answer once, so that a graph and weights that do not belong together are found now."""
        place = bundle.path / FOLDER
        try:
            (found,) = self.answers([BertRow([vocab_size - 1], 1)])
        except Exception as error:  # the library raises several kinds, none of them public
            raise BundleError(f"{place}: cannot be run ({short_reason(error)})") from None
        if found.shape[-1:] != (output_size,):
            raise BundleError(
                f"{place}: the graphs give {found.shape[-1]} outputs, "
                f"but config.json says {output_size}"
            )


def _chain(stored: dict[str, Floats]) -> Chain | None:
    if "crf.between" not in stored:
        return None
    return Chain(*(stored[f"crf.{name}"].astype(np.float32) for name in Chain._fields))
