"""Wrong keys that differ from a right one in the first or in the last byte: is one refused sooner?

    python benchmarks serve key_timing --tries 100000 --output key_timing.json

Times `KeyRing.holder`, which is all that a server does with a key, on files of a hundred keys. In
`keys`, what is sent differs from a stored key in one byte. In `hashes`, the stored hashes differ
from that of the sent key in one digit: that is the comparison itself, and more than an attacker can
arrange, who cannot choose hashes. In `same`, both are the same, which shows the noise. The two of a
pair take turns in random order. The difference is the mean over all tries, without the slowest and
the fastest hundredth, and comes with its standard error.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from softquery.serve.keys import KeyRing, add_key, digest

NUM_KEYS = 100
Ask = Callable[[], object]


def changed(text: str, place: int) -> str:
    """The text with another character at a place."""
    characters = list(text)
    characters[place] = "0" if characters[place] != "0" else "1"
    return "".join(characters)


def pairs(folder: Path) -> dict[str, tuple[Ask, Ask]]:
    """What is compared: first byte wrong, last byte wrong."""
    file = folder / "keys.txt"
    key = [add_key(file, f"user{number}") for number in range(NUM_KEYS)][-1]
    ring, first, last = KeyRing(file), changed(key, 3), changed(key, -1)
    hashed = {place: _ring(folder, changed(digest(key), place)) for place in (0, -1)}
    return {
        "keys": (lambda: ring.holder(first), lambda: ring.holder(last)),
        "hashes": (lambda: hashed[0].holder(key), lambda: hashed[-1].holder(key)),
        "same": (lambda: ring.holder(first), lambda: ring.holder(first)),
    }


def _ring(folder: Path, stored: str) -> KeyRing:
    """A hundred keys that all have the same hash."""
    file = folder / f"{stored}.txt"
    file.write_text("".join(f"user{number} {stored}\n" for number in range(NUM_KEYS)))
    return KeyRing(file)


def differences(first: Ask, last: Ask, tries: int) -> tuple[list[int], list[int]]:
    """Nanoseconds of each try of both."""
    draw, asks = random.Random(1), (first, last)
    found: tuple[list[int], list[int]] = ([], [])
    for _ in range(tries):
        order = (0, 1) if draw.random() < 0.5 else (1, 0)
        for which in order:
            began = time.perf_counter_ns()
            asks[which]()
            found[which].append(time.perf_counter_ns() - began)
    return found


def summary(first: list[int], last: list[int]) -> dict[str, Any]:
    """The difference of two kinds, with its standard error."""
    paired = np.sort(np.array(first, dtype=np.float64) - np.array(last))
    cut = len(paired) // 100
    kept = paired[cut : len(paired) - cut]
    error = float(kept.std(ddof=1) / np.sqrt(len(kept)))
    return {
        "tries": len(first),
        "median_ns": round(float(np.median(first + last))),
        "difference_ns": round(float(kept.mean()), 1),
        "standard_error_ns": round(error, 1),
        "errors": round(abs(float(kept.mean())) / error, 1),
    }


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description="Time the comparison of keys.")
    parser.add_argument("--tries", type=int, default=100_000)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {
            name: summary(*differences(*asks, given.tries))
            for name, asks in pairs(Path(folder)).items()
        }
    text = json.dumps(found, indent=1)
    print(text)
    if given.output is not None:
        given.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
