"""The small indexes that the score of search learns from: what each stores, and what it is asked.

A *case* is an index with its queries; cases that are made of the same texts belong to one *set*,
and a set is always judged by a score that has seen no case of it.

| case | rows | unanswerable queries |
|---|---|---|
| `report` | as many of a set's rows as `MOST_ROWS` | its own out-of-scope ones |
| `many` | the same, without a fifth of the intents | of those, out of scope, of other sets |
| `five` | five rows per intent, likewise | likewise |
| `one` | one row per intent, likewise | likewise |
| `label` | the label itself, where that is a question | likewise |
| `pairs` | one side of paraphrases | the other side of pairs that are not stored |
| `long` | answers of a hundred words | questions whose answers are not stored |

Nothing here reads the FAQs of `examples/`.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from softquery.files import find_split, read_rows

Language = Literal["en", "zh"]
Text = tuple[str, str]
"""A text and what answers it: an intent, or the number of a cluster of paraphrases."""
OUT_OF_SCOPE = "oos"
INTENTS: dict[Language, tuple[str, ...]] = {
    "en": (
        "atis", "bitext_support", "dstc11_insurance", "hint3_curekart", "nlueval_askubuntu",
        "nlueval_munich_transport", "nlueval_webapplications", "redwood_new", "rostd", "vira",
        "hwu64", "snips", "multidogo", "ms_chitchat_en", "ms_skills_en", "stackoverflow20",
    ),
    "zh": ("zh_ms_chitchat", "zh_ms_skills", "zh_smp2017", "zh_cais"),
}  # fmt: skip
LABELS_ASK = ("vira", "ms_chitchat_en", "zh_ms_chitchat")
"""Sets whose labels are questions."""
PAIRS: dict[Language, tuple[str, ...]] = {
    "en": ("qqp_20k",),
    "zh": ("lcqmc", "bq", "afqmc", "ncov_zh", "oppo_xiaobu_dev"),
}
"""Paraphrases of which `dev` is used, which no shipped matcher has learned from."""
MOST_ROWS, MOST_QUERIES = 1500, 600
MOST_ASKED, MOST_UNANSWERABLE = 250, 40
"""Queries of a case that is learned from: answerable ones, and of each unanswerable sort."""
MOST_PAIRS = (60, 600, 4000)
"""Rows of a small, of a large and of a very large index of paraphrases, at most."""
LEFT_OUT = 0.2


@dataclass(frozen=True, slots=True)
class Case:
    """An index and its queries."""

    language: Language
    set: str
    name: str
    rows: list[Text]
    queries: list[Text]
    """A query whose answer is empty has none."""


def make_cases(data: Path, language: Language, seed: int = 1) -> Iterator[Case]:
    """All cases of a language."""
    sets = {name: read_set(data, name) for name in INTENTS[language]}
    for name, (stored, asked) in sets.items():
        others = [text for other in sets if other != name for text, _ in sets[other][1]]
        yield _report(language, name, stored, asked, seed)
        for form, most in (("many", MOST_ROWS), ("five", 5), ("one", 1)):
            yield learned_case(language, name, form, stored, asked, others, most, seed)
        if name in LABELS_ASK:
            labels = [(label, label) for label in dict.fromkeys(label for _, label in stored)]
            yield learned_case(language, name, "label", labels, asked, others, 1, seed)
    for name in PAIRS[language]:
        for number, most in enumerate(MOST_PAIRS):
            yield pair_case(data, language, name, most, seed + number)
    yield _long(data, language, seed)


def read_set(data: Path, name: str) -> tuple[list[Text], list[Text]]:
    """What an intent set stores and what it asks."""
    folder = data / "intents" / name

    def read(split: str) -> list[Text]:
        rows = read_rows(find_split(folder, split), columns=("text", "label"))
        return [(row.values["text"], row.values["label"]) for row in rows]

    return [row for row in read("train") if row[1] != OUT_OF_SCOPE], read("test")


def _report(
    language: Language, name: str, stored: Sequence[Text], asked: Sequence[Text], seed: int
) -> Case:
    draw = random.Random(f"{seed} {name} report")
    known = {label for _, label in stored}
    inside = [row for row in asked if row[1] in known]
    outside = [(text, "") for text, label in asked if label == OUT_OF_SCOPE]
    queries = drawn(draw, inside, MOST_QUERIES - min(len(outside), 200))
    queries += drawn(draw, outside, 200)
    return Case(language, name, "report", drawn(draw, stored, MOST_ROWS), queries)


def learned_case(
    language: Language,
    name: str,
    form: str,
    stored: Sequence[Text],
    asked: Sequence[Text],
    others: Sequence[str],
    most: int,
    seed: int,
) -> Case:
    """A case without a fifth of the intents.

    Args:
        language: Of the set.
        name: The set.
        form: What the case is called.
        stored: What the set stores.
        asked: What it asks.
        others: Queries of other sets.
        most: Rows per intent; of more than `MOST_ROWS` in all, some are drawn.
        seed: Of what is drawn.
    """
    draw = random.Random(f"{seed} {name} {form}")
    labels = sorted({label for _, label in stored})
    gone = set(draw.sample(labels, round(LEFT_OUT * len(labels)))) if len(labels) > 3 else set()
    by_label: dict[str, list[Text]] = defaultdict(list)
    for row in draw.sample(list(stored), len(stored)):
        if row[1] not in gone and len(by_label[row[1]]) < most:
            by_label[row[1]].append(row)
    rows = drawn(draw, [row for each in by_label.values() for row in each], MOST_ROWS)
    known = {label for _, label in rows}
    queries = drawn(draw, [row for row in asked if row[1] in known], MOST_ASKED)
    for sort in (
        [text for text, label in asked if label in gone],
        [text for text, label in asked if label == OUT_OF_SCOPE],
        others,
    ):
        queries += [(text, "") for text in drawn(draw, sort, MOST_UNANSWERABLE)]
    return Case(language, name, form, rows, queries)


def pair_case(data: Path, language: Language, name: str, most: int, seed: int) -> Case:
    """Paraphrases: those of a cluster are one answer; the rest is asked in vain."""
    draw = random.Random(f"{seed} {name} {most}")
    columns = ("sentence1", "sentence2", "label")
    parent: dict[str, str] = {}

    def root(text: str) -> str:
        while parent.setdefault(text, text) != text:
            text = parent[text]
        return text

    pairs = []
    for row in read_rows(find_split(data / "pairs" / name, "dev"), columns=columns):
        first, second, label = (row.values[column] for column in columns)
        if label == "1" and first != second:
            parent[root(first)] = root(second)
            pairs.append((first, second))
    draw.shuffle(pairs)
    rows, queries, used = [], [], set()
    for first, second in pairs:
        key = root(first)
        if key in used:
            continue
        used.add(key)
        if len(rows) < most:
            rows.append((second, key))
            queries.append((first, key))
        elif len(queries) < len(rows) + 80:
            queries.append((first, ""))
    answered = drawn(draw, queries[: len(rows)], MOST_ASKED)
    return Case(language, name, f"pairs {most}", rows, answered + queries[len(rows) :])


def _long(data: Path, language: Language, seed: int) -> Case:
    """Questions of InsuranceQA, and answers of a hundred words."""
    draw = random.Random(f"{seed} insuranceqa {language}")
    folder = data / "pairs" / "insuranceqa"
    texts = {
        row.values["aid"]: row.values[language]
        for row in read_rows(find_split(folder, "answers"), columns=("aid", language))
    }
    asked = read_rows(find_split(folder, "questions_valid"), columns=(language, "answer_ids"))
    found = [(row.values[language], row.values["answer_ids"].split()) for row in asked]
    found = drawn(draw, found, 380)
    rows = {
        texts[key]: str(number) for number, (_, keys) in enumerate(found[:300]) for key in keys[:1]
    }
    queries = [(text, str(number)) for number, (text, _) in enumerate(found[:300])]
    return Case(
        language,
        f"insuranceqa_{language}",
        "long",
        list(rows.items()),
        drawn(draw, queries, MOST_ASKED) + [(text, "") for text, _ in found[300:]],
    )


def drawn(draw: random.Random, items: Sequence, most: int) -> list:  # type: ignore[type-arg]
    """All items, or as many of them, drawn."""
    return list(items) if len(items) <= most else draw.sample(list(items), most)
