"""Word vectors from and to the files of other tools."""

from os import PathLike, fspath
from pathlib import Path

from softquery import __version__
from softquery.bundle import Card, CardData, make_card
from softquery.bundle.vectors import KIND, write_vector_bundle
from softquery.errors import InputError
from softquery.files import read_vectors, write_vectors
from softquery.files.vector_files import Form
from softquery.runtime.vectors.model import WordVectors, guessed_text


def import_vectors(path: str | PathLike[str], output: str | PathLike[str]) -> Path:
    """Make a bundle of a file of word vectors, in the form of GloVe or word2vec.

    Args:
        path: The file, plain or compressed.
        output: The bundle to write; it must not exist.

    Raises:
        InputError: The file is damaged.
        BundleError: The place is taken.
    """
    target = Path(output)
    if target.exists():
        raise InputError("already exists; name another --output", source=target)
    vectors = read_vectors(path)
    if not vectors.words:
        raise InputError("holds no words", source=path)
    text = guessed_text(vectors.words)
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
        model={"name": KIND},
        library_version=__version__,
        metrics={"words": len(vectors.words), "width": vectors.size},
        card=make_card(card, kind=KIND),
    )


def export_vectors(space: WordVectors, path: str | PathLike[str], *, form: Form) -> None:
    """Write vectors in a form that gensim, GloVe's and word2vec's own tools read.

    Args:
        space: What to write; n-grams have no place in these forms and stay behind.
        path: The file; an ending in .gz, .xz or .bz2 compresses it.
        form: `"glove"`, `"word2vec"` or `"word2vec-binary"`.
    """
    write_vectors(fspath(path), space.vectors, form=form)
