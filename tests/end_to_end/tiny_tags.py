"""Small tagged sentences, the same for the same seed everywhere."""

import random
from collections.abc import Sequence
from pathlib import Path

from tiny_pairs import DEEDS

FIRST = ("Ada", "Bo", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal")
LAST = ("Stone", "Brook", "Hill", "Marsh", "Ford", "Wood")
TOWNS = ("Rome", "Paris", "Oslo", "Lima", "Cairo")
WHEN = ("today", "again", "at night")

Sentence = list[tuple[str, str]]

SMALL = {
    "model.hidden_sizes": "8,6",
    "model.embedding_size": 8,
    "model.spelling.output_size": 8,
    "model.spelling.size": 4,
    "data.batch_size": 8,
}


def named(count: int, *, seed: int = 1) -> list[Sentence]:
    """People and towns, in IOB1 as CoNLL-2003 has them."""
    draw = random.Random(seed)
    made = []
    for number in range(count):
        who = [(draw.choice(FIRST), "I-PER")]
        if number % 2:
            who.append((draw.choice(LAST), "I-PER"))
        where = [("in", "O"), (draw.choice(TOWNS), "I-LOC")] if number % 3 else []
        rest = [(word, "O") for word in f"{draw.choice(DEEDS)} {draw.choice(WHEN)}".split()]
        made.append([*who, *rest, *where, (f"{number}", "O"), (".", "O")])
    return made


def parts_of_speech(count: int, *, seed: int = 1) -> list[Sentence]:
    """The same words, each with what it is."""
    kinds = {
        "in": "ADP",
        "at": "ADP",
        "today": "ADV",
        "again": "ADV",
        "night": "NOUN",
        ".": "PUNCT",
    }
    return [
        [
            (word, "PROPN" if tag != "O" else "NUM" if word.isdigit() else kinds.get(word, "VERB"))
            for word, tag in sentence
        ]
        for sentence in named(count, seed=seed)
    ]


def write_columns(path: Path, sentences: Sequence[Sentence]) -> Path:
    """A word a line with its tag, in CoNLL-U where the name says so."""
    blocks = []
    for sentence in sentences:
        rows = [f"{word} x {tag}" for word, tag in sentence]
        if path.suffix == ".conllu":
            rows = [
                f"{place}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_"
                for place, (word, tag) in enumerate(sentence, 1)
            ]
        blocks.append("\n".join(rows))
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    return path


def write_tagged(
    folder: Path, sentences: Sequence[Sentence], *, num_dev: int = 20, ending: str = ".txt"
) -> Path:
    """`train` and `dev`, the last sentences being those of dev."""
    folder.mkdir(parents=True, exist_ok=True)
    write_columns(folder / f"train{ending}", sentences[:-num_dev])
    write_columns(folder / f"dev{ending}", sentences[-num_dev:])
    return folder


def settings(**changes: object) -> list[str]:
    """`--set` for small sizes and for what is given, such as `training__max_epochs=2`."""
    merged = {**SMALL, **{name.replace("__", "."): value for name, value in changes.items()}}
    return [word for key, value in merged.items() for word in ("--set", f"{key}={value}")]
