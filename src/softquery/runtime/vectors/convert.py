"""Word vectors from and to the files of other tools."""

from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from softquery import __version__
from softquery.bundle import Card, CardData, make_card
from softquery.bundle.vectors import KIND, write_vector_bundle
from softquery.errors import InputError
from softquery.files import read_vectors_and_ngrams, write_vectors
from softquery.files.fasttext_files import FastTextVectors
from softquery.files.vector_files import Form, OnBad
from softquery.runtime.vectors.model import WordVectors, file_text


def import_vectors(
    path: str | PathLike[str], output: str | PathLike[str], *, on_bad: OnBad = None
) -> Path:
    """Make a bundle of a file of word vectors of GloVe, word2vec or fastText.

    Args:
        path: The file, plain or compressed.
        output: The bundle to write; it must not exist.
        on_bad: Takes each bad row of a text file instead of its error being raised.

    Raises:
        InputError: The file is damaged.
        BundleError: The place is taken.
    """
    target = Path(output)
    if target.exists():
        raise InputError("already exists; name another --output", source=target)
    vectors, ngrams = read_vectors_and_ngrams(path, on_bad=on_bad)
    if not vectors.words:
        raise InputError("holds no words", source=path)
    text = file_text(vectors.words, ngrams)
    name = Path(path).name
    card = Card(
        name=target.name,
        purpose=f"Word vectors of {vectors.size} numbers, imported from {name}.",
        languages=[],
        licence="unstated",
        data=[CardData(name=name, rows=len(vectors.words), licence="unstated")],
        training={"imported from": name},
        numbers=[],
        limits=["How the words were cut and counted is not recorded in the file."],
    )
    return write_vector_bundle(
        target,
        words=vectors.words,
        matrix=vectors.matrix,
        text=text,
        library_version=__version__,
        card=make_card(card, kind=KIND),
        **_parts({"words": len(vectors.words), "width": vectors.size}, ngrams),
    )


def _parts(facts: dict[str, int], found: FastTextVectors | None) -> dict[str, Any]:
    """What a bundle holds besides its words: of a fastText file, counts and n-grams."""
    if found is None:
        return {"model": {"name": KIND}, "metrics": facts}
    shortest, longest, num_buckets = found.settings
    if not num_buckets:
        return {"model": {"name": KIND}, "metrics": facts, "counts": found.counts}
    config = {"min_ngram": shortest, "max_ngram": longest, "num_buckets": num_buckets}
    return {
        "model": {"name": KIND, "config": config},
        "metrics": {**facts, "buckets of n-grams": num_buckets},
        "counts": found.counts,
        "further": {"buckets": np.arange(num_buckets), "ngrams": found.ngrams},
    }


def export_vectors(vectors: WordVectors, path: str | PathLike[str], *, form: Form) -> None:
    """Write vectors in a form that gensim, GloVe's and word2vec's own tools read.

    Args:
        vectors: What to write; n-grams have no place in these forms and stay behind.
        path: The file; an ending in .gz, .xz or .bz2 compresses it.
        form: `"glove"`, `"word2vec"` or `"word2vec-binary"`.
    """
    write_vectors(fspath(path), vectors.vectors, form=form)
