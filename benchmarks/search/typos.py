"""What a typo in every query costs, and how much of it looking for the nearest word gets back.

    python benchmarks/search/typos.py --data DATA

Five rows per intent; of every query one word of four letters or more has one letter left out,
added, changed or swapped with its neighbour. `exact` looks misspelt words up as they are.
"""

import argparse
import json
import lzma
import random
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from softquery.files import Row
from softquery.search import Index, IndexSettings, evaluate_index

SEED, PER_INTENT, NUM_QUERIES = 1, 5, 300
SETS = ("hwu64", "dstc11_insurance", "redwood_new", "vira")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def read(path: Path) -> list[tuple[str, str]]:
    """Texts with their intents."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [tuple(line.rstrip("\n").split("\t")[:2]) for line in lines][1:]  # type: ignore[misc]


def mistyped(text: str, draw: random.Random) -> str:
    """A text with one typo."""
    words = text.split(" ")
    places = [at for at, word in enumerate(words) if len(word) >= 4 and word.isalpha()]
    if not places:
        return text
    at = draw.choice(places)
    word, place = words[at], draw.randrange(1, len(words[at]) - 1)
    words[at] = draw.choice(
        [
            word[:place] + word[place + 1 :],
            word[:place] + draw.choice(LETTERS) + word[place:],
            word[:place] + draw.choice(LETTERS) + word[place + 1 :],
            word[:place] + word[place + 1] + word[place] + word[place + 2 :],
        ]
    )
    return " ".join(words)


def unchanged(segments: object, query: object, text: str, usual: object) -> str:
    """Misspelt words as they are."""
    return text


def main() -> None:
    """Print the figures of each set as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    for name in SETS:
        draw = random.Random(SEED)
        train = read(options.data / "intents" / name / "train.tsv.xz")
        draw.shuffle(train)
        kept: dict[str, list[str]] = defaultdict(list)
        for text, label in train:
            if len(kept[label]) < PER_INTENT and text not in kept[label]:
                kept[label].append(text)
        rows = [
            {"id": f"{label}-{n}", "question": text, "answer": label}
            for label, texts in kept.items()
            for n, text in enumerate(texts)
        ]
        test = [each for each in read(options.data / "intents" / name / "test.tsv.xz")]
        draw.shuffle(test)
        known = [(text, label) for text, label in test if label in kept][:NUM_QUERIES]
        asked = {"clean": known, "typo": [(mistyped(text, draw), label) for text, label in known]}
        with TemporaryDirectory() as place:
            settings = IndexSettings(answer_share=0.0)  # an answer is a label here
            index = Index.build(rows, Path(place) / "set.sq", model="match-en", settings=settings)
            for form, way in (("clean", "nearest"), ("typo", "exact"), ("typo", "nearest")):
                queries = [
                    Row({"query": text, "doc": f"{label}-{n}"}, 1, name)
                    for text, label in asked[form]
                    for n in range(len(kept[label]))
                ]
                module = "softquery.search.query.retrieval.spelt_right"
                if way == "exact":
                    with patch(module, unchanged):
                        found = evaluate_index(index, queries)
                else:
                    found = evaluate_index(index, queries)
                answered = found.answered() & found.right()
                figures = {
                    "words_found@10": found.metrics("words")["found@10"],
                    "vectors_found@10": found.metrics("vectors")["found@10"],
                    "first_right": float(found.right().mean()),
                    "answered_rightly": float(answered.mean()),
                    "answered_wrongly": float((found.answered() & ~found.right()).mean()),
                }
                shown = {key: round(value, 3) for key, value in figures.items()}
                print(json.dumps({"set": name, "queries": form, "words": way, **shown}), flush=True)


if __name__ == "__main__":
    main()
