"""Pairs by the numbers of their texts: what a matcher's teachers read, and what it is taught.

A folder holds `texts.txt`, a text per line, and `pairs.npz`: `first` and `second` are numbers of
texts, `share` is how likely both mean the same, where it is known (otherwise not a number), and
`trust` is how much that counts beside what teachers say, from 0 to 1.

N pairs, T texts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TEXTS, PAIRS = "texts.txt", "pairs.npz"


@dataclass(frozen=True, slots=True)
class NumberedPairs:
    """Texts, each once, and pairs of them."""

    texts: list[str]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    share: NDArray[np.float32]
    trust: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, float, float]]) -> "NumberedPairs":
        """Number the texts of rows: both texts, share and trust.

        >>> found = NumberedPairs.of([("a", "b", 1.0, 0.5), ("b", "c", 0.0, 0.5)])
        >>> found.texts, found.first.tolist(), found.second.tolist()
        (['a', 'b', 'c'], [0, 1], [1, 2])
        """
        known: dict[str, int] = {}
        numbered = [
            (known.setdefault(one, len(known)), known.setdefault(other, len(known)), share, trust)
            for one, other, share, trust in rows
        ]
        first, second, share, trust = np.array(numbered, np.float64).reshape(-1, 4).T
        return cls(
            list(known),
            first.astype(np.int32),
            second.astype(np.int32),
            share.astype(np.float32),
            trust.astype(np.float32),
        )

    @classmethod
    def read(cls, folder: Path) -> "NumberedPairs":
        """What `write` wrote."""
        texts = (folder / TEXTS).read_text(encoding="utf-8").split("\n")[:-1]
        with np.load(folder / PAIRS, allow_pickle=False) as arrays:
            return cls(texts, *(arrays[name] for name in ("first", "second", "share", "trust")))

    def write(self, folder: Path) -> None:
        """Write the folder; a text's line breaks become spaces."""
        folder.mkdir(parents=True, exist_ok=True)
        lines = (" ".join(text.split()) for text in self.texts)
        (folder / TEXTS).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        arrays = {name: getattr(self, name) for name in ("first", "second", "share", "trust")}
        np.savez(folder / PAIRS, **arrays)

    def beside(self, other: "NumberedPairs") -> "NumberedPairs":
        """Both, with the other's texts behind our own where they are not among them.

        >>> one = NumberedPairs.of([("a", "b", 1.0, 0.5)])
        >>> both = one.beside(NumberedPairs.of([("c", "a", 0.0, 1.0)]))
        >>> both.texts, both.first.tolist(), both.second.tolist()
        (['a', 'b', 'c'], [0, 2], [1, 0])
        """
        known = {text: number for number, text in enumerate(self.texts)}
        places = [known.setdefault(text, len(known)) for text in other.texts]
        turned = np.array(places, np.int32)
        return NumberedPairs(
            list(known),
            np.concatenate([self.first, turned[other.first]]),
            np.concatenate([self.second, turned[other.second]]),
            np.concatenate([self.share, other.share]),
            np.concatenate([self.trust, other.trust]),
        )
