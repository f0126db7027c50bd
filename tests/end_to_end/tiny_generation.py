"""Small texts with what is to be written for them, the same for the same seed everywhere."""

import random
from collections.abc import Sequence
from pathlib import Path

NUMBERS = {"eins": "one", "zwei": "two", "drei": "three", "vier": "four", "acht": "eight"}
THINGS = {"Hunde": "dogs", "Katzen": "cats", "Bäume": "trees", "Steine": "stones"}
DEEDS = {"schlafen": "sleep", "warten": "wait", "fallen": "fall"}

UPPER, LOWER = "春花山日天红来明", "秋月水风地绿去清"
"""Characters that answer each other."""

Rows = list[tuple[str, str]]

SMALL = {
    "writing.batch_tokens": 256,
    "training.precision": "32-true",
    "vocabulary.size": 150,
    "training.average_decay": 0,
}
SMALL_TRANSFORMER = {
    "model.num_heads": 2, "model.hidden_size": 16, "model.inner_size": 32,
    "model.num_encoder_layers": 2, "model.num_decoder_layers": 2, "model.attention_dropout": 0,
}  # fmt: skip
SMALL_RECURRENT = {"model.hidden_size": 16, "model.embedding_size": 12}


def german(count: int, *, seed: int = 1) -> Rows:
    """A number, a thing and a deed, which are translated one by one."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        words = [draw.choice(list(each.items())) for each in (NUMBERS, THINGS, DEEDS)]
        end = draw.choice([".", "!"])
        made.append(tuple(" ".join(side) + end for side in zip(*words, strict=True)))
    return made


def couplets(count: int, *, seed: int = 1) -> Rows:
    """Lines of five or seven characters, some with a sign in them, each answered in its place."""
    draw = random.Random(seed)
    made = []
    for number in range(count):
        places = [draw.randrange(len(UPPER)) for _ in range(draw.choice([3, 5]))]
        upper, lower = ("".join(side[place] for place in places) for side in (UPPER, LOWER))
        if number % 3 == 0:
            upper, lower = (f"{line[:2]}，{line[2:]}" for line in (upper, lower))
        made.append((upper, lower))
    return made


def write_rows(path: Path, rows: Rows) -> Path:
    """A table with a header."""
    lines = ["source\ttarget", *("\t".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_folder(folder: Path, rows: Rows, *, num_dev: int = 20) -> Path:
    """`train.tsv` and `dev.tsv`."""
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(folder / "train.tsv", rows[:-num_dev])
    write_rows(folder / "dev.tsv", rows[-num_dev:])
    return folder


def write_aligned(folder: Path, rows: Rows, *, dev: str = "val", num_dev: int = 20) -> Path:
    """`train.de`, `train.en`, `val.de` and `val.en`."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, part in (("train", rows[:-num_dev]), (dev, rows[-num_dev:])):
        for place, ending in enumerate(("de", "en")):
            text = "".join(row[place] + "\n" for row in part)
            (folder / f"{split}.{ending}").write_text(text, encoding="utf-8")
    return folder


def small_settings(recipe: str) -> dict[str, object]:
    """Sizes at which a recipe runs in a second."""
    recurrent = any(f"-{kind}" in recipe for kind in ("rnn", "bahdanau", "luong", "cove"))
    found = {**SMALL, **(SMALL_RECURRENT if recurrent else SMALL_TRANSFORMER)}
    if recipe.startswith("couplet"):
        found["vocabulary.size"] = "none"
    return found


def settings(recipe: str, changes: Sequence[str] = (), **more: object) -> list[str]:
    """`--set` for small sizes and for what is given, such as `training__max_epochs=2`."""
    named = {name.replace("__", "."): value for name, value in more.items()}
    merged = [f"{key}={value}" for key, value in {**small_settings(recipe), **named}.items()]
    return [word for each in (*merged, *changes) for word in ("--set", each)]
