"""Small files in fastText's binary format, and the vectors that they must give, in plain loops."""

import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

WORDS = ["</s>", "the", "cat", "straße", "北京", "a"]


@dataclass(kw_only=True)
class FastTextFile:
    """What a file holds; every part can be forged."""

    words: list[str] = field(default_factory=lambda: list(WORDS))
    size: int = 4
    buckets: int = 50
    shortest: int = 3
    longest: int = 6
    version: int = 12
    model: int = 2
    quantised: bool = False
    num_words: int | None = None
    num_labels: int = 0
    pruned: int = -1
    matrix_rows: int | None = None
    seed: int = 1

    def matrix(self) -> np.ndarray:
        shape = (len(self.words) + self.buckets, self.size)
        return np.random.default_rng(self.seed).normal(size=shape).astype("<f4")

    def to_bytes(self) -> bytes:
        """As fastText's `saveModel` writes it."""
        count = len(self.words) if self.num_words is None else self.num_words
        settings = (self.size, 5, 5, 5, 5, 1, 2, self.model, self.buckets, self.shortest,
                    self.longest, 100)  # fmt: skip
        found = struct.pack("<2i12id", 793_712_314, self.version, *settings, 1e-4)
        found += struct.pack("<3i2q", count + self.num_labels, count, self.num_labels, 1000,
                             self.pruned)  # fmt: skip
        for place, word in enumerate(self.words):
            found += word.encode("utf-8", "surrogateescape") + b"\0"
            found += struct.pack("<qb", 1000 - place, 0)
        matrix = self.matrix()
        rows = len(matrix) if self.matrix_rows is None else self.matrix_rows
        found += struct.pack("<?2q", self.quantised, rows, self.size) + matrix.tobytes()
        output = np.zeros((len(self.words), self.size), dtype="<f4")
        return found + struct.pack("<?2q", False, *output.shape) + output.tobytes()

    def write(self, path: Path) -> Path:
        path.write_bytes(self.to_bytes())
        return path

    def expected(self, word: str) -> np.ndarray:
        """The mean of a word's n-grams, and of its own row where it has one."""
        matrix = self.matrix().astype(np.float64)
        rows = [matrix[len(self.words) + bucket] for bucket in self.hashed(word)]
        if word in self.words:
            rows.insert(0, matrix[self.words.index(word)])
        return np.mean(rows, axis=0)

    def hashed(self, word: str) -> list[int]:
        """The bucket of every n-gram: FNV-1a over bytes that are taken as signed."""
        letters, found = f"<{word}>", []
        for start in range(len(letters)):
            for end in range(start + self.shortest, min(start + self.longest, len(letters)) + 1):
                if end - start == 1 and (start == 0 or end == len(letters)):
                    continue
                value = 2166136261
                for byte in letters[start:end].encode():
                    signed = byte - 256 if byte > 127 else byte
                    value = ((value ^ (signed & 0xFFFFFFFF)) * 16777619) % 2**32
                found.append(value % self.buckets)
        return found
