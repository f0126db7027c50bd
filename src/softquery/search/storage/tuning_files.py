"""The files of a tuning: what was learned from queries, kept in the index that it is for.

| place | holds |
|---|---|
| `tunings/NAME/tuning.json` | numbers, the ids that answered each query, what was measured |
| `tunings/NAME/vectors.bin` | the vectors of labelled queries, in half precision; none of a log |
| `tunings/NAME/matcher/`, `encoder/` | models that were trained for the index, if any were |

A tuning is written once, as a whole; the manifest names the one that counts.
"""

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.atomic import atomic_folder
from softquery.search.storage.index_files import (
    FolderWriter,
    check_finite,
    checksum,
    damaged,
    mapped,
    read_json,
)
from softquery.search.storage.index_folder import TUNINGS, refuse_links
from softquery.search.storage.json_fields import Expected, check_fields, whole_number
from softquery.search.storage.manifest import CHECKSUM, Manifest, TuningEntry

TUNING, VECTORS = "tuning.json", "vectors.bin"
FORMAT = 1
_OBJECT = Expected("an object", lambda value: isinstance(value, dict))
_IDS = Expected(
    "lists of ids",
    lambda value: (
        isinstance(value, list)
        and all(
            isinstance(each, list) and all(isinstance(key, str) for key in each) for each in value
        )
    ),
)
_FIELDS = {
    "format": whole_number(FORMAT, FORMAT),
    "library_version": Expected("a text", lambda value: isinstance(value, str)),
    "score": _OBJECT,
    "curve": _OBJECT,
    "relevant": _IDS,
    "vectors_crc": CHECKSUM,
    "before": _OBJECT,
    "report": _OBJECT,
}


@dataclass(frozen=True, slots=True)
class StoredTuning:
    """What a tuning holds.

    Attributes:
        folder: Where.
        score: The correction of the score.
        curve: What was seen at each threshold.
        relevant: The ids that answer each remembered query.
        vectors: Those of the queries: [M, D].
        before: The settings that the tuning replaced.
        report: What was measured, and on what.
    """

    folder: Path
    score: Mapping[str, Any]
    curve: Mapping[str, Any]
    relevant: Sequence[Sequence[str]]
    vectors: NDArray[np.float32]
    before: Mapping[str, Any]
    report: Mapping[str, Any]


def new_tuning(folder: Path, manifest: Manifest) -> Path:
    """The folder for a tuning that is yet to be written."""
    place = folder / TUNINGS
    place.mkdir(exist_ok=True)
    return place / f"{manifest.generation + 1:06d}-{secrets.token_hex(4)}"


def write_tuning(
    place: Path, content: Mapping[str, Any], vectors: NDArray[np.float32], version: str
) -> TuningEntry:
    """Write a tuning; it appears as a whole.

    Args:
        place: Does not exist yet.
        content: `score`, `curve`, `relevant`, `before` and `report`.
        vectors: Those of the queries: [M, D].
        version: That of softquery.
    """
    with atomic_folder(place) as building:
        writer = FolderWriter(building)
        writer.write_array(VECTORS, vectors.astype(np.float16))
        facts = {
            "format": FORMAT,
            "library_version": version,
            **content,
            "vectors_crc": writer.checksums[VECTORS].crc,
        }
        text = json.dumps(facts, ensure_ascii=False, allow_nan=False) + "\n"
        writer.write(TUNING, text.encode("utf-8"))
    return TuningEntry(name=place.name, crc=writer.checksums[TUNING].crc)


def read_tuning(folder: Path, manifest: Manifest) -> StoredTuning | None:
    """The tuning that a manifest names, if it names one.

    Raises:
        InputError: It is damaged.
        FileNotFoundError: It is missing.
    """
    if manifest.tuning is None:
        return None
    refuse_links(folder / TUNINGS)
    place = folder / TUNINGS / manifest.tuning.name
    refuse_links(place)
    path = place / TUNING
    if checksum(path) != manifest.tuning.crc:
        raise damaged(path, "its checksum differs")
    try:
        data = check_fields(read_json(path), _FIELDS, "the tuning")
    except ValueError as error:
        raise damaged(path, str(error)) from None
    count, size = len(data["relevant"]), manifest.vector_size
    vectors = _vectors(place / VECTORS, data["vectors_crc"], count, size)
    if vectors.shape[1] != manifest.vector_size:
        raise damaged(place / VECTORS, "its vectors are not as wide as those of the index")
    names = ("score", "curve", "relevant", "before", "report")
    score, curve, relevant, before, report = (data[name] for name in names)
    return StoredTuning(place, score, curve, relevant, vectors, before, report)


def _vectors(path: Path, crc: int, count: int, size: int) -> NDArray[np.float32]:
    held = os.stat(path).st_size
    if held % (2 * count) if count else held:
        raise damaged(path, f"does not hold {count:,} vectors")
    if checksum(path) != crc:
        raise damaged(path, "its checksum differs")
    if not count:
        return np.zeros((0, size), dtype=np.float32)
    found = mapped(path, np.float16).reshape(count, -1).astype(np.float32)
    check_finite(path, found)
    return found
