r"""Split a file of tagged sentences that has no dev file: train, and a seeded share as dev.

    python shipped/hold_out.py msra_ner/train.txt.xz --output prepared/ner-zh

Equal sentences stay together, so that no sentence of dev was trained on. Lines are kept as they
stand; both files are `.txt.xz`.
"""

import argparse
import lzma
import random
from pathlib import Path


def blocks_of(path: Path) -> list[str]:
    """The sentences of a file of columns, as they stand there."""
    text = lzma.decompress(path.read_bytes()).decode("utf-8")
    return [block.strip("\n") for block in text.split("\n\n") if block.strip()]


def held_out(blocks: list[str], share: float, seed: int) -> tuple[list[str], list[str]]:
    """Train and dev: all sentences of the same words are in one of them.

    >>> held_out(["a O", "b O", "a X"], 0.5, seed=1)
    (['a O', 'a X'], ['b O'])
    """
    words = [tuple(line.split()[0] for line in block.split("\n")) for block in blocks]
    distinct = sorted(set(words))
    random.Random(seed).shuffle(distinct)
    chosen = set(distinct[: round(share * len(distinct))])
    kept: tuple[list[str], list[str]] = ([], [])
    for block, key in zip(blocks, words, strict=True):
        kept[key in chosen].append(block)
    return kept


def main() -> None:
    """Split and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    parts = held_out(blocks_of(options.file), options.share, options.seed)
    for name, blocks in zip(("train", "dev"), parts, strict=True):
        text = "".join(f"{block}\n\n" for block in blocks)
        (options.output / f"{name}.txt.xz").write_bytes(lzma.compress(text.encode("utf-8")))
        print(f"{options.output / name}: {len(blocks):,} sentences", flush=True)


if __name__ == "__main__":
    main()
