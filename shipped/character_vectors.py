r"""Vectors of Chinese characters from running text, for the table that `match-zh` starts from.

    python shipped/character_vectors.py --text zhwiki/train-00.txt.xz \
        --text prepared/match-zh/train.jsonl --output vectors/characters.bin

Trained by gensim's skip-gram; needs `gensim`.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gensim.models import Word2Vec

from softquery.files import VectorTable, read_rows, write_vectors
from softquery.files.text_lines import open_bytes
from softquery.text import TextConfig, build_pipeline

TEXT = TextConfig(unit="characters", simplify=True, max_tokens=4096)
CHUNK = 20_000


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a text, or both sentences of each pair."""
    if ".jsonl" in path.name:
        for row in read_rows(path, columns=["sentence1", "sentence2"]):
            yield from row.values.values()
    else:
        with open_bytes(path) as stream:
            for line in stream:
                yield line.decode().strip()


def main() -> None:
    """Train skip-gram with gensim and write the vectors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, action="append", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--width", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    lines = [line for path in options.text for line in lines_of(path) if line]
    pipeline = build_pipeline(lines, TEXT, min_count=5)
    names = np.array(pipeline.vocabulary(), dtype=object)
    sentences = []
    for start in range(0, len(lines), CHUNK):
        encoded = pipeline.encode_ids_with_cuts(lines[start : start + CHUNK])[0]
        sentences += [names[ids].tolist() for ids in encoded]
    model = Word2Vec(
        sentences, vector_size=options.width, window=5, sg=1, negative=5, min_count=5,
        epochs=options.epochs, workers=2, seed=1,
    )  # fmt: skip
    vectors = VectorTable(list(model.wv.index_to_key), model.wv.vectors.astype(np.float32))
    write_vectors(options.output, vectors, form="word2vec-binary")
    print(f"{options.output}: {len(vectors.words):,} characters of {options.width} dimensions")


if __name__ == "__main__":
    main()
