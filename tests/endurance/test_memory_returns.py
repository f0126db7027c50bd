"""What large beams and long texts took is given back: a process is as large as before them."""

import gc
import time
from pathlib import Path

import pytest

import softquery
from softquery.decoding import Beam
from softquery.runtime import GenerateRequest

MEGABYTE = 1 << 20
ALLOWED = 150 * MEGABYTE
"""What may stay: caches of encodings (64 MB) and of words, and what the heap cannot give back."""
STATUS = Path("/proc/self/status")


def resident() -> int:
    (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1024


@pytest.mark.skipif(not STATUS.exists(), reason="resident memory is read from /proc")
def test_large_calls_leave_the_process_as_it_was(capsys):
    generator, tagger, matcher, reader = (
        softquery.load(name, threads=2)
        for name in ("translate-de-en", "tagger-en", "match-en", "read-en")
    )
    small = [
        lambda: generator.predict(["Ein Mann isst."]),
        lambda: tagger.predict(["A man eats."]),
        lambda: matcher.predict([("a man eats", "somebody eats")]),
        lambda: reader.predict([("Who sang?", "Ada sang.")]),
    ]
    large = [
        lambda: generator.predict(
            ["ein mann geht über die straße und " * 12] * 16,
            GenerateRequest(strategy=Beam(size=32), max_length=60),
        ),
        lambda: tagger.predict(["word " * 4000] * 8),
        lambda: matcher.predict([("word " * 2000, "other " * 2000)] * 64),
        lambda: reader.predict([("Who sang in Paris?", "Ada sang in Paris. " * 20_000)]),
    ]
    for call in small:
        call()
    before, most = resident(), 0
    for call in large * 2:
        call()
        most = max(most, resident())
    time.sleep(1.1)  # memory is given back at most once a second
    for call in small:
        call()
    gc.collect()
    after = resident()
    with capsys.disabled():
        told = [f"{size // MEGABYTE} MB" for size in (before, most, after)]
        print(f"\nresident before, at most after a large call, and at the end: {', '.join(told)}")
    assert after - before < ALLOWED
