"""Small sentence encoders that run without torch, and rows that a head on them can learn."""

from pathlib import Path
from typing import Any

from small_sentence_encoders import make_sentence_encoder
from softquery.bundle import read_bundle
from softquery.export import export_sentence_encoder


def exported_encoder(folder: Path, **settings: Any) -> Path:
    """A sentence encoder with graphs and random weights."""
    plain = make_sentence_encoder(folder.with_name(f"{folder.name}-plain"), **settings)
    export_sentence_encoder(read_bundle(plain), folder)
    return folder


def few_rows(count: int, *, labels: tuple[str, ...] = ("left", "right")) -> list[str]:
    """Lines `text<TAB>label`, English by their looks, of which one word tells the label."""
    stems = [f"w{letter}" for letter in "cdefghijkl"]
    found = []
    for number in range(count):
        place = number % len(labels)
        others = f"{stems[number % 10]} {stems[number * 7 % 9]}{'abcdefgh'[number % 8]}"
        telling = ("wa", "wb", "wm", "wn")[place]
        found.append(f"what is the {telling} {others} here\t{labels[place]}")
    return found


def write_rows(path: Path, lines: list[str]) -> Path:
    """A file of such rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["text\tlabel", *lines]) + "\n", encoding="utf-8")
    return path
