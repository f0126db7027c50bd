r"""Gather labelled pairs from many sets into the folder that a shipped model is trained from.

    python shipped/gather.py match-zh --pairs DATA/pairs --output prepared/match-zh

writes `train.jsonl`, `tune.jsonl` (a seeded share of the training rows, to steer by) and
`dev.jsonl`, each row with the name of its `source`, and `facts.json` with rows and licences for the
model card. Pairs that also stand in a dev set are left out of training, in either order and
whatever their case, spacing and punctuation; so are pairs with a text of the FAQs that search is
measured on, and pairs that two sets label differently.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from measured_faqs import is_measured

from softquery.data import first_sentence, split_rows
from softquery.files import find_split, read_rows
from softquery.files.row import Row

SEED = 1
COLUMNS = ("sentence1", "sentence2", "label")
NOT_WORDS = re.compile(r"[\W_]+")


def as_is(label: str) -> str | None:
    """The label that the set gives."""
    return label


def graded(label: str) -> str | None:
    """Similarity from 0 to 5 as same meaning or not; the middle says neither."""
    grade = float(label)
    return "1" if grade >= 4 else "0" if grade <= 3 else None


@dataclass(frozen=True, kw_only=True)
class Source:
    """One set of labelled pairs."""

    name: str
    licence: str = "research"
    label: Callable[[str], str | None] = as_is
    train: bool = True
    dev: bool = True
    tune_share: float = 0.02
    note: str = ""


SOURCES: dict[str, list[Source]] = {
    "nli-en": [
        Source(name="snli_100k", licence="CC BY-SA 4.0", tune_share=0.05),
        Source(name="snli_cad", licence="Apache-2.0", tune_share=0.05),
    ],
    "match-en-free": [
        Source(name="qqp_20k", train=False),
        Source(name="mrpc", train=False),
        Source(name="stsb_en", train=False, label=graded, note="grade >= 4 is 1, <= 3 is 0"),
    ],
    "match-en": [
        Source(name="qqp_first10k", dev=False, tune_share=0.15, note="Quora questions"),
        Source(name="qqp_positives_only", dev=False, tune_share=0, note="Quora duplicates"),
        Source(name="qqp_20k", train=False),
        Source(name="mrpc", tune_share=0.1),
        Source(name="stsb_en", label=graded, tune_share=0.05, note="grade >= 4 is 1, <= 3 is 0"),
    ],
    "match-zh": [
        Source(name="lcqmc", note="questions from a search engine"),
        Source(name="bq", note="a bank's customers"),
        Source(name="atec", dev=False, note="a payment service's customers"),
        Source(name="afqmc", note="a payment service's customers"),
        Source(name="ths_finance_cs", dev=False, note="a broker's customers"),
        Source(name="ncov_zh", note="medical questions"),
        Source(name="pawsx_zh", licence="free with attribution", note="word-order traps"),
        Source(name="chinese_stsb", label=graded, note="grade >= 4 is 1, <= 3 is 0"),
        Source(name="oppo_xiaobu_dev", train=False, note="a voice assistant's users; not trained"),
    ],
}


def normal(text: str) -> str:
    """A sentence without case, spacing and punctuation.

    >>> normal("What 's up ?")
    'whatsup'
    """
    return NOT_WORDS.sub("", text.lower()) or text


def key(row: Row) -> frozenset[str]:
    """The pair, whatever its order."""
    return frozenset((normal(row.values["sentence1"]), normal(row.values["sentence2"])))


def read(folder: Path, source: Source, split: str) -> Iterator[Row]:
    """The rows of one split with the labels that the model knows."""
    for row in read_rows(find_split(folder / source.name, split), columns=COLUMNS):
        label = source.label(row.values["label"])
        if label is not None:
            values = {**row.values, "label": label, "source": source.name}
            yield replace(row, values=values)


def gather(name: str, folder: Path) -> tuple[dict[str, list[Row]], list[dict[str, object]]]:
    """The rows of every split, and what a card says about the sets."""
    sources = SOURCES[name]
    dev = [row for each in sources if each.dev for row in read(folder, each, "dev")]
    in_dev = {key(row) for row in dev}
    given = {each.name: list(read(folder, each, "train")) for each in sources if each.train}
    labels = labels_of(row for rows in given.values() for row in rows)
    splits: dict[str, list[Row]] = {"train": [], "tune": [], "dev": dev}
    facts: list[dict[str, object]] = []
    seen: set[tuple[str, str]] = set()
    for source in sources:
        if not source.train:
            continue
        kept = []
        for row in given[source.name]:
            exact = (row.values["sentence1"], row.values["sentence2"])
            is_new = exact not in seen and len(labels[ordered(row)]) == 1
            if is_new and key(row) not in in_dev and not is_measured(*exact):
                kept.append(row)
            seen.add(exact)
        train, tune = split_rows(kept, share=source.tune_share, seed=SEED, key=first_sentence)
        splits["train"] += train
        splits["tune"] += tune
        facts.append(fact(source, len(train)))
        left_out = len(given[source.name]) - len(kept)
        print(
            f"{source.name}: {len(train):,} to train on, {len(tune):,} to tune by, "
            f"{left_out:,} left out (repeated, labelled twice, or measured with)"
        )
    return splits, facts


def fact(source: Source, rows: int) -> dict[str, object]:
    """What a card says about a set."""
    return {"name": source.name, "rows": rows, "licence": source.licence, "note": source.note}


def ordered(row: Row) -> tuple[str, str]:
    """The pair in its order."""
    return normal(row.values["sentence1"]), normal(row.values["sentence2"])


def labels_of(rows: Iterable[Row]) -> dict[tuple[str, str], set[str]]:
    """Every label that a pair was given; in this order, because an inference runs one way only."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        found.setdefault(ordered(row), set()).add(row.values["label"])
    return found


def write(path: Path, rows: Iterable[Row]) -> None:
    """One JSON object a line."""
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row.values, ensure_ascii=False) + "\n")


def main() -> None:
    """Parse, gather and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=SOURCES)
    parser.add_argument("--pairs", type=Path, required=True, help="a folder of sets")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    splits, facts = gather(options.name, options.pairs)
    options.output.mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        write(options.output / f"{split}.jsonl", rows)
        shares = Counter(row.values["label"] for row in rows)
        print(f"{split}: {len(rows):,} rows, {dict(shares)}")
    (options.output / "facts.json").write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
