"""The FAQs that search is measured on, to be kept out of everything that a model learns from.

Their files lie in `examples/`: questions, answers, and queries in users' words. Nothing is tuned on
them (`examples/README.md`).
"""

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from text_collection import bare_key

FOLDER = Path(__file__).parents[1] / "examples"
FAQS = {"en": "library", "zh": "hospital"}
"""The name of each language's FAQ."""
COLUMNS = {"faq.csv": ("question", "answer"), "queries.tsv": ("query",)}


def measured_texts(language: str, folder: Path = FOLDER) -> Iterator[str]:
    """Every question, answer and query of a language's FAQ."""
    for ending, columns in COLUMNS.items():
        path = folder / f"{FAQS[language]}_{ending}"
        delimiter = "\t" if path.suffix == ".tsv" else ","
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter=delimiter):
                yield from (row[name] for name in columns)


@cache
def measured_keys() -> frozenset[str]:
    """What the texts of both languages are known by, whatever their case and punctuation."""
    return frozenset(bare_key(text) for language in FAQS for text in measured_texts(language))


def is_measured(*texts: str) -> bool:
    """Whether one of the texts is one of an FAQ's.

    >>> is_measured("Where is my order?", "WIFI password"), is_measured("Where is my order?")
    (True, False)
    """
    return any(bare_key(text) in measured_keys() for text in texts)
