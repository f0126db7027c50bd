r"""The sets that choices among students are made by: none of them is one that is reported.

    PYTHONPATH=shipped python -m students.judged_sets en --data DATA --output judged_en.json.xz

English: STS-B's and Quora's training rows, and first answers on the intent sets that are reported
apart. Chinese: three sets of pairs that are not reported, and the intent sets. Both files also hold
every text of the reported sets, which nothing that is written may equal.
"""

import argparse
import json
import lzma
import random
from pathlib import Path
from typing import Any

from text_sources import Library

from softquery.files import read_rows

PAIRS = {
    "en": ["stsb_en/train", "qqp_first10k/train"],
    "zh": ["oppo_xiaobu_dev/dev", "ncov_zh/train", "ths_finance_cs/train"],
}
INTENTS = {
    "en": ["hwu64", "snips", "multidogo", "ms_chitchat_en", "ms_skills_en", "stackoverflow20"],
    "zh": ["zh_smp2017", "zh_cais", "zh_ms_skills", "zh_ms_chitchat"],
}
REPORTED = ["lcqmc", "bq", "afqmc", "chinese_stsb"]
"""Of Chinese; of English, what `text_sources` holds out."""
MOST_PAIRS = 10_000
SIDES = ("sentence1", "sentence2")


class Numbered:
    """Texts, each once, by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The text's number.

        >>> known = Numbered()
        >>> known.add("a"), known.add("b"), known.add("a")
        (0, 1, 0)
        """
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]


def judged_sets(language: str, data: Path) -> dict[str, Any]:
    """Pairs and intents by numbers of texts, the texts, and what must not be written."""
    known = Numbered()
    pairs: dict[str, list[list[float]]] = {}
    for name in PAIRS[language]:
        rows = [
            row.values
            for row in read_rows(data / f"pairs/{name}.tsv.xz", columns=(*SIDES, "label"))
        ]
        random.Random(1).shuffle(rows)
        pairs[name.partition("/")[0]] = [
            [*(known.add(row[side]) for side in SIDES), float(row["label"])]
            for row in rows[:MOST_PAIRS]
        ]
    intents: dict[str, dict[str, list[list[Any]]]] = {}
    for name in INTENTS[language]:
        intents[name] = {}
        for split in ("train", "test"):
            rows = [row.values for row in read_rows(data / f"intents/{name}/{split}.tsv.xz",
                                                    columns=("text", "label"))]  # fmt: skip
            inside = [row for row in rows if row["label"] != "oos"]
            intents[name][split] = [[known.add(row["text"]), row["label"]] for row in inside]
    held_out = set(Library(data).held_out(language)) if language == "en" else _reported_zh(data)
    return {"pairs": pairs, "intents": intents, "texts": known.texts, "held_out": sorted(held_out)}


def _reported_zh(data: Path) -> set[str]:
    return {
        "".join(row.values[side].split())
        for name in REPORTED
        for row in read_rows(data / f"pairs/{name}/dev.tsv.xz", columns=SIDES)
        for side in SIDES
    }


def main() -> None:
    """Write the sets of a language."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("language", choices=["en", "zh"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    found = judged_sets(options.language, options.data)
    with lzma.open(options.output, "wt", encoding="utf-8") as file:
        json.dump(found, file)
    print(f"{options.output}: {len(found['texts']):,} texts")


if __name__ == "__main__":
    main()
