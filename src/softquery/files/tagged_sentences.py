"""Sentences with a tag for each token: CoNLL columns, CoNLL-U, and JSONL."""

import json
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath

from softquery.errors import InputError
from softquery.files.archives import check_readable, split_suffix
from softquery.files.conll import conll_sentences
from softquery.files.records import sound_text
from softquery.files.row import Report, TaggedSentence, UntaggedText
from softquery.files.rows import read_rows
from softquery.files.text_lines import open_text

COLUMN_FORMS = (".txt", ".conll", ".conllu", ".conllup", ".bio", ".iob", ".bmes", ".tsv")
"""Endings of files with a token a line; .conllu and .conllup are read by their own rules."""
TAGGED_FORMS = (*COLUMN_FORMS, ".jsonl")
TEXT_FORMS = tuple(dict.fromkeys((".txt", ".tsv", ".csv", ".jsonl", ".parquet", *COLUMN_FORMS)))
"""Of files with text that is to be tagged."""
COLUMNS = ("tokens", "tags")


def read_tagged(
    path: str | PathLike[str],
    *,
    rename: Mapping[str, str] | None = None,
    columns: Sequence[str] = COLUMNS,
    report: Report | None = None,
) -> Iterator[TaggedSentence]:
    """Stream the sentences of a file, plain or .gz, .xz, .bz2.

    A file of columns holds a token a line, with blank lines between sentences; columns are
    separated by tabs, or else by white space. The first one holds the tokens and the last one the
    tags, unless `rename` says otherwise. JSONL holds `{"tokens": [...], "tags": [...]}` a line.

    Args:
        path: The file.
        rename: `tokens` and `tags` to the file's columns: a name, or a place counted from 1 (from
            the end where negative).
        columns: `("tokens",)` alone where no tags are needed.
        report: Takes each bad sentence instead of its error being raised.

    Raises:
        InputError: For any fault, naming file and row.
    """
    source = fspath(path)
    for name in rename or {}:
        if name not in COLUMNS:
            message = f'no column is called "{name}"; known: {", ".join(COLUMNS)}'
            raise InputError(message, source="--columns")
    form = _form(source, TAGGED_FORMS)
    told = report or _raise
    reader = _json_sentences if form == ".jsonl" else conll_sentences
    return reader(source, dict(rename or {}), tuple(columns), told)


def read_untagged(
    path: str | PathLike[str],
    *,
    rename: Mapping[str, str] | None = None,
    on_bad: Report | None = None,
) -> Iterator[UntaggedText]:
    """Stream texts to be tagged, plain or .gz, .xz, .bz2.

    A .txt holds a text a line; .tsv, .csv, .parquet and .jsonl a column `text`, of which JSONL may
    have `tokens` in place; files of columns (.conll, .conllu, …) hold a token a line.

    Args:
        path: The file.
        rename: `text` or `tokens` to the file's column.
        on_bad: Takes each bad row instead of its error being raised.
    """
    source = fspath(path)
    form = _form(source, TEXT_FORMS)
    names = dict(rename or {})
    if form in COLUMN_FORMS and form not in (".txt", ".tsv"):
        sentences = read_tagged(source, rename=names, columns=("tokens",), report=on_bad)
        return (UntaggedText(each.tokens, each.rows[0], source) for each in sentences)
    if form == ".jsonl" and ("tokens" in names or _has_tokens(source)):
        sentences = read_tagged(source, rename=names, columns=("tokens",), report=on_bad)
        return (UntaggedText(each.tokens, each.rows[0], source) for each in sentences)
    rows = read_rows(source, columns=("text",), rename=names, on_bad=on_bad)
    return (UntaggedText(row.values["text"], row.number, source) for row in rows)


def _form(path: str, known: Sequence[str]) -> str:
    """The ending of a file that can be read, without that of its compression."""
    check_readable(path)
    form = split_suffix(path)[0]
    if form not in known:
        message = f"unknown kind of file; expected a name ending in {', '.join(known)}"
        raise InputError(f"{message}, plain or compressed", source=path)
    return form


def _has_tokens(path: str) -> bool:
    """Whether the first object of a JSONL file has tokens in place of a text."""
    with open_text(path) as lines:
        first = next((line for line in lines if line.strip()), "")
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and "tokens" in record and "text" not in record


def _json_sentences(
    path: str, rename: Mapping[str, str], columns: tuple[str, ...], report: Report
) -> Iterator[TaggedSentence]:
    num_rows = 0
    with open_text(path) as lines:
        for line in lines:
            num_rows += 1
            if not line.strip():
                continue
            try:
                found = _json_columns(line, [rename.get(name, name) for name in columns])
            except InputError as error:
                report(InputError(error.message, source=path, row=lines.number))
                continue
            rows = [lines.number] * len(found[0])
            tags = found[1] if len(columns) > 1 else None
            yield TaggedSentence(tokens=found[0], tags=tags, rows=rows, source=path)
    if not num_rows:
        raise InputError("is empty", source=path)


def _json_columns(line: str, names: Sequence[str]) -> list[list[str]]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON ({str(error)[:60]})") from None
    if not isinstance(record, dict):
        raise InputError("expected a JSON object in braces")
    found = [_json_list(record, name) for name in names]
    lengths = {len(each) for each in found}
    if len(lengths) > 1:
        counts = " and ".join(f"{len(x)} {name}" for x, name in zip(found, names, strict=True))
        raise InputError(f"expected as many tags as tokens, found {counts}")
    return found


def _json_list(record: Mapping[str, object], name: str) -> list[str]:
    if name not in record:
        raise InputError(f'no "{name}"; found: {", ".join(map(str, record)) or "nothing"}')
    value = record[name]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{name} must be a list of strings")
    if not value:
        raise InputError(f"{name} is empty")
    for place, item in enumerate(value, 1):
        if not item.strip():
            raise InputError(f"{name} holds an empty string (number {place})")
    return [sound_text(item, name) for item in value]


def _raise(error: InputError) -> None:
    raise error
