"""`softquery evaluate`."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from softquery.cli.console import flat, note, print_json, print_table
from softquery.errors import ConfigError, InputError, MissingExtra


def evaluate(
    model: Annotated[
        str, typer.Argument(help="A name from the zoo, a bundle's folder, or an index.")
    ],
    data: Annotated[
        Path,
        typer.Option(
            help="Rows: sentence1, sentence2, label; text, label; source, target; tagged words; "
            "questions with answers; query, doc; for encoders and biLMs text."
        ),
    ],
    errors: Annotated[
        Path | None, typer.Option(help="Write the mistakes here (.tsv .csv .jsonl), surest first.")
    ] = None,
    slices: Annotated[
        list[str] | None,
        typer.Option("--slice", help="Also by `length`, by `label`, or by a column. Repeatable."),
    ] = None,
    columns: Annotated[
        str, typer.Option(help="Our column names to the file's: sentence1=q1,sentence2=q2.")
    ] = "",
    order: Annotated[
        bool, typer.Option("--order", help="Also compare match(a, b) with match(b, a).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure a model or an index on labelled data, with bootstrap intervals.

    Tags are read from CoNLL columns, CoNLL-U or JSONL (`--columns tags=ner`), questions from
    SQuAD's JSON or JSONL. An index is asked every `query`, which the row with the id or question
    `doc` should answer.
    """
    from softquery.files import parse_columns, read_rows
    from softquery.runtime import evaluate as run_evaluation
    from softquery.runtime import load_matcher

    if errors is not None:
        _check_place(errors, data)
    rename = parse_columns(columns) if columns else None
    kind = _kind(model)
    if kind in ("encoder", "embedder"):
        if order or slices or errors is not None:
            raise ConfigError("--order, --slice and --errors are for labelled rows, not for text")
        of_text = _evaluate_encoder if kind == "encoder" else _evaluate_bilm
        _tell(of_text(model, data, rename), f"{model} on {data}", None, as_json)
        return
    if kind in ("tagger", "classifier", "generator", "reader", "index"):
        if order:
            raise ConfigError(f"--order compares pairs; {_a(kind)} reads one text")
        found, mistakes = _of_one_text(kind)(model, data, rename, slices or [])
        if errors is not None:
            write_mistakes(errors, mistakes, COLUMNS[kind])
        _tell(found, f"{model} on {data}", errors, as_json)
        return
    rows = list(
        read_rows(
            data,
            columns=("sentence1", "sentence2", "label"),
            rename=rename,
            keep_others=bool(slices) or errors is not None,
        )
    )
    if not rows:
        raise InputError("holds no rows", source=data)
    evaluation = run_evaluation(load_matcher(model), rows)
    result: dict[str, Any] = evaluation.report()
    if slices:
        result["slices"] = {name: evaluation.slices(name) for name in slices}
    if order:
        result["order"] = evaluation.order()
    if evaluation.num_cut:
        result["sentences_cut"] = evaluation.num_cut
    if errors is not None:
        write_mistakes(errors, [each.record() for each in evaluation.mistakes()], COLUMNS[kind])
    _tell(result, f"{model} on {data}", errors, as_json)


def _of_one_text(kind: str) -> Callable[..., tuple[dict[str, Any], list[dict[str, Any]]]]:
    """What measures a model that reads one text, or an index: its report, and its mistakes."""
    from softquery.cli.evaluate_classes import evaluate_classifier
    from softquery.cli.evaluate_reading import evaluate_reader
    from softquery.cli.evaluate_search import evaluate_search
    from softquery.cli.evaluate_tags import evaluate_tagger
    from softquery.cli.evaluate_writing import evaluate_generator

    return {
        "tagger": evaluate_tagger,
        "classifier": evaluate_classifier,
        "generator": evaluate_generator,
        "reader": evaluate_reader,
        "index": evaluate_search,
    }[kind]


def _kind(model: str) -> str:
    from softquery.bundle import read_bundle
    from softquery.search.manifest import is_index
    from softquery.zoo import resolve

    if is_index(Path(model)):
        return "index"
    kind = read_bundle(resolve(model)).config.kind
    if kind == "vectors":
        raise ConfigError(f"{model}: holds word vectors; see softquery vectors similarity, analogy")
    return kind


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "index" else f"a {kind}"


def _evaluate_encoder(model: str, data: Path, rename: dict[str, str] | None) -> dict[str, Any]:
    from softquery.bundle import read_bundle
    from softquery.zoo import resolve

    try:
        from softquery.runtime.embed.hidden_words import evaluate_masked
    except ImportError:
        raise MissingExtra("train", needed_for="measuring a pretrained encoder") from None
    return evaluate_masked(read_bundle(resolve(model)), data, rename=rename)


def _evaluate_bilm(model: str, data: Path, rename: dict[str, str] | None) -> dict[str, Any]:
    """Perplexity of both directions."""
    from softquery.bundle import read_bundle
    from softquery.files import read_texts
    from softquery.zoo import resolve

    bundle = read_bundle(resolve(model))
    softmax = bundle.config.model["config"].get("softmax") or {}
    if softmax.get("kind", "none") == "none":
        raise ConfigError(f"{model}: has no softmax to foresee words with; use softquery embed")
    try:
        from softquery.runtime.embed.likelihood import perplexity
    except ImportError:
        raise MissingExtra("train", needed_for="measuring perplexity") from None
    texts = list(read_texts([data], rename=rename))
    if not texts:
        raise InputError("holds no text", source=data)
    return perplexity(bundle, texts, source=data)


def _tell(result: dict[str, Any], title: str, errors: Path | None, as_json: bool) -> None:
    if as_json:
        print_json(result)
        return
    _show(result, title)
    if "bleu_signature" in result:
        note(f"sacrebleu: {result['bleu_signature']}")
    if errors is not None:
        note(f"mistakes written: {errors}")


def _show(result: dict[str, Any], title: str) -> None:
    rows = []
    for name, value in flat(result):
        bounds = result.get(f"{name}_interval")
        shown = f"{bounds[0]:.4f} to {bounds[1]:.4f}" if bounds and None not in bounds else ""
        rows.append((name, value, shown))
    print_table(title, ("metric", "value", "95 % interval"), rows)
    if "by_label" in result:
        heads = ("", *next(iter(result["by_label"].values()), {}))
        table = [(label, *each.values()) for label, each in result["by_label"].items()]
        print_table("by label", heads, table)
    if "confusion" in result:
        _show_confusion(result["confusion"])
    for name, parts in result.get("slices", {}).items():
        heads = tuple(parts[0])
        print_table(f"by {name}", heads, [tuple(part.values()) for part in parts])
    if "milliseconds" in result:
        from softquery.cli.evaluate_search import show_search

        show_search(result)
    if "order" in result:
        print_table("match(a, b) against match(b, a)", ("measure", "value"), flat(result["order"]))


def _show_confusion(confusion: dict[str, dict[str, int]]) -> None:
    """All counts, or what was confused most often where there are too many labels for a table."""
    if len(confusion) <= MOST_LABELS:
        table = [(gold, *counts.values()) for gold, counts in confusion.items()]
        print_table("confusion (rows: gold, columns: answered)", ("", *confusion), table)
        return
    wrong = [
        (gold, answered, count)
        for gold, counts in confusion.items()
        for answered, count in counts.items()
        if gold != answered and count
    ]
    most = sorted(wrong, key=lambda row: -row[2])[:MOST_LABELS]
    print_table("confused most often", ("gold", "answered", "rows"), most)


MOST_LABELS = 8
"""Columns of a confusion matrix that a terminal can show."""
FORMS = (".tsv", ".csv", ".jsonl")
LAST = ("predicted", "confidence", "row")
"""What a file of mistakes says about each row of the data."""
COLUMNS = {
    "matcher": ("sentence1", "sentence2", "label", *LAST),
    "classifier": ("text", "label", *LAST),
    "tagger": ("tokens", "tags", "wrong", "predicted", "row"),
    "generator": ("source", "target", "text", "log_likelihood", "row"),
    "reader": ("id", "question", "answers", "f1", "score", "context", "predicted", "row"),
    "index": ("query", "expected", "predicted", "confidence"),
}
"""What stands in the first line of a table without any mistake, by the kind of model."""


def _check_place(path: Path, data: Path) -> None:
    """Refuse a place for the mistakes before any work is done."""
    if path.suffix not in FORMS:
        raise InputError(f"mistakes are written as one of {', '.join(FORMS)}", source=path)
    if path.is_dir():
        raise InputError("cannot be written (is a folder)", source=path)
    if not path.parent.is_dir():
        raise InputError("cannot be written (no such folder)", source=path)
    if path.exists() and data.exists() and path.samefile(data):
        raise InputError("is the data itself; name another file for the mistakes", source=path)


def write_mistakes(path: Path, records: list[dict[str, Any]], columns: Sequence[str]) -> None:
    """Write records by the ending of the file; lists become words with spaces between them.

    Args:
        path: Ends in `.tsv`, `.csv` or `.jsonl`.
        records: The mistakes.
        columns: Of a table that holds none.
    """
    from softquery.files import write_text

    if path.suffix == ".jsonl":
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    else:
        flat = [{name: _flat(value) for name, value in each.items()} for each in records]
        text = _delimited(flat, "\t" if path.suffix == ".tsv" else ",", columns)
    write_text(path, text)


def _flat(value: Any) -> Any:
    return " ".join(value) if isinstance(value, list) else value


def _delimited(records: list[dict[str, Any]], delimiter: str, columns: Sequence[str]) -> str:
    # Objects of a JSONL file need not all have the same further names.
    found = dict.fromkeys(name for record in records for name in record if name not in LAST)
    last = [name for name in LAST if any(name in each for each in records)]
    names = [*found, *last] if records else list(columns)
    if delimiter == "\t":  # our TSV knows no quoting: a separator inside a text becomes a space
        rows = [[str(record.get(name, "")) for name in names] for record in records]
        lines = [names, *([" ".join(text.split()) for text in row] for row in rows)]
        return "".join("\t".join(line) + "\n" for line in lines)
    made = io.StringIO()
    table = csv.DictWriter(made, fieldnames=names, lineterminator="\n")
    table.writeheader()
    table.writerows(records)
    return made.getvalue()
