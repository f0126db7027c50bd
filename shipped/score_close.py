"""Small indexes whose rows somebody wrote to stand for many questions, for the score of search.

An editor words each row as is usual, and several rows are about the same matter; users word their
queries each in another way. So the rows of such an index are nearer to each other than most queries
are to the row that answers them, though no two rows have the same answer.

| case | rows | unanswerable queries |
|---|---|---|
| `typical N` | the most typical text of each of N intents, drawn | as in `score_faqs` |
| `close N` | the same, of groups of intents that are near each other | of intents near those, too |
| `title N` | the names of N intents, drawn, in words | as in `score_faqs` |
| `unlike N` | questions of a few topics, and such as were judged not to mean the same | likewise |

Typical is the text nearest to the mean of an intent's, by the encoder that search uses.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from score_cases import (
    INTENTS,
    LEFT_OUT,
    OUT_OF_SCOPE,
    PAIRS,
    Case,
    Language,
    Text,
    drawn,
    read_set,
)
from score_faqs import DRAWS, FINE, MOST_ASKED, MOST_IN_VAIN, SIZES, Clusters, topic_faq

import softquery as sq

FORMS = ("typical", "close", "title", "unlike")
"""What the cases are called."""
ENCODERS: dict[Language, str] = {"en": "embed-en", "zh": "embed-zh"}
ALSO: dict[Language, tuple[str, ...]] = {
    "en": ("multidogo", "rostd", "snips"),
    "zh": ("zh_smp2017", "zh_cais"),
}
"""Sets of broader intents, of which the names are in words as well."""
TITLED = (
    "hwu64", "snips", "rostd", "hint3_curekart", "bitext_support", "redwood_new",
    "dstc11_insurance", "ms_skills_en",
)  # fmt: skip
"""Sets whose labels name an intent in English words, such as `check_refund_policy`."""
READ = 30
"""Texts of an intent that its mean is of."""
GROUP, WITHHELD = 4, 1
"""Intents that are taken together because they are near, and how many of them are not stored."""
UNLIKE_SIZES = (30, 100)


def make_close(data: Path, language: Language, seed: int = 1) -> Iterator[Case]:
    """All cases of a language."""
    encoder = sq.load(ENCODERS[language])
    asked = {name: read_set(data, name)[1] for name in INTENTS[language]}
    for name in (*FINE[language], *ALSO[language]):
        others = [text for other in asked if other != name for text, _ in asked[other]]
        typical = typical_texts(encoder, read_set(data, name)[0], f"{seed} {name}")
        titles = {label: words_of_name(label) for label in typical} if name in TITLED else {}
        for size in SIZES:
            if size > round((1 - LEFT_OUT) * len(typical)) and size != SIZES[0]:
                continue
            draw = random.Random(f"{seed} {name} close {size}")
            vectors = {label: vector for label, (_, vector) in typical.items()}
            texts = {label: text for label, (text, _) in typical.items()}
            most = min(size, round((1 - LEFT_OUT) * len(typical)))
            any_labels = draw.sample(sorted(texts), most), set[str]()
            yield _case(
                language, name, "typical", texts, any_labels, asked[name], others, size, draw
            )
            if len(typical) >= 3 * GROUP:
                near = near_labels(vectors, most, draw)
                yield _case(language, name, "close", texts, near, asked[name], others, size, draw)
            if titles:
                yield _case(
                    language, name, "title", titles, any_labels, asked[name], others, size, draw
                )
    for name in PAIRS[language]:
        clusters = Clusters.read(data / "pairs" / name)
        for size in UNLIKE_SIZES:
            for number in range(min(2, DRAWS[language])):
                yield unlike_faq(language, name, clusters, size, seed + 100 + number)


def typical_texts(
    encoder: "sq.SentenceEncoder", stored: Sequence[Text], seed: str
) -> dict[str, tuple[str, np.ndarray]]:
    """Of each intent the most typical text, and its vector."""
    draw = random.Random(seed)
    by_label: dict[str, list[str]] = defaultdict(list)
    for text, label in stored:
        if text.strip():
            by_label[label].append(text)
    found = {}
    for label, texts in sorted(by_label.items()):
        some = drawn(draw, texts, READ)
        vectors = encoder.encode(some)
        best = int((vectors @ vectors.mean(axis=0)).argmax())
        found[label] = some[best], vectors[best]
    return found


def near_labels(
    vectors: Mapping[str, np.ndarray], size: int, draw: random.Random
) -> tuple[list[str], set[str]]:
    """Intents in groups that are near each other, and others of these, to be asked in vain."""
    left = sorted(vectors)
    kept: list[str] = []
    withheld: set[str] = set()
    while left and len(kept) < size:
        first = vectors[draw.choice(left)]
        group = sorted(left, key=lambda label: -float(first @ vectors[label]))[:GROUP]
        left = [label for label in left if label not in group]
        gone = draw.sample(group, WITHHELD) if len(group) == GROUP else []
        withheld.update(gone)
        kept += [label for label in group if label not in gone]
    withheld.update(kept[size:])
    return kept[:size], withheld


def words_of_name(name: str) -> str:
    """The name of an intent in words.

    >>> words_of_name("CHECK_PINCODE"), words_of_name("ChangeSecurityQuestion")
    ('Check pincode', 'Change security question')
    >>> words_of_name("alarm/time_left_on_alarm")
    'Time left on alarm'
    """
    parts = re.split(r"[_\s]+", name.split("/")[-1])
    words = [
        word for part in parts for word in re.sub(r"(?<=[a-z])(?=[A-Z])", " ", part).lower().split()
    ]
    return " ".join(words).capitalize()


def _case(
    language: Language,
    name: str,
    form: str,
    texts: Mapping[str, str],
    chosen: tuple[Sequence[str], set[str]],
    asked: Sequence[Text],
    others: Sequence[str],
    size: int,
    draw: random.Random,
) -> Case:
    """An index of one row for each of some intents.

    Args:
        language: Of the set.
        name: The set.
        form: What the case is called.
        texts: The row of each intent.
        chosen: The intents that are stored, and others near them.
        asked: What the set asks.
        others: Queries of other sets.
        size: How many were to be stored at most.
        draw: Draws queries.
    """
    kept, near = set(chosen[0]), chosen[1]
    rows = [(texts[label], label) for label in chosen[0]]
    queries = drawn(draw, [row for row in asked if row[1] in kept], MOST_ASKED)
    for sort in (
        [text for text, label in asked if label in near],
        [text for text, label in asked if label in texts and label not in kept | near],
        [text for text, label in asked if label == OUT_OF_SCOPE],
        others,
    ):
        queries += [(text, "") for text in drawn(draw, sort, MOST_IN_VAIN)]
    return Case(language, name, f"{form} {size}", rows, queries)


def unlike_faq(language: Language, name: str, clusters: Clusters, size: int, seed: int) -> Case:
    """Questions of a few topics, stored with such as were judged not to mean the same."""
    case = topic_faq(language, name, clusters, size, seed)
    known = {answer for _, answer in case.rows}
    asked = {text for text, _ in case.queries}
    rows = list(case.rows)
    for _, key in case.rows:
        for text in clusters.unlike[key][:2]:
            if clusters.root(text) not in known and text not in asked:
                known.add(clusters.root(text))
                rows.append((text, text))
    return Case(language, name, f"unlike {size} {seed}", rows, case.queries)
