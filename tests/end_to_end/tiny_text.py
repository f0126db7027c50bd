"""Small raw text, the same for the same seed everywhere, and settings for a small biLM."""

import lzma
import random
from pathlib import Path

from tiny_pairs import DEEDS, MOODS, PEOPLE, PLACES

SMALL = {
    "model.hidden_size": 8,
    "model.projection_size": 4,
    "model.characters.size": 3,
    "model.characters.widths": "1,2",
    "model.characters.filters": "4,4",
    "model.softmax.num_samples": 12,
    "model.softmax.correction_size": 2,
    "targets.size": 40,
    "data.num_streams": 4,
    "data.unroll": 6,
    "schedule.warmup_steps": 2,
    "optim.lr": 0.01,
}


def lines(count: int, *, seed: int = 1) -> list[str]:
    """Sentences of known words, now and then with a name that comes once."""
    draw = random.Random(seed)
    made = []
    for number in range(count):
        who = f"Anna{number}" if number % 9 == 4 else draw.choice(PEOPLE)
        mood, deed, place = draw.choice(MOODS), draw.choice(DEEDS), draw.choice(PLACES)
        made.append(f"A {mood}{who} {deed} {place}.")
    return made


def write_text(folder: Path, count: int = 120, *, num_valid: int = 12) -> Path:
    """Two shards of training text, one of them compressed, and text to measure on."""
    folder.mkdir(parents=True, exist_ok=True)
    made, half = lines(count), count // 2
    (folder / "train-00.txt").write_text("\n\n".join(made[:half]), encoding="utf-8")
    (folder / "train-01.txt.xz").write_bytes(lzma.compress("\n".join(made[half:]).encode()))
    (folder / "valid.txt").write_text("\n".join(lines(num_valid, seed=2)), encoding="utf-8")
    return folder


def settings(**changes: object) -> list[str]:
    """`--set` for small sizes and for what is given, such as `model__way="exact"`."""
    merged = {**SMALL, **{name.replace("__", "."): value for name, value in changes.items()}}
    return [word for key, value in merged.items() for word in ("--set", f"{key}={value}")]
