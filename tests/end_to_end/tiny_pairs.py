"""Small labelled pairs in English and Chinese, the same for the same seed everywhere.

Every first sentence occurs once, so that what is held back is a share of the rows.
"""

import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path

Pair = tuple[str, str, str]

PEOPLE = ("man", "woman", "boy", "girl", "child", "doctor", "singer", "farmer", "pilot", "cook")
DEEDS = ("eats", "sleeps", "runs", "sings", "reads", "waits", "laughs", "works")
PLACES = ("in the park", "at home", "on the old bridge", "near the sea", "behind a very tall house")
MOODS = ("", "happy ", "tired and hungry ")

WHO = ("老人", "孩子", "医生", "司机", "老师", "农民", "歌手", "厨师")
DOES = ("吃饭", "睡觉", "跑步", "唱歌", "读书", "等车", "休息", "工作")
WHERE = ("在公园里", "在家", "在桥上", "在海边", "在一座很高的楼后面")


def english(count: int, *, seed: int = 1) -> list[Pair]:
    """Labels `same` and `different`: the deed is told again, or another one."""
    return [
        (f"A {mood}{who} {deed} {place}.", f"Some {who} {second} {place}.", label)
        for who, deed, place, mood, second, label in _drawn(
            count, seed, (PEOPLE, DEEDS, PLACES, MOODS), ("different", "same")
        )
    ]


def inference(count: int, *, seed: int = 1) -> list[Pair]:
    """Labels of natural language inference."""
    rows = []
    kinds = ("contradiction", "entailment", "neutral")
    for who, deed, place, mood, second, label in _drawn(
        count, seed, (PEOPLE, DEEDS, PLACES, MOODS), kinds, same="entailment"
    ):
        told = f"Some {who} {second}." if label != "neutral" else f"The {who} {deed} again."
        rows.append((f"A {mood}{who} {deed} {place}.", told, label))
    return rows


def chinese(count: int, *, seed: int = 1) -> list[Pair]:
    """Labels `1` for the same deed and `0` for another one."""
    return [
        (f"{who}{place}{deed}。", f"有个{who}{place}{second}", label)
        for who, deed, place, second, label in _drawn(
            count, seed, (WHO, DOES, WHERE), ("0", "1"), same="1"
        )
    ]


def graded(count: int, *, seed: int = 1) -> list[Pair]:
    """Grades from 0 to 5: the more words the two share, the higher."""
    grades = {"same": "4.8", "different": "1.5"}
    return [(first, second, grades[label]) for first, second, label in english(count, seed=seed)]


def _drawn(
    count: int,
    seed: int,
    parts: tuple[tuple[str, ...], ...],
    labels: tuple[str, ...],
    *,
    same: str = "same",
) -> list[tuple[str, ...]]:
    """Distinct combinations, each with the second sentence's deed and a label."""
    draw = random.Random(seed)
    combinations = list(product(*parts))
    rows = []
    for place, chosen in enumerate(draw.sample(combinations, count)):
        label = labels[place % len(labels)]
        others = [deed for deed in parts[1] if deed != chosen[1]]
        rows.append((*chosen, chosen[1] if label == same else draw.choice(others), label))
    return rows


COLUMNS = ("sentence1", "sentence2", "label")


def write_tsv(path: Path, rows: Sequence[Sequence[str]], columns: Sequence[str] = COLUMNS) -> Path:
    """A file with a header, as every example of the documentation has it."""
    lines = ["\t".join(row) for row in (columns, *rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_folder(folder: Path, rows: Sequence[Pair], *, num_dev: int = 40) -> Path:
    """`train.tsv` and `dev.tsv`, the last rows being those of dev."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tsv(folder / "train.tsv", rows[:-num_dev])
    write_tsv(folder / "dev.tsv", rows[-num_dev:])
    return folder
