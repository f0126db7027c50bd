"""A small sound bundle for tests to read, bend and break."""

import json

import numpy as np

from softquery.bundle import BundleConfig, write_bundle

CONFIG = BundleConfig(
    kind="matcher",
    model={"name": "esim", "config": {"hidden_size": 2, "embedder": {"name": "elmo"}}},
    task={"name": "match", "labels": ["no", "yes"]},
    text={"unit": "word"},
    library_version="0.1.0",
)


def sound_parts():
    return {
        "config": CONFIG,
        "tokenizer_json": json.dumps({"model": {"vocab": {"猫": 0}}}, ensure_ascii=False),
        "weights": {"embed.weight": np.arange(6, dtype=np.float32).reshape(2, 3)},
        "metrics": {"accuracy": 0.8, "n": 10},
        "card": "# cats\n\nMatches cats.\n",
    }


def write_sound(folder, **changes):
    return write_bundle(folder, **{**sound_parts(), **changes})
