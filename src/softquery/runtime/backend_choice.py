"""What computes: ONNX Runtime, or torch. Needs neither."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from softquery.bundle import Bundle
from softquery.errors import BundleError, ConfigError, MissingExtra

Backend = Literal["auto", "onnx", "torch"]


def choose_backend(
    bundle: Bundle, backend: Backend, threads: int | None, device: str | None
) -> Literal["onnx", "torch"]:
    """The backend that was asked for, if it can be had; by itself that which needs no torch."""
    if backend not in ("auto", "onnx", "torch"):
        raise ConfigError(f"backend must be 'auto', 'onnx' or 'torch', got {backend!r}")
    if threads is not None and threads < 1:
        raise ConfigError(f"threads must be at least 1, got {threads}")
    if threads is not None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if backend == "auto":
        return "onnx" if bundle.is_exported and device is None else "torch"
    if backend == "torch":
        return "torch"
    if device is not None:
        raise ConfigError(f"device {device!r} is for backend 'torch', not for 'onnx'")
    if not bundle.is_exported:
        raise BundleError(f"{bundle.path}: not exported yet; run `softquery export` on it")
    return "onnx"


@contextmanager
def needs_torch(needed_for: str = "running a model on torch") -> Iterator[None]:
    """Around imports of what runs on torch: where it is missing, the extra is named."""
    try:
        yield
    except ImportError as error:
        if error.name and error.name.split(".")[0] in ("torch", "jaxtyping"):
            raise MissingExtra("train", needed_for=needed_for) from None
        raise
