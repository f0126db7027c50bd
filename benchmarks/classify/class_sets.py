"""Public sets of labelled texts as train, dev and sometimes tune, read from their own forms."""

import lzma
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.classify.negations import PROBES, SIGNS, Row, opinions

from softquery.text import split_sentences

DEV_SHARE, SPLIT_SEED = 0.1, 1
"""Every seed trains on the same split."""
TUNED = 600
"""Sentences of SST-2's train by which `sentiment` is steered."""
CLEAR = ("1", "2", "9", "10")
"""Ratings whose reviews mean what they say from one sentence to the next."""
OPINIONS = 3000
"""Sentences of our own that say what a no does."""
ENDING = 2
"""Sentences of such a review that are taken along: the last ones, which sum it up."""

Splits = dict[str, list[Row]]


def sst2(source: Path) -> Splits:
    """Sentences of film reviews with their sign."""
    return {split: _sst2(source / "sst2" / f"{split}.txt.xz") for split in ("train", "dev")}


def sst5(source: Path) -> Splits:
    """The same sentences with five grades."""
    return {split: _graded(source / "sst5" / f"{split}.txt.xz") for split in ("train", "dev")}


def sentiment(source: Path) -> Splits:
    """SST-2 with a share to steer by, how clear reviews of IMDb end, and plain opinions."""
    found = sst2(source)
    rows = list(found["train"])
    random.Random(SPLIT_SEED).shuffle(rows)
    known = {text for text, _ in (*found["dev"], *rows[:TUNED])}
    endings = [
        (sentence, sign)
        for rating, text, sign in reviews(source)
        if rating in CLEAR
        for sentence in split_sentences(text)[-ENDING:]
        if 3 < len(sentence.split()) < 60 and sentence not in known
    ]
    return {
        "train": [*rows[TUNED:], *endings, *opinions(OPINIONS, seed=SPLIT_SEED)],
        "tune": rows[:TUNED],
        "dev": found["dev"],
        "negated": PROBES,
    }


def semeval(source: Path) -> Splits:
    """Sentences with two marked words, and their relation."""
    text = unpacked(source / "semeval2010_task8" / "train.txt.xz")
    rows = []
    for block in text.strip().split("\n\n"):
        sentence, relation, *_ = block.split("\n")
        rows.append((sentence.partition("\t")[2].strip().strip('"'), relation.strip()))
    return _held_out(rows)


def imdb(source: Path) -> Splits:
    """Reviews of films with their sign."""
    return _held_out([(text, sign) for _, text, sign in reviews(source)])


def chnsenticorp(source: Path) -> Splits:
    """Chinese reviews of hotels, books and computers with their sign."""
    splits = {}
    for split in ("train", "dev"):
        lines = unpacked(source / "chnsenticorp" / f"{split}.tsv.xz").split("\n")[1:]
        pairs = [line.split("\t", 1) for line in lines if line.strip()]
        splits[split] = [(text, SIGNS[int(sign)]) for sign, text in pairs if text.strip()]
    return splits


def tnews(source: Path) -> Splits:
    """Chinese headlines with one of fifteen topics."""
    lines = unpacked(source / "tnews" / "train.tsv.xz").split("\n")
    rows = [tuple(line.rsplit("\t", 1)) for line in lines if line.strip()]
    return _held_out([(text, label.removeprefix("news_")) for text, label in rows if text.strip()])


SETS: dict[str, Callable[[Path], Splits]] = {
    "sst2": sst2,
    "sst5": sst5,
    "sentiment": sentiment,
    "semeval": semeval,
    "imdb": imdb,
    "chnsenticorp": chnsenticorp,
    "tnews": tnews,
}


def _sst2(path: Path) -> list[Row]:
    return [(text, SIGNS[int(sign)]) for text, sign in _graded(path)]


def _graded(path: Path) -> list[Row]:
    pairs = [line.split(" ", 1) for line in unpacked(path).splitlines()]
    return [(joined(text), grade) for grade, text in pairs]


def joined(text: str) -> str:
    """Contractions, which come apart in SST, put together again."""
    return re.sub(r" (n't|'(?:s|m|d|re|ve|ll))\b", r"\1", text)


def reviews(source: Path) -> list[tuple[str, str, str]]:
    """Rating, text and sign; the negative ones come first in the file."""
    rows = []
    for line in unpacked(source / "imdb" / "train.tsv.xz").split("\n")[:-1]:
        sign, rating, text = line.split("\t", 2)
        rows.append((rating, re.sub(r"\s*(?:<br />\s*)+", "\n", text), SIGNS[int(sign)]))
    return rows


def unpacked(path: Path) -> str:
    """The text of an xz file."""
    return lzma.decompress(path.read_bytes()).decode()


def _held_out(rows: Sequence[Row]) -> Splits:
    """Shuffled, with a share held out; what no row of train would teach is not asked for."""
    shuffled = list(rows)
    random.Random(SPLIT_SEED).shuffle(shuffled)
    count = round(DEV_SHARE * len(rows))
    dev, train = shuffled[:count], shuffled[count:]
    known = Counter(label for _, label in train)
    return {
        "train": [*train, *(row for row in dev if not known[row[1]])],
        "dev": [row for row in dev if known[row[1]]],
    }
