"""Sets whose student learns from a teacher: labelled rows, and further texts to ask the teacher.

A split `texts` holds texts without labels. They come from the training files alone, and none of
them equals a text of `tune` or `dev`.
"""

import random
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.classify.class_sets import (
    OPINIONS,
    SPLIT_SEED,
    Splits,
    chnsenticorp,
    joined,
    reviews,
    sentiment,
    sst2,
    tnews,
    unpacked,
)
from benchmarks.classify.negations import opinions

from softquery.text import split_sentences

SENTENCES = 180_000
"""Sentences of film reviews that a teacher is asked about, at most."""
SPANS, SWAPS = 6, 3
"""Texts that are made of one sentence of SST: spans of it, and copies with other words."""
SWAPPED = 0.15
"""Share of words that a copy has changed."""
WINDOWS = 4
"""Texts that are made of one Chinese review beside its clauses."""
TUNE_SHARE = 0.05


def taught_sentiment(source: Path) -> Splits:
    """Sentences of SST-2 and plain opinions; IMDb's sentences, and variations of SST's, as texts.

    Half of IMDb's sentences are written as SST-2 writes them, in lower case with spaces.
    """
    found = sentiment(source)
    held_out = {_plain(text) for split in ("tune", "dev") for text, _ in found[split]}
    tuned = {text for text, _ in found["tune"]}
    gold = [row for row in sst2(source)["train"] if row[0] not in tuned]
    draw = random.Random(SPLIT_SEED)
    graded = [
        line.split(" ", 1)[1]
        for line in unpacked(source / "sst5" / "train.txt.xz").splitlines()
        if _plain(line.split(" ", 1)[1]) not in held_out
    ]
    neutral = sorted({joined(text) for text in graded} - {text for text, _ in gold})
    texts = [*neutral, *variations([*(text for text, _ in gold), *neutral], draw)]
    sentences = [
        sentence
        for _, text, _ in reviews(source)
        for sentence in split_sentences(text)
        if 3 < len(sentence.split()) < 45 and _plain(sentence) not in held_out
    ]
    draw.shuffle(sentences)
    texts += [
        as_sst(text) if number % 2 else text
        for number, text in enumerate(dict.fromkeys(sentences[:SENTENCES]))
    ]
    return {
        "train": [*gold, *opinions(OPINIONS, seed=SPLIT_SEED)],
        "texts": _unlabelled(texts, held_out),
        **{split: found[split] for split in ("tune", "dev", "negated")},
    }


def taught_chnsenticorp(source: Path) -> Splits:
    """Chinese reviews; their clauses, and windows of several, as texts."""
    found = chnsenticorp(source)
    tune, train = _tune_first(found["train"])
    held_out = {_plain(text) for text, _ in (*tune, *found["dev"])}
    train = [row for row in train if _plain(row[0]) not in held_out]
    draw = random.Random(SPLIT_SEED)
    texts = []
    for text, _ in train:
        clauses = [each for each in re.split(r"(?<=[，。！？；,!?;~…])", text) if len(each) > 3]
        texts += clauses
        for _ in range(WINDOWS if len(clauses) > 2 else 0):
            start = draw.randrange(len(clauses) - 1)
            texts.append("".join(clauses[start : start + draw.randint(2, 8)]))
    return {
        "train": train,
        "texts": _unlabelled(texts, held_out),
        "tune": tune,
        "dev": found["dev"],
    }


def taught_tnews(source: Path) -> Splits:
    """Chinese headlines with their topics; the teacher is asked about these alone."""
    found = tnews(source)
    tune, train = _tune_first(found["train"])
    held_out = {_plain(text) for text, _ in (*tune, *found["dev"])}
    train = [row for row in train if _plain(row[0]) not in held_out]
    return {"train": train, "texts": [], "tune": tune, "dev": found["dev"]}


TAUGHT = {
    "taught-sentiment": taught_sentiment,
    "taught-chnsenticorp": taught_chnsenticorp,
    "taught-tnews": taught_tnews,
}


def variations(sentences: Sequence[str], draw: random.Random) -> Iterable[str]:
    """Spans of sentences, and sentences with some words of others (Tang et al. 2019, Section 4)."""
    split = [text.split() for text in sentences]
    words = [word for each in split for word in each]
    for each in split:
        for _ in range(SPANS if len(each) > 3 else 0):
            start = draw.randrange(len(each) - 2)
            yield " ".join(each[start : start + draw.randint(2, len(each))])
        for _ in range(SWAPS):
            yield " ".join(draw.choice(words) if draw.random() < SWAPPED else word for word in each)


def as_sst(text: str) -> str:
    """A sentence as SST-2 writes it.

    >>> as_sst("It's dull (and long), isn't it?")
    "it's dull -lrb- and long -rrb- , isn't it ?"
    """
    spaced = re.sub(r"([.,!?;:()\"]|\.\.\.)", r" \1 ", text.lower())
    return " ".join(spaced.replace("(", "-lrb-").replace(")", "-rrb-").split())


def _unlabelled(texts: Iterable[str], held_out: set[str]) -> list[tuple[str, str]]:
    """Each text once, without a label; none that is held out."""
    return [(text, "") for text in dict.fromkeys(texts) if _plain(text) not in held_out]


def _tune_first(rows: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], ...]:
    """A seeded share to tune on, and the others."""
    shuffled = list(rows)
    random.Random(SPLIT_SEED + 1).shuffle(shuffled)
    count = round(TUNE_SHARE * len(rows))
    return shuffled[:count], shuffled[count:]


def _plain(text: str) -> str:
    """What two writings of the same text share."""
    return re.sub(r"\W+", "", text.lower())
