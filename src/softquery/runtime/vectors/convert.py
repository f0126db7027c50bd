"""Word vectors from and to the files of other tools."""

from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from softquery import __version__
from softquery.bundle import RECORDS, Card, CardData, make_card, read_bundle
from softquery.bundle.vectors import KIND, write_vector_bundle
from softquery.errors import BundleError, InputError
from softquery.files import VectorTable, read_vectors_and_ngrams, write_vectors
from softquery.files.fasttext_files import FastTextVectors
from softquery.files.vector_files import Form, OnBad
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.kinds import check_kind
from softquery.runtime.vectors.model import WordVectors, file_text, vectors_of
from softquery.zoo import resolve


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


def export_vectors(
    vectors: WordVectors, path: str | PathLike[str], *, form: Form, num_words: int | None = None
) -> int:
    """Write vectors in a form that gensim, GloVe's and word2vec's own tools read.

    Args:
        vectors: What to write; n-grams have no place in these forms and stay behind.
        path: The file; an ending in .gz, .xz or .bz2 compresses it.
        form: `"glove"`, `"word2vec"` or `"word2vec-binary"`.
        num_words: How many words to write, the most frequent ones; all by default.

    Returns:
        How many words were written.
    """
    table = vectors.vectors
    some = VectorTable(table.words[:num_words], table.matrix[:num_words])
    write_vectors(fspath(path), some, form=form)
    return len(some.words)


def shrink_vectors(
    name_or_path: str | PathLike[str], output: str | PathLike[str], *, num_words: int | None = None
) -> int:
    """Write the most frequent words of a bundle as int8, a quarter of the size, as another bundle.

    Args:
        name_or_path: A bundle of word vectors.
        output: The bundle to write; it must not exist.
        num_words: How many words to keep; all by default.

    Returns:
        How many words were kept.

    Raises:
        BundleError: It is no bundle of word vectors, or its words are made of n-grams.
    """
    target = Path(output)
    if target.exists():
        raise InputError("already exists; name another --output", source=target)
    bundle = read_bundle(resolve(name_or_path))
    check_kind(bundle, KIND)
    opened = vectors_of(bundle)
    if opened.subwords is not None:
        raise BundleError(
            f"{bundle.path}: its words are made of n-grams, which int8 has no form for"
        )
    words, matrix = opened.words[:num_words], opened.vectors.matrix[:num_words]
    model, counts = bundle.config.model, bundle.read_weights().get("counts")
    if counts is not None:
        places = {word: place for place, word in enumerate(fitting_pipeline(bundle).vocabulary())}
        counts = np.asarray(counts, dtype=np.int64)[[places[word] for word in words]]
    records = bundle.path / RECORDS
    write_vector_bundle(
        target,
        words=words,
        matrix=matrix,
        text=opened.text,
        model=model,
        library_version=__version__,
        metrics={**bundle.metrics, "kept": {"words": len(words), "of": len(opened.words)}},
        card=bundle.card.replace(f"\n# {bundle.path.name}\n", f"\n# {target.name}\n", 1),
        counts=counts,
        storage="int8",
        records=records if records.is_dir() else None,
    )
    return len(words)
