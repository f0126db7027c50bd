"""Weights as named numpy arrays in one safetensors file: numbers only, never code."""

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from softquery.bundle.folder_layout import refuse

Array = NDArray[np.generic]

_NUMPY = {"F64", "F32", "F16", "I64", "U64", "I32", "U32", "I16", "U16", "I8", "U8", "BOOL"}
_RESERVED = "__metadata__"


def weights_to_bytes(weights: Mapping[str, Array]) -> bytes:
    """The content of a `model.safetensors` file.

    >>> len(weights_to_bytes({"bias": np.zeros(3, dtype=np.float32)})) % 4
    0
    """
    if _RESERVED in weights:
        raise ValueError(f"{_RESERVED!r} cannot be the name of a weight")
    plain = {name: _storable(name, array) for name, array in weights.items()}
    return bytes(save(plain, metadata={"format": "softquery"}))


def weights_fingerprint(weights: Mapping[str, Array]) -> str:
    """A hash of named arrays: of names, types, shapes and contents, in whatever order they come.

    >>> one = {"b": np.zeros(2, np.int8), "a": np.ones(1, np.float32)}
    >>> weights_fingerprint(one) == weights_fingerprint(dict(reversed(one.items())))
    True
    >>> weights_fingerprint(one) == weights_fingerprint({**one, "b": np.zeros(2, np.int16)})
    False
    """
    digest = blake2b(digest_size=16)
    for name in sorted(weights):
        array = np.asarray(weights[name], order="C")
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def check_weights(path: Path) -> dict[str, str]:
    """The dtype of every weight, after checking the header against the file's true length."""
    try:
        with safe_open(path, framework="np") as opened:
            kinds = {name: opened.get_slice(name).get_dtype() for name in opened.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        refuse(path, f"damaged or not a safetensors file ({error})")
    for name, kind in kinds.items():
        if kind not in _NUMPY and kind != "BF16":
            refuse(path, f"weight {name!r} has dtype {kind}, which numpy cannot hold")
    return kinds


def read_weights(path: Path) -> dict[str, Array]:
    """Every weight by name; bfloat16, which numpy lacks, is widened to float32 without loss."""
    kinds = check_weights(path)
    with safe_open(path, framework="np") as opened:
        weights = {name: opened.get_tensor(name) for name in kinds if kinds[name] in _NUMPY}
    narrow = [name for name in kinds if kinds[name] == "BF16"]
    return {**weights, **(_read_bfloat16(path, narrow) if narrow else {})}


def _read_bfloat16(path: Path, names: list[str]) -> dict[str, Array]:
    """Bits of bfloat16 are the upper half of float32's; the header was checked before."""
    with path.open("rb") as file:
        header_size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(header_size))
        wide: dict[str, Array] = {}
        for name in names:
            begin, end = header[name]["data_offsets"]
            file.seek(8 + header_size + begin)
            bits = np.frombuffer(file.read(end - begin), dtype="<u2").astype(np.uint32) << 16
            wide[name] = bits.view(np.float32).reshape(header[name]["shape"])
    return wide


def _storable(name: str, array: Array) -> Array:
    plain = np.asarray(array)
    if plain.dtype.kind not in "fiub" or plain.dtype.itemsize > 8:
        raise ValueError(f"weight {name!r} has dtype {plain.dtype}, which cannot be stored")
    # The writer reads memory as it lies, so a view must first be laid out as it looks.
    return np.asarray(plain, order="C")
