"""Writing a model folder, and changing what it says about itself: whole or not at all."""

import json
import os
import shutil
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from softquery.atomic import atomic_folder, write_text
from softquery.bundle.card import calibration_lines
from softquery.bundle.config import (
    CALIBRATION,
    CARD,
    CONFIG,
    GRAPHS,
    METRICS,
    RECORDS,
    SOURCE_TOKENIZER,
    TOKENIZER,
    WEIGHTS,
    BundleConfig,
    refuse,
    to_json,
)
from softquery.bundle.opening import Array, Bundle, read_bundle, weights_to_bytes
from softquery.errors import InputError


def write_bundle(
    folder: str | PathLike[str],
    *,
    config: BundleConfig,
    tokenizer_json: str,
    weights: Mapping[str, Array],
    metrics: Mapping[str, Any],
    card: str,
    calibration: Mapping[str, Any] | None = None,
    source_tokenizer_json: str | None = None,
    graphs: Mapping[str, bytes] | None = None,
    records: str | PathLike[str] | None = None,
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
        source_tokenizer_json: The text of `source_tokenizer.json`, where a generator has one.
        graphs: The files of `onnx/` by name, where the model was exported.
        records: A folder that tells how the model came to be; copied to `training/`.
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
    if source_tokenizer_json is not None:
        _check_tokenizer(source_tokenizer_json)
        contents[SOURCE_TOKENIZER] = source_tokenizer_json.encode("utf-8")
    contents[WEIGHTS] = weights_to_bytes(weights)
    contents |= {f"{GRAPHS}/{name}": content for name, content in (graphs or {}).items()}
    _check_place(target, replace=replace)
    try:
        _place_whole(target, contents, None if records is None else Path(records), replace=replace)
    except InputError as error:
        refuse(target, error.message)
    except shutil.Error as error:  # one entry per file; the first says enough
        refuse(target, f"cannot be written ({error.args[0][0][2]})")
    except OSError as error:
        refuse(target, f"cannot be written ({error.strerror or error})")
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


def _place_whole(
    target: Path, contents: Mapping[str, bytes], records: Path | None, *, replace: bool
) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(target, replace=replace) as fresh:
        for name, content in contents.items():
            (fresh / name).parent.mkdir(exist_ok=True)
            (fresh / name).write_bytes(content)
        if records is not None:
            # A process that was killed while writing a record may have left half of it.
            shutil.copytree(records, fresh / RECORDS, ignore=shutil.ignore_patterns(".*.tmp"))
        read_bundle(fresh)


def update_bundle(bundle: Bundle, *, calibration: Mapping[str, Any]) -> Path:
    """Write a calibration and show it in the card; each file whole, the calibration last.

    Args:
        bundle: The folder to change.
        calibration: What `calibration.json` shall hold; no NaN.
    """
    text = to_json(calibration)
    try:
        body = calibration_lines(calibration)
        write_text(bundle.path / CARD, with_section(bundle.card, "Calibration", body))
        write_text(bundle.path / CALIBRATION, text)
    except InputError as error:
        refuse(bundle.path, error.message)
    return bundle.path


def with_section(card: str, title: str, body: list[str]) -> str:
    """A card with one of its sections replaced, or added at the end.

    Args:
        card: In Markdown.
        title: The section's heading.
        body: Its lines.
    """
    lines = card.splitlines()
    heading = f"## {title}"
    section = [heading, "", *body, ""]
    if heading not in lines:
        return "\n".join([*lines, "", *section])
    start = lines.index(heading)
    rest = (place for place in range(start + 1, len(lines)) if lines[place].startswith("## "))
    end = next(rest, len(lines))
    return "\n".join([*lines[:start], *section, *lines[end:]]).rstrip("\n") + "\n"
