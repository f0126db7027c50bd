"""Small documents, the same for the same seed everywhere, and settings for a small BERT."""

import lzma
from pathlib import Path

from tiny_text import lines

SMALL = {
    "model.num_heads": 2,
    "model.hidden_size": 32,
    "model.inner_size": 64,
    "model.max_length": 48,
    "model.dropout": 0,
    "pieces.size": 200,
    "data.length": 24,
    "data.long_length": 48,
    "data.num_tokens": 480,
    "data.tune_share": 0.08,
    "schedule.warmup_steps": 2,
    "optim.lr": 0.006,
    "training.precision": "32-true",
}


def documents(count: int, *, seed: int = 1, size: int = 5) -> str:
    """Titles, each with some sentences in a line or two."""
    made = lines(count, seed=seed)
    parts = [made[start : start + size] for start in range(0, count, size)]
    return "\n".join(
        f"= Number {number} =\n{' '.join(part[:3])}\n{' '.join(part[3:])}"
        for number, part in enumerate(parts)
    )


def write_documents(folder: Path, count: int = 200, *, num_valid: int = 80) -> Path:
    """Two shards of training text, one of them compressed, and text to measure on."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train-00.txt").write_text(documents(count // 2), encoding="utf-8")
    more = documents(count // 2, seed=3).encode()
    (folder / "train-01.txt.xz").write_bytes(lzma.compress(more))
    (folder / "valid.txt").write_text(documents(num_valid, seed=2), encoding="utf-8")
    return folder


def settings(**changes: object) -> list[str]:
    """`--set` for small sizes and for what is given, such as `masking__unit="words"`."""
    merged = {**SMALL, **{name.replace("__", "."): value for name, value in changes.items()}}
    return [word for key, value in merged.items() for word in ("--set", f"{key}={value}")]
