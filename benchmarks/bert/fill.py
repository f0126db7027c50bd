"""How often the hidden word of a text is found, first or among the first five, and how fast.

    python benchmarks bert fill --text enwiki-2015/valid.txt.xz --output benchmarks/bert/fill.json

Words are drawn from the lines of a text, one per line, by a seed: every run of letters is as
likely as any other, so that frequent words are drawn often. Each is replaced by `[MASK]` in its
line. A word that a model spells with several pieces cannot be found with one mask and counts as
missed, so that models of unequal vocabularies are compared on the same words; the share of words
of one piece, and the accuracy among them, stand beside. A word is right in any case. Times are of
one text at a time on one thread, the first twenty left out.
"""

import argparse
import json
import random
import re
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from softquery.files import read_texts
from softquery.measure import mean_interval
from softquery.runtime import FillRequest, MaskFiller, open_filler
from softquery.text import BERT_MASK, BERT_RESERVED

WORD = re.compile(r"[^\W\d_]+")
SHORTEST, LONGEST = 10, 100
"""Words of a line that is used, separated by spaces."""
TOP_K, TIMED, WARM = 5, 220, 20


class Hidden(NamedTuple):
    """A text with a mask, and the word that stood there."""

    text: str
    word: str


def hidden_words(path: Path, count: int, seed: int) -> list[Hidden]:
    """Words of so many lines of a text."""
    lines = [
        line
        for line in read_texts([path])
        if SHORTEST <= line.count(" ") + 1 <= LONGEST and not any(m in line for m in BERT_RESERVED)
    ]
    draw = random.Random(seed)
    found = []
    for line in draw.sample(lines, min(count, len(lines))):
        words = list(WORD.finditer(line))
        if words:
            chosen = draw.choice(words)
            text = f"{line[: chosen.start()]}{BERT_MASK}{line[chosen.end() :]}"
            found.append(Hidden(text, chosen[0]))
    return found


def measured(name: str, filler: MaskFiller, hidden: Sequence[Hidden]) -> dict[str, object]:
    """Accuracy and milliseconds of one model."""
    ranks, alone = [], []
    answers = filler.predict([each.text for each in hidden], FillRequest(top_k=TOP_K))
    for each, found in zip(hidden, answers, strict=True):
        (pieces,) = filler.pipeline.pieces([each.word])
        alone.append(len(pieces) == 1)
        words = [answer.word for answer in found]
        ranks.append(words.index(pieces[0][0]) if alone[-1] and pieces[0][0] in words else None)
    first = sum(rank == 0 for rank in ranks)
    five = sum(rank is not None for rank in ranks)
    return {
        "model": name,
        "backend": filler.backend.name,
        "n": len(hidden),
        "top_1": first / len(hidden),
        "top_1_interval": within(ranks, 1),
        "top_5": five / len(hidden),
        "top_5_interval": within(ranks, TOP_K),
        "one_piece": sum(alone) / len(hidden),
        "top_1_of_one_piece": first / sum(alone),
        "top_5_of_one_piece": five / sum(alone),
        **timed(filler, hidden),
    }


def within(ranks: Sequence[int | None], most: int) -> list[float]:
    """The 95 % interval of the share of words among the first so many, by bootstrap."""
    right = [float(rank is not None and rank < most) for rank in ranks]
    return [round(bound, 4) for bound in mean_interval(right)]


def timed(filler: MaskFiller, hidden: Sequence[Hidden]) -> dict[str, float]:
    """Milliseconds of one text at a time."""
    taken = []
    for each in hidden[:TIMED]:
        start = time.perf_counter()
        filler.fill(each.text)
        taken.append(1000 * (time.perf_counter() - start))
    kept = sorted(taken[WARM:])
    return {"ms_median": statistics.median(kept), "ms_p95": kept[int(0.95 * len(kept))]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--models", nargs="+", default=["bert-mini-en"])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    hidden = hidden_words(options.text, options.count, options.seed)
    rows = [measured(name, open_filler(name, threads=1), hidden) for name in options.models]
    report = {"seed": options.seed, "text": options.text.name, "rows": rows}
    print(json.dumps(report, indent=1))
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
