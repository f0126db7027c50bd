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

AWAKE = 50
"""Microseconds that an idle thread waits for the next product before it sleeps."""


def open_session(
    folder: Path, name: str, weights: Mapping[str, NDArray[Any]], *, threads: int = 1
) -> onnxruntime.InferenceSession:
    """A session over a graph file that holds no weights.

    Args:
        folder: The bundle.
        name: The graph, such as `"encode"`.
        weights: As `arrange` lays them out; the session shares their memory.
        threads: That share one call. Mostly one: batches run beside each other instead (see
            `OnnxBackend`).
    """
    path = folder / FOLDER / f"{name}.onnx"
    used = _used(folder, name, weights)
    content = _read(folder, path)
    options = _options(threads)
    # Without a folder the library would look for undeclared weights in the working directory.
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(path.parent.resolve())
    )
    try:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(weights[each]) for each in used]
        options.add_external_initializers(used, values)
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library raises several kinds, none of them public
        raise BundleError(f"{path}: cannot be run ({short_reason(error)})") from None


def _options(threads: int) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # The library would remember a plan of its memory for every shape it has met, for ever.
    options.enable_mem_pattern = False
    if threads > 1:
        # Asleep between two products, a thread would come too late for the second; awake for
        # longer than that, it would take time from others.
        options.add_session_config_entry("session.intra_op.spin_duration_us", str(AWAKE))
        options.add_session_config_entry("session.force_spinning_stop", "1")
    return options


def short_reason(error: Exception) -> str:
    """What ONNX Runtime says, in one short line."""
    return " ".join(str(error).split())[:300]


def used_weights(folder: Path, name: str) -> list[str]:
    """The names of the weights that a graph takes; names alone, never places on the disk.

    Args:
        folder: The bundle.
        name: The graph, such as `"encode"`.
    """
    path = folder / FOLDER / USED
    try:
        table = json.loads(_read(folder, path))
        used = table[name]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise BundleError(f"{path}: expected a JSON object that lists {name}'s weights") from None
    if not isinstance(used, list) or not all(isinstance(each, str) for each in used):
        raise BundleError(f"{path}: expected a list of names for {name}")
    return used


def _used(folder: Path, name: str, weights: Mapping[str, NDArray[Any]]) -> list[str]:
    used = used_weights(folder, name)
    if missing := [each for each in used if each not in weights]:
        place = folder / FOLDER / USED
        raise BundleError(f"{place}: {name} takes {missing[0]!r:.80}, which the bundle has not")
    return used


def _read(folder: Path, path: Path) -> bytes:
    """A file of the bundle; a link that leads out of it is not followed."""
    try:
        if folder.resolve() not in path.resolve().parents:
            raise BundleError(f"{path}: is a link that leads out of the model folder")
        return path.read_bytes()
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BundleError(f"{path}: cannot be read ({reason})") from None
