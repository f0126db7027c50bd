"""Small indexes in the shape of an FAQ, for the score of search: one row for every answer.

| case | rows | unanswerable queries |
|---|---|---|
| `label N` | N labels that are questions | of other intents, out of scope, of other sets |
| `faq N` | one text of each of N intents, drawn | likewise |
| `faq N+` | one, two or three texts of each | likewise |
| `topics N` | one question of each of N clusters of paraphrases, of a few topics | near ones |
| `domain` | one of several questions with the same answer, and others | of the same domain |

Near are questions of the same topics, and those that were judged not to mean the same as a stored
one. A topic is a word that some of the questions share. Answers are never stored as text, but as
the number of an intent or a cluster, as in `score_cases`, whose cases and sets these are added to.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from score_cases import (
    INTENTS,
    LABELS_ASK,
    LEFT_OUT,
    OUT_OF_SCOPE,
    PAIRS,
    Case,
    Language,
    Text,
    drawn,
    read_set,
)

from softquery.files import find_split, read_rows

FINE: dict[Language, tuple[str, ...]] = {
    "en": (
        "vira", "ms_chitchat_en", "ms_skills_en", "hwu64", "bitext_support", "dstc11_insurance",
        "hint3_curekart", "redwood_new",
    ),
    "zh": ("zh_ms_chitchat", "zh_ms_skills"),
}  # fmt: skip
"""Sets of which an intent is about as narrow as the question of an FAQ."""
SIZES = (12, 30, 80)
TOPIC_SIZES = (20, 50, 150)
NARROW = ("bq", "afqmc", "ncov_zh")
"""Sets of one topic, of which questions are drawn from all."""
DRAWS: dict[Language, int] = {"en": 5, "zh": 1}
"""Indexes of each size of a set of paraphrases: English has one such set, Chinese five."""
TOPIC_ROWS = (4, 12)
"""The least and the most rows of a topic."""
MOST_ASKED, MOST_IN_VAIN = 120, 25
LEAST_CLUSTERS = 8
"""A domain with fewer questions that others share an answer with is no case."""


def make_faqs(data: Path, language: Language, seed: int = 1) -> Iterator[Case]:
    """All cases of a language."""
    asked = {name: read_set(data, name)[1] for name in INTENTS[language]}
    for name in FINE[language]:
        others = [text for other in asked if other != name for text, _ in asked[other]]
        stored, _ = read_set(data, name)
        labels = {label for _, label in stored}
        for size in SIZES:
            if size > round((1 - LEFT_OUT) * len(labels)) and size != SIZES[0]:
                continue
            for form in ("label", "faq", "faq+"):
                if form != "label" or name in LABELS_ASK:
                    yield small_faq(language, name, form, stored, asked[name], others, size, seed)
    for name in PAIRS[language]:
        clusters = Clusters.read(data / "pairs" / name)
        for size in TOPIC_SIZES:
            for number in range(DRAWS[language]):
                yield topic_faq(language, name, clusters, size, seed + number)
    yield from domain_faqs(data, language, seed)


def small_faq(
    language: Language,
    name: str,
    form: str,
    stored: Sequence[Text],
    asked: Sequence[Text],
    others: Sequence[str],
    size: int,
    seed: int,
) -> Case:
    """Some intents of a set, with one row each, or with one to three.

    Args:
        language: Of the set.
        name: The set.
        form: `label`, `faq` or `faq+`.
        stored: What the set stores.
        asked: What it asks.
        others: Queries of other sets.
        size: The most intents.
        seed: Of what is drawn.
    """
    draw = random.Random(f"{seed} {name} {form} {size}")
    by_label: dict[str, list[str]] = defaultdict(list)
    for text, label in stored:
        by_label[label].append(text)
    most = round((1 - LEFT_OUT) * len(by_label))
    kept = draw.sample(sorted(by_label), min(size, most))
    rows: list[Text] = []
    for label in kept:
        count = draw.randint(1, 3) if form == "faq+" else 1
        texts = [label] if form == "label" else drawn(draw, by_label[label], count)
        rows += [(text, label) for text in texts]
    known = set(kept)
    queries = drawn(draw, [row for row in asked if row[1] in known], MOST_ASKED)
    for sort in (
        [text for text, label in asked if label in by_label and label not in known],
        [text for text, label in asked if label == OUT_OF_SCOPE],
        others,
    ):
        queries += [(text, "") for text in drawn(draw, sort, MOST_IN_VAIN)]
    title = f"{form.removesuffix('+')} {size}{'+' if form == 'faq+' else ''}"
    return Case(language, name, title, rows, queries)


class Clusters:
    """Questions that were judged to mean the same, and which were judged not to.

    Args:
        pairs: Two questions and whether they mean the same.
    """

    def __init__(self, pairs: Sequence[tuple[str, str, bool]]) -> None:
        self._parent: dict[str, str] = {}
        self.texts: dict[str, list[str]] = defaultdict(list)
        self.unlike: dict[str, list[str]] = defaultdict(list)
        """Questions that are not the same as one of a cluster."""
        for first, second, is_same in pairs:
            if is_same and first != second:
                self._parent[self.root(first)] = self.root(second)
        for text in list(self._parent):
            self.texts[self.root(text)].append(text)
        for first, second, is_same in pairs:
            if not is_same and second in self._parent and self.root(first) != self.root(second):
                self.unlike[self.root(second)].append(first)

    @classmethod
    def read(cls, folder: Path) -> "Clusters":
        """Those of the `dev` of a set, which no shipped matcher has learned from."""
        columns = ("sentence1", "sentence2", "label")
        rows = [row.values for row in read_rows(find_split(folder, "dev"), columns=columns)]
        return cls([(row["sentence1"], row["sentence2"], row["label"] == "1") for row in rows])

    def root(self, text: str) -> str:
        """What the cluster of a text is called."""
        while self._parent.setdefault(text, text) != text:
            text = self._parent[text]
        return text


def topic_faq(language: Language, name: str, clusters: Clusters, size: int, seed: int) -> Case:
    """Questions of a few topics, one row for all that mean the same."""
    draw = random.Random(f"{seed} {name} topics {size}")
    keys = sorted(key for key, texts in clusters.texts.items() if len(texts) > 1)
    topics: dict[str, list[str]] = defaultdict(list)
    for key in [] if name in NARROW else keys:
        for word in words_of(clusters.texts[key][0], language):
            topics[word].append(key)
    least, most = TOPIC_ROWS
    usable = sorted(word for word, found in topics.items() if least < len(found) <= len(keys) / 30)
    draw.shuffle(usable)
    if name in NARROW:
        topics["all"], usable = draw.sample(keys, min(len(keys), 2 * size)), ["all"]
    stored: list[str] = []
    near: list[str] = []
    for word in usable:
        if len(stored) >= size:
            break
        fresh = [key for key in topics[word] if key not in stored and key not in near]
        draw.shuffle(fresh)
        count = size if name in NARROW else draw.randint(least, most)
        count = min(count, size - len(stored), round(0.8 * len(fresh)))
        stored += fresh[:count]
        near += fresh[count : count + max(1, count // 4)]
    rows, queries, unlike = [], [], []
    for key in stored:
        first, *others = draw.sample(clusters.texts[key], len(clusters.texts[key]))
        rows.append((first, key))
        queries += [(text, key) for text in others[:2]]
        unlike += [text for text in clusters.unlike[key] if clusters.root(text) not in stored][:1]
    queries = drawn(draw, queries, MOST_ASKED)
    queries += [(clusters.texts[key][0], "") for key in drawn(draw, near, MOST_IN_VAIN)]
    queries += [(text, "") for text in drawn(draw, unlike, min(MOST_IN_VAIN, size // 8))]
    far = [key for key in keys if key not in stored]
    queries += [(clusters.texts[key][0], "") for key in drawn(draw, far, MOST_IN_VAIN)]
    return Case(language, name, f"topics {size} {seed}", rows, queries)


def words_of(text: str, language: Language) -> set[str]:
    """What a text may share with others of its topic: longer words, or two characters.

    >>> sorted(words_of("How do I cook rice ?", "en")), sorted(words_of("借款", "zh"))
    (['cook', 'rice'], ['借款'])
    """
    if language == "zh":
        return {text[start : start + 2] for start in range(len(text) - 1)}
    return {word.lower() for word in text.split() if len(word) > 3 and word.isalpha()}


def domain_faqs(data: Path, language: Language, seed: int) -> Iterator[Case]:
    """InsuranceQA's questions by domain; those with the same answer mean the same."""
    folder = data / "pairs" / "insuranceqa"
    columns = (language, "domain", "answer_ids")
    asked: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
    for split in ("questions_train", "questions_valid"):
        for row in read_rows(find_split(folder, split), columns=columns):
            text, domain, keys = (row.values[column] for column in columns)
            asked[domain].append((text, keys.split()))
    for domain, questions in sorted(asked.items()):
        draw = random.Random(f"{seed} {domain} {language}")
        by_answer: dict[str, list[str]] = defaultdict(list)
        for text, keys in questions:
            for key in keys:
                by_answer[key].append(text)
        pairs = [
            (texts[0], other, True)
            for texts in by_answer.values()
            for other in dict.fromkeys(texts[1:])
        ]
        clusters = Clusters(pairs)
        shared = {text for texts in clusters.texts.values() for text in texts}
        alone = sorted({text for text, _ in questions} - shared)
        keys = sorted(key for key, texts in clusters.texts.items() if len(texts) > 1)
        if len(keys) < LEAST_CLUSTERS:
            continue
        rows, queries = [], []
        for key in keys:
            first, *others = draw.sample(clusters.texts[key], len(clusters.texts[key]))
            rows.append((first, key))
            queries += [(text, key) for text in others[:2]]
        singles = draw.sample(alone, min(len(alone), len(rows) + 2 * MOST_IN_VAIN))
        rows += [(text, text) for text in singles[: -2 * MOST_IN_VAIN]]
        queries = drawn(draw, queries, MOST_ASKED)
        queries += [(text, "") for text in singles[-2 * MOST_IN_VAIN :]]
        yield Case(language, f"insuranceqa_{language}", f"domain {domain}", rows, queries)
