"""Forms of a shard of answers: lines of JSON as a single process writes them, Parquet, CSV."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from softquery.errors import ConfigError, MissingExtra

Record = Mapping[str, Any]
ANSWER_COLUMNS: dict[str, tuple[str, ...]] = {
    "matcher": ("sentence1", "sentence2", "label", "score", "probabilities"),
    "classifier": ("text", "label", "score", "probabilities"),
    "tagger": ("text", "tokens", "tags", "spans"),
    "reader": ("id", "question", "context", "answer", "start", "end", "score"),
    "generator": ("source", "text", "score", "candidates"),
    "encoder": ("text", "masks"),
}
"""What an answer of each kind of model holds; a column that a record lacks is empty."""


def jsonl_shard(lines: Sequence[str], columns: Sequence[str]) -> bytes:
    """Lines of JSON, as they are."""
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


def csv_shard(lines: Sequence[str], columns: Sequence[str]) -> bytes:
    r"""A CSV with a header; what is not text or a number is JSON.

    >>> csv_shard(['{"text": "a, b", "label": null, "score": 0.5}'], ("text", "label", "score"))
    b'text,label,score\n"a, b",,0.5\n'
    """
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(columns)
    for line in lines:
        record = json.loads(line)
        writer.writerow([_cell(record.get(column)) for column in columns])
    return target.getvalue().encode("utf-8", "surrogatepass")


def parquet_shard(lines: Sequence[str], columns: Sequence[str]) -> bytes:
    """A Parquet file; every shard has the same schema, whatever its answers are."""
    import pyarrow.parquet

    target = io.BytesIO()
    pyarrow.parquet.write_table(answer_table([json.loads(line) for line in lines], columns), target)
    return target.getvalue()


ANSWER_FORMS: dict[str, Callable[[Sequence[str], Sequence[str]], bytes]] = {
    "jsonl": jsonl_shard,
    "parquet": parquet_shard,
    "csv": csv_shard,
}


def check_form(form: str, known: Sequence[str]) -> None:
    """Refuse a form that is not known."""
    if form not in known:
        raise ConfigError(f"--form must be {' or '.join(known)}, got {form!r:.40}")


def answer_table(records: Sequence[Record], columns: Sequence[str]) -> Any:
    """Answers as an Arrow table."""
    import pyarrow

    types = _column_types()
    arrays = [
        pyarrow.array([_arrow_value(record.get(column)) for record in records], types[column])
        for column in columns
    ]
    return pyarrow.table(arrays, names=list(columns))


def _column_types() -> dict[str, Any]:
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtra("ray", needed_for="writing .parquet files") from None
    text, score = pa.string(), pa.float64()
    span = {"label": text, "start": pa.int64(), "end": pa.int64(), "text": text}
    word = {"word": text, "score": score, "sentence": text}
    texts = ("sentence1", "sentence2", "label", "text", "id", "question", "context", "answer")
    return {
        **dict.fromkeys((*texts, "source"), text),
        "score": score,
        "start": pa.int64(),
        "end": pa.int64(),
        "probabilities": pa.map_(text, score),
        "tokens": pa.list_(text),
        "tags": pa.list_(text),
        "spans": pa.list_(pa.struct(span)),
        "candidates": pa.list_(pa.struct({"text": text, "score": score})),
        "masks": pa.list_(pa.list_(pa.struct(word))),
    }


def _arrow_value(value: object) -> object:
    """An object of JSON as the pairs of a map."""
    return list(value.items()) if isinstance(value, dict) else value


def _cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value
