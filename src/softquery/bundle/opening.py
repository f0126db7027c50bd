"""Reading a model folder: whatever is wrong with it is said here, in one line.

Weights are named numpy arrays in one safetensors file: numbers only, never code.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from softquery.bundle.config import (
    CALIBRATION,
    CARD,
    CONFIG,
    GRAPHS,
    METRICS,
    REPORT,
    REQUIRED,
    SOURCE_TOKENIZER,
    TOKENIZER,
    WEIGHTS,
    BundleConfig,
    read_object,
    read_text,
    refuse,
)
from softquery.errors import BundleError
from softquery.plain_files import is_mostly_holes

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
    if is_mostly_holes(path):
        refuse(path, "was hardly written to: a sparse file, which takes far more memory than disk")
    try:
        with safe_open(path, framework="np") as opened:
            kinds = {name: opened.get_slice(name).get_dtype() for name in opened.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        refuse(path, f"damaged or not a safetensors file ({error})")
    for name, kind in kinds.items():
        if kind not in _NUMPY and kind != "BF16":
            refuse(path, f"weight {name!r} has dtype {kind}, which numpy cannot hold")
    return kinds


def read_weights(path: Path, names: Collection[str] | None = None) -> dict[str, Array]:
    """Every weight by name, or some; bfloat16 is widened to float32, as numpy lacks it."""
    kinds = check_weights(path)
    kinds = {name: kind for name, kind in kinds.items() if names is None or name in names}
    try:
        with safe_open(path, framework="np") as opened:
            weights = {name: opened.get_tensor(name) for name in kinds if kinds[name] in _NUMPY}
        narrow = [name for name in kinds if kinds[name] == "BF16"]
        return {**weights, **(_read_bfloat16(path, narrow) if narrow else {})}
    except MemoryError:
        refuse(path, "takes more memory than there is")


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


_PICKLED = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bundle:
    """A model folder that was found whole; its weights stay on the disk until asked for."""

    path: Path
    config: BundleConfig
    metrics: dict[str, Any] = field(default_factory=dict)
    calibration: dict[str, Any] | None = None
    card: str = ""

    @property
    def tokenizer_path(self) -> Path:
        """The `tokenizer.json` of the bundle."""
        return self.path / TOKENIZER

    @property
    def source_tokenizer_path(self) -> Path | None:
        """The tokenizer of the source; None where both sides share one, or there are no sides."""
        path = self.path / SOURCE_TOKENIZER
        return path if path.exists() else None

    @property
    def weights_path(self) -> Path:
        """The `model.safetensors` of the bundle."""
        return self.path / WEIGHTS

    @property
    def is_exported(self) -> bool:
        """Whether there are graphs that run without torch."""
        return (self.path / GRAPHS).is_dir()

    @property
    def report(self) -> dict[str, Any] | None:
        """What a run on a file found and measured, by its `report.json`; None where there is none.

        Raises:
            BundleError: The file is damaged.
        """
        path = self.path / REPORT
        return read_object(path) if path.is_file() else None

    def read_weights(self) -> dict[str, Array]:
        """Every weight by name, bfloat16 widened to float32.

        Raises:
            BundleError: The file is damaged or holds what numpy cannot.
        """
        return read_weights(self.weights_path)


def read_bundle(folder: str | PathLike[str]) -> Bundle:
    """Open a model folder, after checking that it is complete and of a known version.

    Args:
        folder: The folder itself; names from the zoo are resolved by `softquery.zoo`.

    Raises:
        BundleError: Which file is missing, damaged or too new, in one line.

    >>> read_bundle("no/such/model")
    Traceback (most recent call last):
    softquery.errors.BundleError: no/such/model: no such model folder
    """
    root = Path(folder)
    _check_folder(root)
    for name in (*REQUIRED, CALIBRATION, SOURCE_TOKENIZER):
        _check_inside(root, name)
    config = _read_config(root / CONFIG)
    read_object(root / TOKENIZER)
    if (root / SOURCE_TOKENIZER).exists():
        read_object(root / SOURCE_TOKENIZER)
    check_weights(root / WEIGHTS)
    has_calibration = (root / CALIBRATION).exists()
    return Bundle(
        path=root,
        config=config,
        metrics=read_object(root / METRICS),
        calibration=read_object(root / CALIBRATION) if has_calibration else None,
        card=read_text(root / CARD),
    )


def _read_config(path: Path) -> BundleConfig:
    data = read_object(path)
    try:
        return BundleConfig.from_dict(data)
    except BundleError as error:
        refuse(path, error)


def _check_folder(root: Path) -> None:
    try:
        names = {entry.name for entry in root.iterdir()}
    except FileNotFoundError:
        refuse(root, "no such model folder")
    except NotADirectoryError:
        refuse(root, "is a file, but a model is a folder")
    except (OSError, ValueError) as error:
        refuse(root, getattr(error, "strerror", None) or error)
    pickled = sorted(name for name in names if name.lower().endswith(_PICKLED))
    if WEIGHTS not in names and pickled:
        refuse(
            root / pickled[0],
            f"weights in pickle form can run code and are never loaded; expected {WEIGHTS}",
        )
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        refuse(root, f"incomplete model folder, {' and '.join(missing)} missing")


def _check_inside(root: Path, name: str) -> None:
    """A link that leaves the folder could make a shared bundle read any file of its user."""
    path = root / name
    try:
        leaves = path.is_symlink() and root.resolve() not in path.resolve().parents
        is_other = path.exists() and not path.is_file()
    except (OSError, RuntimeError) as error:
        refuse(path, f"cannot be followed ({error})")
    if leaves:
        refuse(path, "is a link that leads out of the model folder")
    if is_other or (path.is_symlink() and not path.exists()):
        refuse(path, "is not a file")
