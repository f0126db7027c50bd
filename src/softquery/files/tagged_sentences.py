"""Sentences with a tag per token: CoNLL columns, CoNLL-U, CoNLL-U Plus and JSONL."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath

from softquery.errors import InputError, counted
from softquery.files.cell_text import sound_text
from softquery.files.row import Report, TaggedSentence, UntaggedText, listed
from softquery.files.row_files import read_rows
from softquery.files.text_lines import (
    LONGEST_LINE,
    Block,
    check_readable,
    open_text,
    split_suffix,
    text_blocks,
)

UNIVERSAL = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
"""The ten columns of CoNLL-U."""
KNOWN_LAYOUTS: dict[int, tuple[str, ...]] = {
    2: ("word", "tag"),
    3: ("word", "pos", "chunk"),
    4: ("word", "pos", "chunk", "ner"),
}
"""The names of unnamed columns by their number, as in the CoNLL tasks."""
DOCUMENT = "-DOCSTART-"
"""The beginning of a line that starts a document and holds no token."""
_NAMES_AHEAD = "# global.columns ="


@dataclass(slots=True)
class _Layout:
    """Which columns of a file hold tokens and tags."""

    path: str
    rename: Mapping[str, str]
    wanted: tuple[str, ...]
    is_universal: bool
    names: tuple[str, ...] = ()
    width: int = 0
    places: tuple[int, ...] = ()
    identity: int | None = None
    """The column of word ids, which marks ranges and empty nodes."""

    def settle(self, width: int, row: int) -> None:
        """Find the columns, once the first token has shown their number."""
        self.width = width
        if not self.names:
            self.names = UNIVERSAL if self.is_universal else KNOWN_LAYOUTS.get(width, ())
        if self.names and len(self.names) != width:
            raise InputError(
                f"expected {counted(len(self.names), 'column')}, found {width}",
                source=self.path,
                row=row,
            )
        self.places = tuple(self._place(name, row) for name in self.wanted)
        if len(set(self.places)) < len(self.wanted):
            names = " and ".join(self.wanted)
            raise InputError(
                f"expected one column each for {names}, found {width} in all"
                if width < len(self.wanted)
                else f"{names} cannot both be column {self.places[0] + 1}",
                source=self.path,
                row=row,
            )
        self.identity = self.names.index("id") if "id" in self.names else None

    def _place(self, name: str, row: int) -> int:
        usual = {"tokens": ("form", "1"), "tags": ("upos", "-1")}[name]
        asked = self.rename.get(name)
        if asked is None:
            asked = usual[0] if self.is_universal and usual[0] in self.names else usual[1]
        if asked.lower() in self.names:
            return self.names.index(asked.lower())
        try:
            number = int(asked)
        except ValueError:
            number = 0
        if number == 0 or not -self.width <= number <= self.width:
            named = f" ({listed(self.names)})" if self.names else ""
            raise InputError(
                f'no column "{asked}" for {name}; a row has {self.width}{named}; '
                f"name one with --columns {name}=PLACE, counted from 1",
                source=self.path,
                row=row,
            )
        return number - 1 if number > 0 else self.width + number


def conll_sentences(
    path: str, rename: Mapping[str, str], wanted: tuple[str, ...], report: Report
) -> Iterator[TaggedSentence]:
    """Sentences of a file of columns, which blank lines separate.

    Lines that begin a document are skipped; in CoNLL-U also comments, multiword tokens and empty
    nodes.
    """
    is_universal = split_suffix(path)[0] in (".conllu", ".conllup")
    layout = _Layout(path, rename, wanted, is_universal)
    sentence = _Sentence(layout)
    block: Block | None = None
    for block in text_blocks(path):
        for row, line in enumerate(block.lines, block.first):
            if row in block.faults:
                sentence.spoil(block.faults[row])
            elif not line or line.isspace():
                yield from sentence.finish(report)
            elif not _is_aside(line, layout):
                sentence.add(line, row)
    if block is None:
        raise InputError("is empty", source=path)
    yield from sentence.finish(report)


def _is_aside(line: str, layout: _Layout) -> bool:
    """Whether a line holds no token; names of columns are recorded."""
    if line.startswith(_NAMES_AHEAD) and not layout.width:
        layout.names = tuple(line.removeprefix(_NAMES_AHEAD).lower().split())
        return True
    if line.startswith(DOCUMENT):
        return True
    return layout.is_universal and line.startswith("#") and "\t" not in line


class _Sentence:
    """Collects the tokens of a sentence.

    Args:
        layout: The columns of the file.
    """

    def __init__(self, layout: _Layout) -> None:
        self.layout = layout
        self.columns: list[list[str]] = []
        self.rows: list[int] = []
        self.fault: InputError | None = None
        self.num_characters = 0

    def add(self, line: str, row: int) -> None:
        """Add the token of a line."""
        if self.fault is not None:
            return
        self.num_characters += len(line)
        if self.num_characters > LONGEST_LINE:
            message = f"the sentence is longer than {LONGEST_LINE:,} characters (no blank line?)"
            self.spoil(self._error(message, self.rows[0] if self.rows else row))
            self.columns, self.rows = [], []
            return
        fields = line.split("\t") if "\t" in line else line.split()
        layout = self.layout
        if not layout.width:
            layout.settle(len(fields), row)  # a fault of the whole file, raised at once
        if len(fields) != layout.width:
            self.spoil(
                self._error(f"expected {counted(layout.width, 'column')}, found {len(fields)}", row)
            )
            return
        if layout.identity is not None and not fields[layout.identity].strip().isdecimal():
            if not _is_range_or_empty(fields[layout.identity]):
                number = fields[layout.identity][:20]
                self.spoil(self._error(f"expected the number of a word, found {number!r}", row))
            return
        values = [fields[place].strip() for place in layout.places]
        for name, value in zip(layout.wanted, values, strict=True):
            if not value:
                self.spoil(self._error(f"the column of {name} is empty", row))
                return
        self.columns.append(values)
        self.rows.append(row)

    def spoil(self, fault: InputError) -> None:
        """Record a fault of this sentence; only the first one is reported."""
        self.fault = self.fault or fault

    def finish(self, report: Report) -> Iterator[TaggedSentence]:
        """The sentence, where there is one and nothing is wrong with it."""
        if self.fault is not None:
            report(self.fault)
        elif self.rows:
            tokens = [values[0] for values in self.columns]
            tags = [values[1] for values in self.columns] if len(self.layout.wanted) > 1 else None
            yield TaggedSentence(tokens=tokens, tags=tags, rows=self.rows, source=self.layout.path)
        self.columns, self.rows, self.fault, self.num_characters = [], [], None, 0

    def _error(self, message: str, row: int) -> InputError:
        return InputError(message, source=self.layout.path, row=row)


def _is_range_or_empty(number: str) -> bool:
    """`1-2` is a word that is two, `1.1` one that is not there.

    >>> [_is_range_or_empty(number) for number in ("1-2", "8.1", "x", "-")]
    [True, True, False, False]
    """
    left, mark, right = number.replace("-", ".").partition(".")
    return bool(mark) and left.isdecimal() and right.isdecimal()


COLUMN_FORMS = (".txt", ".conll", ".conllu", ".conllup", ".bio", ".iob", ".bmes", ".tsv")
"""Endings of files with a token per line; .conllu and .conllup have their own rules."""
TAGGED_FORMS = (*COLUMN_FORMS, ".jsonl")
TEXT_FORMS = tuple(dict.fromkeys((".txt", ".tsv", ".csv", ".jsonl", ".parquet", *COLUMN_FORMS)))
"""Endings of files with text to be tagged."""
COLUMNS = ("tokens", "tags")


def read_tagged(
    path: str | PathLike[str],
    *,
    rename: Mapping[str, str] | None = None,
    columns: Sequence[str] = COLUMNS,
    report: Report | None = None,
) -> Iterator[TaggedSentence]:
    """Stream the sentences of a file, plain or .gz, .xz, .bz2.

    A file of columns holds a token per line, with blank lines between sentences; columns are
    separated by tabs, or otherwise by white space. The first holds the tokens and the last the
    tags, unless `rename` says otherwise. JSONL holds `{"tokens": [...], "tags": [...]}` per line.

    Args:
        path: The file.
        rename: `tokens` and `tags` to the file's columns: a name, or a number counted from 1
            (from the end where negative).
        columns: `("tokens",)` alone where no tags are needed.
        report: Called with the error of each bad sentence, instead of raising it.

    Raises:
        InputError: For any fault, naming file and row.
    """
    source = fspath(path)
    for name in rename or {}:
        if name not in COLUMNS:
            message = f'no column is called "{name}"; known: {", ".join(COLUMNS)}'
            raise InputError(message, source="--columns")
    form = _form(source, TAGGED_FORMS)
    bad = report or _raise
    reader = _json_sentences if form == ".jsonl" else conll_sentences
    return reader(source, dict(rename or {}), tuple(columns), bad)


def read_untagged(
    path: str | PathLike[str],
    *,
    rename: Mapping[str, str] | None = None,
    on_bad: Report | None = None,
) -> Iterator[UntaggedText]:
    """Stream texts to be tagged, plain or .gz, .xz, .bz2.

    A .txt holds a text per line; .tsv, .csv, .parquet and .jsonl have a column `text`, in JSONL
    possibly `tokens` instead; files of columns (.conll, .conllu, …) hold a token per line.

    Args:
        path: The file.
        rename: `text` or `tokens` to the file's column.
        on_bad: Called with the error of each bad row, instead of raising it.
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
    """The ending of a file without that of its compression; refuses unknown ones."""
    check_readable(path)
    form = split_suffix(path)[0]
    if form not in known:
        message = f"unknown kind of file; expected a name ending in {', '.join(known)}"
        raise InputError(f"{message}, plain or compressed", source=path)
    return form


def _has_tokens(path: str) -> bool:
    """Whether the first object of a JSONL file has tokens instead of a text."""
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
