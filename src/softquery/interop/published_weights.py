"""The tensors of a published folder, checked one by one. Needs no torch, and never unpickles."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from softquery.bundle.opening import read_weights
from softquery.errors import InputError
from softquery.plain_files import check_plain

CONFIG, WEIGHTS, PICKLED = "config.json", "model.safetensors", "pytorch_model.bin"
Arrays = Mapping[str, Any]
Shape = tuple[int, ...]
Named = tuple[str, str, Shape]
"""The name there, the name here, and the shape of a weight."""


def check_folder(folder: Path) -> None:
    """Refuse what is not a folder."""
    if not folder.is_dir():
        raise InputError("no such folder" if not folder.exists() else "is a file", source=folder)


def read_arrays(folder: Path, plain: Callable[[str], str] = lambda name: name) -> dict[str, Any]:
    """The arrays of a folder, by their names without prefix.

    Args:
        folder: With `model.safetensors`; weights in pickle form are refused.
        plain: What a name of the file becomes.
    """
    path = folder / WEIGHTS
    if not path.exists() and (folder / PICKLED).exists():
        raise InputError(
            f"weights in pickle form can run code and are never loaded; expected {WEIGHTS}",
            source=folder / PICKLED,
        )
    try:
        check_plain(path)
    except FileNotFoundError:
        raise InputError("no such file", source=path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=path) from None
    return {plain(name): array for name, array in read_weights(path).items()}


def converted(
    arrays: Arrays, names: Iterable[Named], source: Path, config: str = CONFIG
) -> dict[str, Any]:
    """The tensors of these names as float32, by our names.

    Args:
        arrays: What a file holds; others than those named are left out.
        names: What is needed.
        source: The file, for messages.
        config: The name of the file that says their sizes, for messages.
    """
    return {ours: checked(arrays, theirs, shape, source, config) for theirs, ours, shape in names}


def checked(arrays: Arrays, name: str, shape: Shape, source: Path, config: str = CONFIG) -> Any:
    """One tensor as float32; refused where it is missing, misshapen or not finite."""
    if name not in arrays:
        raise InputError(f"the tensor {name} is missing", source=source)
    array = arrays[name]
    if array.shape != shape:
        raise InputError(
            f"the tensor {name} has the shape {array.shape}, but by {config} it should be {shape}",
            source=source,
        )
    if array.dtype.kind != "f" or not np.isfinite(array).all():
        raise InputError(
            f"the tensor {name} holds values that are not finite numbers", source=source
        )
    return array.astype(np.float32)
