"""Small contexts with questions about them, the same for the same seed everywhere."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FIRST = ("Ada", "Bo", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal")
TOWNS = ("Rome", "Paris", "Oslo", "Lima", "Cairo", "Bern")
DEEDS = ("slept", "sang", "cooked", "danced", "painted")
YEARS = tuple(map(str, range(1901, 1931)))

Paragraph = dict[str, Any]

SMALL = {
    "model.hidden_size": 8,
    "model.embedding_size": 8,
    "model.spelling.size": 4,
    "model.spelling.output_size": 6,
    "data.batch_size": 8,
    "vocabulary.min_count": 1,
}


def english(count: int, *, seed: int = 1, unanswerable: bool = False) -> list[Paragraph]:
    """Who did what, where and when; three questions about each context."""
    draw = random.Random(seed)
    made = []
    for number in range(count):
        name, town = draw.choice(FIRST), draw.choice(TOWNS)
        deed, year = draw.choice(DEEDS), draw.choice(YEARS)
        context = f"In {year}, {name} {deed} in {town}. Nobody else did, of {number} people."
        qas = [
            _asked(f"{number}-who", f"Who {deed}?", context, name),
            _asked(f"{number}-where", f"Where was it that {name} {deed}?", context, town),
            _asked(f"{number}-when", f"When was {name} in {town}?", context, year),
        ]
        if unanswerable:
            why = {"id": f"{number}-why", "question": f"Why so sad, {name}?", "answers": []}
            qas.append({**why, "is_impossible": True})
        made.append({"context": context, "qas": qas})
    return made


def chinese(count: int, *, seed: int = 1) -> list[Paragraph]:
    """The same in Chinese."""
    draw = random.Random(seed)
    made = []
    for number in range(count):
        name, town, year = draw.choice("王李张刘陈"), draw.choice("京沪津渝"), draw.choice(YEARS)
        context = f"{year}年，{name}先生住在{town}城，一共有{number}人。"
        qas = [
            _asked(f"{number}-who", "谁住在城里？", context, f"{name}先生"),
            _asked(f"{number}-where", f"{name}先生住在哪里？", context, f"{town}城"),
        ]
        made.append({"context": context, "qas": qas})
    return made


def _asked(name: str, question: str, context: str, answer: str) -> dict[str, Any]:
    start = context.index(answer)
    return {"id": name, "question": question, "answers": [{"text": answer, "answer_start": start}]}


def squad(paragraphs: Sequence[Paragraph]) -> dict[str, Any]:
    """As SQuAD nests it."""
    return {"version": "1.1", "data": [{"title": "all", "paragraphs": list(paragraphs)}]}


def write_json(path: Path, paragraphs: Sequence[Paragraph]) -> Path:
    """A file of SQuAD's form."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(squad(paragraphs), ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path: Path, paragraphs: Sequence[Paragraph]) -> Path:
    """A question a line."""
    records = [
        {"context": each["context"], **asked} for each in paragraphs for asked in each["qas"]
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_questions(folder: Path, paragraphs: Sequence[Paragraph], *, num_dev: int = 6) -> Path:
    """`train.json` and `dev.json`, the last contexts being those of dev."""
    write_json(folder / "train.json", paragraphs[:-num_dev])
    write_json(folder / "dev.json", paragraphs[-num_dev:])
    return folder


def settings(**changes: object) -> list[str]:
    """`--set` for small sizes and for what is given, such as `training__max_epochs=2`."""
    merged = {**SMALL, **{name.replace("__", "."): value for name, value in changes.items()}}
    return [word for key, value in merged.items() for word in ("--set", f"{key}={value}")]
