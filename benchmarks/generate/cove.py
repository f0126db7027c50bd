"""Parallel text for CoVe: English with its German, of everything there is, as rows.

    python benchmarks generate cove --source SEQ2SEQ --data runs/cove

SEQ2SEQ holds `tatoeba_deu_eng`, `multi30k` and `ted_de_en`. Writes `train.jsonl` and, of Multi30k's
`val`, `dev.jsonl`, with English as the source: a translator's encoder reads the language whose
words are to get vectors in context. How it goes on stands on the page (README.md).
"""

import argparse
import csv
import json
import lzma
from collections.abc import Iterator
from pathlib import Path

Pairs = Iterator[tuple[str, str]]


def lines(path: Path) -> Iterator[str]:
    """The lines of a compressed file."""
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        yield from (line.rstrip("\r\n") for line in file)


def tatoeba(source: Path) -> Pairs:
    """Short sentences, English first; what a line says of its origin is left out."""
    for line in lines(source / "tatoeba_deu_eng" / "all.txt.xz"):
        english, german, *_ = line.split("\t")
        yield english, german


def multi30k(source: Path, split: str) -> Pairs:
    """Captions, line by line."""
    folder = source / "multi30k"
    english, german = (lines(folder / f"{split}.{each}.xz") for each in ("en", "de"))
    yield from zip(english, german, strict=True)


def ted(source: Path) -> Pairs:
    """Talks."""
    rows = csv.DictReader(
        lines(source / "ted_de_en" / "train.tsv.xz"), delimiter="\t", quoting=csv.QUOTE_NONE
    )
    for row in rows:
        yield row["en"], row["de"]


def write(path: Path, *sources: Pairs) -> list[int]:
    """Write rows with both sides filled; how many came of each source."""
    counts = []
    with path.open("w", encoding="utf-8") as file:
        for pairs in sources:
            counts.append(0)
            for english, german in pairs:
                if english.strip() and german.strip():
                    row = {"source": english, "target": german}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    counts[-1] += 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("runs/cove"))
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    source = options.source
    train = options.data / "train.jsonl"
    counts = write(train, tatoeba(source), multi30k(source, "train"), ted(source))
    names = ("Tatoeba", "Multi30k", "TED")
    print(train, ", ".join(f"{count:,} {name}" for name, count in zip(names, counts, strict=True)))
    dev = options.data / "dev.jsonl"
    print(dev, *write(dev, multi30k(source, "val")))


if __name__ == "__main__":
    main()
