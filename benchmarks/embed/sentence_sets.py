"""The sets that sentence vectors are measured on, and which intent sets count in the mean.

The folder of data holds `pairs/SET/dev.tsv`, `intents/SET/{train,test}.tsv` and, where there are
any, `requests/requests_*.txt`: texts without labels that encoders are distilled from. Each file may
be compressed.

An intent set counts in the mean where `requests/` holds nothing of its source. The others are
reported apart: a model that was distilled from `requests/` has read most of what they store, though
none of what they ask. `share_in_requests` is measured, so that the list can be checked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from softquery.files import find_split, read_rows, read_texts

Language = Literal["en", "zh"]
Metric = Literal["spearman", "accuracy", "auc"]
OUT_OF_SCOPE = "oos"

PAIRS: dict[Language, dict[str, Metric]] = {
    "en": {"stsb_en": "spearman", "qqp_20k": "accuracy"},
    "zh": {"lcqmc": "auc", "bq": "auc", "afqmc": "auc", "chinese_stsb": "spearman"},
}
"""What is compared on `dev`, and the figure that counts."""

COUNTED: dict[Language, tuple[str, ...]] = {
    "en": (
        "atis", "bitext_support", "dstc11_insurance", "hint3_curekart", "nlueval_askubuntu",
        "nlueval_munich_transport", "nlueval_webapplications", "redwood_new", "rostd", "vira",
    ),
    "zh": (),
}  # fmt: skip
"""Intent sets whose sources are not in `requests/`."""

APART: dict[Language, dict[str, str]] = {
    "en": {
        "hwu64": "xliuhw/NLU-Evaluation-Data; SLURP, which grew out of it, is there as well",
        "snips": "sonos/nlu-benchmark",
        "multidogo": "awslabs/multi-domain-goal-oriented-dialogues-dataset",
        "ms_chitchat_en": "microsoft/botframework-solutions, Chitchat.qna",
        "ms_skills_en": "microsoft/botframework-solutions and -components, *.lu",
        "stackoverflow20": "jacoxu/StackOverflow, as titles in requests_en_measure",
    },
    "zh": {
        "zh_ms_chitchat": "microsoft/botframework-solutions, Chitchat.qna",
        "zh_ms_skills": "microsoft/botframework-solutions and -components, *.lu",
        "zh_smp2017": "OnionWang/SMP2019-ECDT-NLU",
        "zh_cais": "Adaxry/CM-Net",
    },
}
"""Intent sets that `requests/` shares a source with, and which."""


@dataclass(frozen=True, slots=True)
class Intents:
    """What is stored, what is asked, and what is asked in vain."""

    stored: list[str]
    stored_labels: list[str]
    asked: list[str]
    asked_labels: list[str]
    out_of_scope: list[str]

    @classmethod
    def of(cls, train: Iterable[tuple[str, str]], test: Iterable[tuple[str, str]]) -> "Intents":
        """Rows of text and label; those out of scope are not stored.

        >>> Intents.of([("a", "x"), ("b", "oos")], [("c", "x"), ("d", "oos")])
        Intents(stored=['a'], stored_labels=['x'], asked=['c'], asked_labels=['x'], \
out_of_scope=['d'])
        """
        kept = [row for row in train if row[1] != OUT_OF_SCOPE]
        rows = list(test)
        inside = [row for row in rows if row[1] != OUT_OF_SCOPE]
        outside = [text for text, label in rows if label == OUT_OF_SCOPE]
        return cls(*_columns(kept), *_columns(inside), outside)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two texts and a grade each."""

    first: list[str]
    second: list[str]
    labels: list[float]


def _columns(rows: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [text for text, _ in rows], [label for _, label in rows]


def intent_sets(language: Language) -> tuple[str, ...]:
    """Those that count, then those apart."""
    return (*COUNTED[language], *APART[language])


def read_intents(data: Path, name: str) -> Intents:
    """An intent set: train is stored, test is asked."""

    def rows(split: str) -> list[tuple[str, str]]:
        path = find_split(data / "intents" / name, split)
        columns = ("text", "label")
        return [
            (row.values["text"], row.values["label"]) for row in read_rows(path, columns=columns)
        ]

    return Intents.of(rows("train"), rows("test"))


def read_pairs(data: Path, name: str) -> Pairs:
    """The pairs of `dev`."""
    columns = ("sentence1", "sentence2", "label")
    rows = list(read_rows(find_split(data / "pairs" / name, "dev"), columns=columns))
    first, second, labels = ([row.values[column] for row in rows] for column in columns)
    return Pairs(first, second, [float(label) for label in labels])


def bare(text: str) -> str:
    """A text without what differs between copies of it: case, spaces, punctuation.

    >>> bare("What's up,  Doc?")
    'whatsupdoc'
    """
    return "".join(filter(str.isalnum, text.lower()))


def read_requests(data: Path, language: Language) -> set[str] | None:
    """The texts of `requests/`, bare; None where the folder is not there."""
    files = sorted((data / "requests").glob(f"requests_{language}*.txt*"))
    return {bare(text) for text in read_texts(files)} if files else None


def share_in_requests(texts: Sequence[str], requests: set[str] | None) -> float | None:
    """The share of texts that `requests/` holds.

    >>> share_in_requests(["Hello!", "Bye."], {"hello"})
    0.5
    """
    if requests is None:
        return None
    return sum(bare(text) in requests for text in texts) / len(texts)
