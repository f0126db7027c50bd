"""Whether answers should be searched as texts by default: InsuranceQA, with and without.

    python benchmarks/search/further_texts.py --data DATA --language en

Rows are training questions, each with its first answer. Queries are validation questions; the rows
that share an answer with one answer it, and those whose answers no row has are without an answer.
"""

import argparse
import json
import lzma
import random
from pathlib import Path
from tempfile import TemporaryDirectory

from softquery.files import Row
from softquery.search import Index, IndexSettings, evaluate_index

SEED = 1
NUM_ROWS, NUM_QUERIES = 1500, 300


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a table."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        header = next(lines).rstrip("\n").split("\t")
        return [dict(zip(header, line.rstrip("\n").split("\t"), strict=True)) for line in lines]


def task(folder: Path, language: str) -> tuple[list[dict[str, str]], list[Row]]:
    """Rows of an index, and labelled queries to it."""
    draw = random.Random(SEED)
    answers = {each["aid"]: each[language] for each in read(folder / "answers.tsv.xz")}
    train = read(folder / "questions_train.tsv.xz")
    valid = read(folder / "questions_valid.tsv.xz")
    draw.shuffle(train)
    draw.shuffle(valid)
    wanted = {aid for each in valid for aid in each["answer_ids"].split()}
    shared = [each for each in train if wanted & set(each["answer_ids"].split())]
    others = [each for each in train if not wanted & set(each["answer_ids"].split())]
    chosen = (shared + others)[:NUM_ROWS]
    rows = [
        {
            "id": each["qid"],
            "question": each[language],
            "answer": answers[each["answer_ids"].split()[0]],
        }
        for each in chosen
    ]
    by_answer: dict[str, list[str]] = {}
    for each in chosen:
        for aid in each["answer_ids"].split():
            by_answer.setdefault(aid, []).append(each["qid"])
    answered, unanswered = [], []
    for each in valid:
        docs = {qid for aid in each["answer_ids"].split() for qid in by_answer.get(aid, ())}
        (answered if docs else unanswered).append((each[language], sorted(docs)))
    queries = answered[:NUM_QUERIES] + unanswered[: NUM_QUERIES // 3]
    found = [(query, doc) for query, docs in queries for doc in docs or [""]]
    return rows, [Row({"query": query, "doc": doc}, 1, "queries") for query, doc in found]


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--language", choices=("en", "zh"), default="en")
    options = parser.parse_args()
    rows, queries = task(options.data / "pairs" / "insuranceqa", options.language)
    for columns in ((), ("answer",)):
        with TemporaryDirectory() as place:
            settings = IndexSettings(text_columns=columns, answer_share=0.0)
            model = f"match-{options.language}"
            index = Index.build(rows, Path(place) / "faq.sq", model=model, settings=settings)
            found = evaluate_index(index, queries)
            right, given = found.right(), found.answered()
            report = {
                "texts": list(columns),
                "rows": len(index),
                "stored": index.manifest.num_rows,
                "queries": len(found.queries),
                "answerable": len(found.answerable()),
                "first_right": float(right[found.answerable()].mean()),
                "answered_rightly": float((right & given)[found.answerable()].mean()),
                "precision": float(right[given].mean()) if given.any() else None,
                **found.metrics(),
                "p50": found.milliseconds()["total"]["p50"],
            }
            print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
