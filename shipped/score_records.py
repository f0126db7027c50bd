"""Searches every case, and keeps what the stages said of each row.

    python shipped/score_records.py DATA OUTPUT --language en --vectors embed-en

Signals are gathered by the very steps that a search takes, and stored once per language, so that
features can be changed without searching again.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from score_cases import Case, make_cases
from score_close import make_close
from score_faqs import make_faqs

from softquery.search import Index, IndexSettings
from softquery.search.score.index_facts import IndexFacts
from softquery.search.score.signals import Signals

PER_ROW = ("cosine", "centred", "alike", "words", "matcher", "answer")
PER_QUERY = ("query_length", "query_mean", "chinese")
FACTS = ("num_rows", "near", "mean", "spread", "same_answer")
MATCHERS = {"en": "match-en", "zh": "match-zh"}


@dataclass(frozen=True, slots=True)
class Record:
    """What was found for a query, and which rows answer it: [N]."""

    language: str
    set: str
    case: str
    signals: Signals
    right: np.ndarray
    is_answerable: bool


def record(case: Case, vectors: str) -> list[Record]:
    """Build the index of a case and ask its queries."""
    rows = [
        {"id": str(number), "question": text, "answer": answer}
        for number, (text, answer) in enumerate(case.rows)
        if text.strip()
    ]
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        settings = IndexSettings(vectors=vectors, score="fused")
        index = Index.build(
            rows,
            Path(scratch) / "case.sq",
            model=MATCHERS[case.language],
            settings=settings,
            threads=1,
        )
        for text, answer in case.queries:
            if not text.strip():
                continue
            steps = index.steps(text)
            steps.run()
            given = steps.searched.texts(list(steps.recalled.places), "answer")
            right = np.array([bool(answer) and each == answer for each in given], dtype=np.bool_)
            found.append(
                Record(
                    case.language,
                    case.set,
                    case.name,
                    steps.signals(),
                    right,
                    bool(answer),
                )
            )
    return found


def write_records(path: Path, records: Sequence[Record]) -> None:
    """Write records as arrays, without pickle."""
    signals = [each.signals for each in records]
    arrays = {
        name: np.concatenate([getattr(each, name) for each in signals]).astype(np.float32)
        for name in PER_ROW
    }
    np.savez_compressed(
        path,
        allow_pickle=False,
        **arrays,
        right=np.concatenate([each.right for each in records]),
        ends=np.cumsum([len(each.signals) for each in records]),
        names=np.array([(r.language, r.set, r.case) for r in records]),
        answerable=np.array([each.is_answerable for each in records]),
        **{name: np.array([getattr(each, name) for each in signals]) for name in PER_QUERY},
        facts=np.array([[getattr(each.facts, name) for name in FACTS] for each in signals]),
    )


def read_records(path: Path) -> list[Record]:
    """Read what `write_records` wrote."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    starts = [0, *arrays["ends"].tolist()]
    records = []
    for place, (start, end) in enumerate(zip(starts, starts[1:], strict=False)):
        part = slice(start, end)
        rows, *others = arrays["facts"][place].tolist()
        signals = Signals(
            **{name: arrays[name][part].astype(np.float64) for name in PER_ROW if name != "answer"},
            answer=arrays["answer"][part].astype(np.int64),
            query_length=int(arrays["query_length"][place]),
            query_mean=float(arrays["query_mean"][place]),
            chinese=float(arrays["chinese"][place]),
            facts=IndexFacts(int(rows), *others),
        )
        names = arrays["names"][place].tolist()
        answerable = bool(arrays["answerable"][place])
        records.append(Record(*names[:3], signals, arrays["right"][part], answerable))
    return records


def main() -> None:
    """Record a language."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--language", choices=MATCHERS, required=True)
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--cases", nargs="+", help="only those of these names")
    options = parser.parse_args()
    records: list[Record] = []
    given = options.data, options.language
    for case in chain(make_faqs(*given), make_close(*given), make_cases(*given)):
        if options.cases and case.name not in options.cases:
            continue
        start = time.perf_counter()
        records += record(case, options.vectors)
        took = time.perf_counter() - start
        print(f"{case.set} {case.name}: {len(case.rows)} rows, {took:.0f} s", flush=True)
        write_records(options.output, records)


if __name__ == "__main__":
    main()
