"""Small labelled texts, the same for the same seed everywhere."""

import json
import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from tiny_pairs import DEEDS, PEOPLE, PLACES, write_tsv

Text = tuple[str, str]

FINE = ("fine", "lovely", "moving", "funny", "clever", "bright")
POOR = ("dull", "tired", "empty", "clumsy", "flat", "cold")
THINGS = ("film", "book", "song", "play", "story", "show", "speech", "scene", "game", "meal")
SMALL = {
    "model.hidden_size": 8,
    "model.embedding_size": 8,
    "model.dropout": 0.1,
    "model.word_dropout": 0,
    "data.batch_size": 16,
    "data.tune_share": 0.1,
}


def reviews(count: int, *, seed: int = 1) -> list[Text]:
    """Labels `negative` and `positive`; one word tells, wherever it stands."""
    draw = random.Random(seed)
    made = []
    drawn = draw.sample(list(product(THINGS, PEOPLE, DEEDS, PLACES)), count)
    for number, (thing, who, deed, place) in enumerate(drawn):
        word = draw.choice(FINE if number % 2 else POOR)
        told = [f"The {who} {deed} {place}.", f"It is a {word} {thing}!", "We saw it twice."]
        draw.shuffle(told)
        made.append((" ".join(told[: 2 + number % 2] if word in " ".join(told[:2]) else told),
                     "positive" if number % 2 else "negative"))  # fmt: skip
    return made


def relations(count: int, *, seed: int = 1) -> list[Text]:
    """Who made what, and what is in what, with the two words marked; some have no relation."""
    draw = random.Random(seed)
    kinds = {
        "Maker(e1,e2)": "the <e1>{}</e1> made a <e2>{}</e2> {}",
        "Maker(e2,e1)": "the <e1>{1}</e1> was made by a <e2>{0}</e2> {2}",
        "Inside(e1,e2)": "a <e1>{}</e1> was inside the <e2>{}</e2> {}",
        "Other": "a <e1>{}</e1> saw the <e2>{}</e2> {}",
    }
    drawn = draw.sample(list(product(PEOPLE, THINGS, PLACES)), count)
    labels = list(kinds)
    return [
        (kinds[labels[place % 4]].format(*words), labels[place % 4])
        for place, words in enumerate(drawn)
    ]


def write_texts(folder: Path, rows: Sequence[Text], *, num_dev: int = 40) -> Path:
    """`train.tsv` and `dev.tsv`, the last rows being those of dev."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, part in (("train", rows[:-num_dev]), ("dev", rows[-num_dev:])):
        write_tsv(folder / f"{split}.tsv", part, ("text", "label"))
    return folder


def write_lines(path: Path, rows: Sequence[Text]) -> Path:
    """The same as JSONL, in which a text may have line ends."""
    lines = [json.dumps({"text": text, "label": label}) for text, label in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def settings(**changes: object) -> list[str]:
    """`--set` for small sizes and for what is given, such as `training__max_epochs=2`."""
    merged = {**SMALL, **{name.replace("__", "."): value for name, value in changes.items()}}
    return [word for key, value in merged.items() for word in ("--set", f"{key}={value}")]
