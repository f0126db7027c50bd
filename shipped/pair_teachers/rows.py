"""Files of texts and pairs, and every text once, with a number."""

import json
import lzma
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

Row = dict[str, Any]
SIDES = ("sentence1", "sentence2")


def opened(path: Path) -> IO[str]:
    """A file of UTF-8, compressed or not."""
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def read_rows(path: Path, most: int | None = None) -> list[Row]:
    """The rows of a JSONL file."""
    with opened(path) as lines:
        return [json.loads(line) for _, line in zip(range(most or 1 << 40), lines, strict=False)]


class Numbered:
    """Texts by their numbers."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._numbers: dict[str, int] = {}
        for text in texts:
            self.number(text)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def texts(self) -> list[str]:
        """All of them, in order."""
        return list(self._numbers)

    def number(self, text: str) -> int:
        """The number of a text, new or known."""
        return self._numbers.setdefault(text, len(self._numbers))

    def pairs(self, rows: Iterable[Row]) -> Tensor:
        """Numbers [N, 2] of the texts of rows."""
        places = [[self.number(row[side]) for side in SIDES] for row in rows]
        return torch.tensor(places, dtype=torch.long).reshape(-1, 2)


def write_taught(
    folder: Path,
    texts: Sequence[str],
    pairs: Tensor,
    logits: Tensor,
    labels: Sequence[str] | None = None,
) -> None:
    """Write what `softquery distill logits.npy --pairs pairs.jsonl` reads.

    Args:
        folder: For `pairs.jsonl` and `logits.npy`.
        texts: By number.
        pairs: [N, 2].
        logits: [N, C].
        labels: Of the rows, empty where there is none; None without any.
    """
    order = torch.randperm(len(pairs)).tolist()
    both = pairs.tolist()
    with (folder / "pairs.jsonl").open("w", encoding="utf-8") as file:
        for place in order:
            one, other = both[place]
            row = {SIDES[0]: texts[one], SIDES[1]: texts[other]}
            if labels is not None:
                row["label"] = labels[place]
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    np.save(folder / "logits.npy", logits[order].float().numpy())
