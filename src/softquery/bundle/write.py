"""Writing a model folder: whole or not at all."""

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from softquery.bundle.config import BundleConfig
from softquery.bundle.layout import (
    CALIBRATION,
    CARD,
    CONFIG,
    METRICS,
    TOKENIZER,
    WEIGHTS,
    refuse,
    to_json,
)
from softquery.bundle.read import read_bundle
from softquery.bundle.weights import Array, weights_to_bytes


def write_bundle(
    folder: str | PathLike[str],
    *,
    config: BundleConfig,
    tokenizer_json: str,
    weights: Mapping[str, Array],
    metrics: Mapping[str, Any],
    card: str,
    calibration: Mapping[str, Any] | None = None,
    replace: bool = False,
) -> Path:
    """Write a model folder beside its place, read it back, and only then give it its name.

    Args:
        folder: Where the bundle shall lie; its parents are made.
        config: What the model is.
        tokenizer_json: The text of `tokenizer.json`.
        weights: Named arrays of numbers or booleans.
        metrics: What was measured; no NaN.
        card: The model card, in Markdown.
        calibration: Temperature and thresholds, where they were fitted.
        replace: Whether a bundle that is already there gives way; anything else never does.

    Returns:
        The folder.

    Raises:
        BundleError: The place is taken, or the disk refuses.
        ValueError: A weight or number that no bundle can hold.
    """
    target = Path(folder)
    _check_tokenizer(tokenizer_json)
    texts = {CONFIG: config.to_dict(), METRICS: metrics, CALIBRATION: calibration}
    contents = {
        name: to_json(data).encode("utf-8") for name, data in texts.items() if data is not None
    }
    contents |= {TOKENIZER: tokenizer_json.encode("utf-8"), CARD: card.encode("utf-8")}
    contents[WEIGHTS] = weights_to_bytes(weights)
    _check_place(target, replace=replace)
    try:
        _place_whole(target.resolve(), contents, replace=replace)
    except OSError as error:
        refuse(target, f"could not be written ({error.strerror or error})")
    return target


def _check_place(target: Path, *, replace: bool) -> None:
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        refuse(target, "is in the way: not a folder")
    if not any(target.iterdir()):
        return
    if not replace:
        refuse(target, "already exists; name another folder or ask to replace it")
    if not (target / CONFIG).is_file():
        refuse(target, f"is not replaced, because it is no model folder (no {CONFIG})")


def _check_tokenizer(text: str) -> None:
    try:
        fits = isinstance(json.loads(text), dict)
    except ValueError as error:
        raise ValueError(f"tokenizer_json is broken: {error}") from None
    if not fits:
        raise ValueError(f"tokenizer_json must be a JSON object, got {text[:40]!r}")


def _place_whole(target: Path, contents: Mapping[str, bytes], *, replace: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    mark = uuid.uuid4().hex[:12]
    fresh = target.parent / f".{target.name}.{mark}.partial"
    # Not tempfile.mkdtemp, whose folders only their owner may read.
    fresh.mkdir()
    try:
        for name, content in contents.items():
            _write_synced(fresh / name, content)
        read_bundle(fresh)
        if replace and target.exists():
            _swap(fresh, target, aside=target.parent / f".{target.name}.{mark}.old")
        else:
            _settle(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _settle(fresh: Path, target: Path) -> None:
    """Give `fresh` its name where at most an empty folder lies; fails if it was filled since."""
    with contextlib.suppress(FileNotFoundError):
        target.rmdir()
    fresh.rename(target)


def _swap(fresh: Path, target: Path, *, aside: Path) -> None:
    """Give `fresh` its name; what lay there steps aside first and returns if that fails.

    Killed between the two renames, both folders are complete beside their place, hidden.
    """
    target.rename(aside)
    try:
        fresh.rename(target)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)
