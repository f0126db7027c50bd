"""How much of an answer a row's vector should hold: InsuranceQA by domains, several shares.

    python benchmarks search answers --data DATA --output answers.json

A row is the first of several questions that have the same answer, with that answer; the others (at
most two) are asked. Beside them stand as many rows whose answer no other question has, at least 60,
and 40 such questions that are not stored are asked in vain. All is as `softquery index` makes it.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from softquery.files import find_split, read_rows
from softquery.search import Index, IndexSettings

SEED = 1
SHARES = (0.0, 0.2, 0.3, 0.5, 0.8)
LEAST_ROWS, LEAST_QUERIES, IN_VAIN = 60, 8, 40
Rows = list[dict[str, str]]
Queries = list[tuple[str, str]]


def domains(folder: Path, language: str) -> Iterator[tuple[str, Rows, Queries]]:
    """Of each domain its rows, and queries with the id of the row that answers them."""
    answers = {
        row.values["aid"]: row.values[language]
        for row in read_rows(find_split(folder, "answers"), columns=("aid", language))
    }
    asked: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
    for split in ("questions_train", "questions_valid"):
        columns = (language, "domain", "answer_ids")
        for row in read_rows(find_split(folder, split), columns=columns):
            text, domain, keys = (row.values[name] for name in columns)
            asked[domain].append((text, keys.split()))
    for domain, questions in asked.items():
        by_answer: dict[str, list[str]] = defaultdict(list)
        for text, keys in questions:
            for key in keys:
                by_answer[key].append(text)
        used: set[str] = set()
        pairs: list[tuple[str, str]] = []
        queries: Queries = []
        for key, texts in sorted(by_answer.items()):
            distinct = list(dict.fromkeys(texts))
            if len(distinct) > 1 and not used & set(distinct):
                used |= set(distinct)
                queries += [(text, str(len(pairs))) for text in distinct[1:3]]
                pairs.append((distinct[0], key))
        if len(queries) < LEAST_QUERIES:
            continue
        alone = [(text, keys[0]) for text, keys in questions if text not in used]
        random.Random(SEED).shuffle(alone)
        count = max(LEAST_ROWS, len(pairs))
        queries += [(text, "") for text, _ in alone[count : count + IN_VAIN]]
        pairs += alone[:count]
        rows = [
            {"id": str(number), "question": text, "answer": answers[key]}
            for number, (text, key) in enumerate(pairs)
        ]
        yield domain, rows, queries


def measure(folder: Path, language: str, share: float) -> dict[str, float | int]:
    """What all queries of a language get."""
    found = []
    for _, rows, queries in domains(folder, language):
        with TemporaryDirectory() as place:
            settings = IndexSettings(answer_share=share)
            model = f"match-{language}"
            index = Index.build(rows, Path(place) / "faq.sq", model=model, settings=settings)
            for text, right in queries:
                result = index.find(text, top_k=1)
                (first,) = result.hits or result.others
                found.append((first["id"] == right, bool(result.hits), bool(right), first["score"]))
    columns = zip(*found, strict=True)
    right, given, answerable = (np.array(next(columns)) for _ in range(3))
    scores = np.array(next(columns))
    inside = given & answerable
    return {
        "answerable": int(answerable.sum()),
        "unanswerable": int((~answerable).sum()),
        "first_right": _mean(right[answerable]),
        "mean_score": _mean(scores[answerable]),
        "answered_rightly": _mean((right & given)[answerable]),
        "answered_wrongly": _mean((~right & given)[answerable]),
        "precision": _mean(right[inside]),
        "unanswerable_answered": _mean(given[~answerable]),
    }


def _mean(values: np.ndarray) -> float:
    return round(float(values.mean()), 4)


def main() -> None:
    """Print and write the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--languages", nargs="+", default=["en", "zh"])
    options = parser.parse_args()
    folder = options.data / "pairs" / "insuranceqa"
    result = {
        language: {str(share): measure(folder, language, share) for share in SHARES}
        for language in options.languages
    }
    text = json.dumps(result, indent=1)
    print(text)
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
