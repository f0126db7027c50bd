"""Word vectors as a bundle: a vocabulary, and one row per word."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softquery.bundle.config import BundleConfig
from softquery.bundle.opening import Array
from softquery.bundle.writing import write_bundle
from softquery.text import TextConfig, pipeline_from_words

KIND = "vectors"
SCALES = "vectors:scale"
"""The weight that rows of whole numbers are to be multiplied by, one number a row."""
Storage = Literal["float32", "int8"]
"""How rows are stored: as they are, or as int8 with one scale a row, a quarter of the size."""
LARGEST = 127


def write_vector_bundle(
    folder: str | PathLike[str],
    *,
    words: Sequence[str],
    matrix: NDArray[np.float32],
    text: TextConfig,
    model: Mapping[str, Any],
    library_version: str,
    metrics: Mapping[str, Any],
    card: str,
    counts: NDArray[np.int64] | None = None,
    further: Mapping[str, Array] | None = None,
    storage: Storage = "float32",
    records: str | PathLike[str] | None = None,
) -> Path:
    """Write word vectors as a model folder, whole or not at all.

    The weight `vectors` has a row for each entry of the vocabulary, those of the reserved tokens
    being zero unless a word is spelt like one of them; `counts` has a number for each.

    Args:
        folder: Where the bundle shall lie.
        words: Each once, most frequent first.
        matrix: Their vectors.
        text: How words are spelt.
        model: Name and config; its sizes are filled in.
        library_version: The softquery that writes.
        metrics: What was measured.
        card: The model card.
        counts: How often each word was seen, where that is known.
        further: Other weights.
        storage: How the rows are stored.
        records: A folder that tells how the vectors came to be.

    Raises:
        BundleError: The place is taken, or the disk refuses.
    """
    pipeline = pipeline_from_words(words, text)
    ids = pipeline.tokenizer.get_vocab()
    places = np.array([ids[word] for word in words], dtype=np.int64)
    table = np.zeros((pipeline.vocab_size, matrix.shape[1]), dtype=np.float32)
    table[places] = matrix
    weights: dict[str, Array] = {**stored_rows(table, storage), **(further or {})}
    if counts is not None:
        weights["counts"] = np.zeros(len(table), dtype=np.int64)
        weights["counts"][places] = counts
    sizes = {"vocab_size": pipeline.vocab_size, "embedding_size": matrix.shape[1]}
    return write_bundle(
        folder,
        config=BundleConfig(
            kind=KIND,
            model={"name": model["name"], "config": {**model.get("config", {}), **sizes}},
            task={"name": KIND},
            text=text.to_dict(),
            library_version=library_version,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights=weights,
        metrics=metrics,
        card=card,
        records=records,
    )


def stored_rows(table: NDArray[np.float32], storage: Storage) -> dict[str, Array]:
    """The weights that rows are stored as.

    The largest number of a row becomes 127 or -127, so that directions change by little.

    >>> found = stored_rows(np.array([[1.0, -2.0], [0.0, 0.0]], np.float32), "int8")
    >>> found["vectors"].tolist(), found["vectors:scale"].round(4).tolist()
    ([[64, -127], [0, 0]], [0.015699999406933784, 0.0])
    """
    if storage == "float32":
        return {"vectors": table}
    scales = np.abs(table).max(axis=1, initial=0.0) / np.float32(LARGEST)
    whole = np.rint(table / np.where(scales > 0, scales, 1)[:, None])
    return {"vectors": whole.astype(np.int8), SCALES: scales.astype(np.float32)}
