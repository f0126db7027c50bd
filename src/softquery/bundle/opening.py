"""Reading a model folder: whatever is wrong with it is said here, in one line."""

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from softquery.bundle.config import BundleConfig
from softquery.bundle.folder_layout import (
    CALIBRATION,
    CARD,
    CONFIG,
    GRAPHS,
    METRICS,
    REQUIRED,
    SOURCE_TOKENIZER,
    TOKENIZER,
    WEIGHTS,
    read_object,
    read_text,
    refuse,
)
from softquery.bundle.weights import Array, check_weights, read_weights
from softquery.errors import BundleError

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
