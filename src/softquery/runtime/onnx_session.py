"""ONNX Runtime sessions whose weights are handed in."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnxruntime
from numpy.typing import NDArray

from softquery.errors import BundleError

FOLDER, USED = "onnx", "weights.json"
"""Where a bundle keeps its graphs, and which weights each of them uses."""


def open_session(
    folder: Path, name: str, weights: Mapping[str, NDArray[Any]], *, threads: int | None
) -> onnxruntime.InferenceSession:
    """A session over a graph file that holds no weights.

    Args:
        folder: The bundle.
        name: The graph, such as `"encode"`.
        weights: As `arrange` lays them out; the session shares their memory.
        threads: How many threads one call may use; None for all cores.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or 0
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    path = folder / FOLDER / f"{name}.onnx"
    try:
        used = json.loads((folder / FOLDER / USED).read_text(encoding="utf-8"))[name]
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(weights[each]) for each in used]
        options.add_external_initializers(used, values)
        return onnxruntime.InferenceSession(
            path.read_bytes(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the library raises several kinds, none of them public
        reason = " ".join(str(error).split())[:300]
        raise BundleError(f"{path}: cannot be run ({reason})") from None
