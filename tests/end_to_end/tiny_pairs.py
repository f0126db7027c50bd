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
ENGLISH = (PEOPLE, DEEDS, PLACES, MOODS)

WHO = ("老人", "孩子", "医生", "司机", "老师", "农民", "歌手", "厨师")
DOES = ("吃饭", "睡觉", "跑步", "唱歌", "读书", "等车", "休息", "工作")
WHERE = ("在公园里", "在家", "在桥上", "在海边", "在一座很高的楼后面")
CHINESE = (WHO, DOES, WHERE)


def english(count: int, *, seed: int = 1) -> list[Pair]:
    """Labels `same` and `different`: the deed is told again, or denied."""
    told = {"same": "Some", "different": "No"}
    return [
        (f"A {mood}{who} {deed} {place}.", f"{told[label]} {who} {deed} {place}.", label)
        for (who, deed, place, mood), label in _drawn(count, seed, ENGLISH, ("different", "same"))
    ]


def inference(count: int, *, seed: int = 1) -> list[Pair]:
    """Labels of natural language inference."""
    told = {"contradiction": "No {} {}.", "entailment": "Some {} {}.", "neutral": "Who {} {}?"}
    return [
        (f"A {mood}{who} {deed} {place}.", told[label].format(who, deed), label)
        for (who, deed, place, mood), label in _drawn(count, seed, ENGLISH, tuple(told))
    ]


def chinese(count: int, *, seed: int = 1) -> list[Pair]:
    """Labels `1` for the same deed and `0` for its denial."""
    told = {"1": "有个", "0": "没有"}
    return [
        (f"{who}{place}{deed}。", f"{told[label]}{who}{place}{deed}", label)
        for (who, deed, place), label in _drawn(count, seed, CHINESE, ("0", "1"))
    ]


def graded(count: int, *, seed: int = 1) -> list[Pair]:
    """Grades from 0 to 5, higher where the deed is told again."""
    draw = random.Random(seed)
    middle = {"same": 4.2, "different": 1.0}
    return [
        (first, second, f"{middle[label] + draw.uniform(-0.8, 0.8):.1f}")
        for first, second, label in english(count, seed=seed)
    ]


def _drawn(
    count: int, seed: int, parts: tuple[tuple[str, ...], ...], labels: tuple[str, ...]
) -> list[tuple[tuple[str, ...], str]]:
    """Distinct combinations of the parts, each with a label in turn."""
    chosen = random.Random(seed).sample(list(product(*parts)), count)
    return [(words, labels[place % len(labels)]) for place, words in enumerate(chosen)]


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
