"""Files of columns with a token a line: CoNLL, CoNLL-U and CoNLL-U Plus."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from softquery.errors import InputError, counted
from softquery.files.archives import split_suffix
from softquery.files.columns import listed
from softquery.files.row import Report, TaggedSentence
from softquery.files.text_lines import Block, text_blocks

UNIVERSAL = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
"""The ten columns of CoNLL-U."""
KNOWN_LAYOUTS: dict[int, tuple[str, ...]] = {
    2: ("word", "tag"),
    3: ("word", "pos", "chunk"),
    4: ("word", "pos", "chunk", "ner"),
}
"""What columns without names are called by how many they are, as in the CoNLL tasks."""
DOCUMENT = "-DOCSTART-"
"""A line that only says that a document begins."""
_NAMES_AHEAD = "# global.columns ="


@dataclass(slots=True)
class _Layout:
    """Where tokens and tags stand."""

    path: str
    rename: Mapping[str, str]
    wanted: tuple[str, ...]
    is_universal: bool
    names: tuple[str, ...] = ()
    width: int = 0
    places: tuple[int, ...] = ()
    identity: int | None = None
    """The column of word numbers, by which ranges and empty nodes are told."""

    def settle(self, width: int, row: int) -> None:
        """Find the columns, once the first token has shown how many there are."""
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
                f"expected a column for {names} each, found {width} in all"
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
    """Sentences between blank lines.

    Lines that begin a document are left out, and of CoNLL-U also comments, ranges of words that are
    written as one, and empty nodes.
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
    """Whether a line tells nothing of a token; names of columns are taken down."""
    if line.startswith(_NAMES_AHEAD) and not layout.width:
        layout.names = tuple(line.removeprefix(_NAMES_AHEAD).lower().split())
        return True
    if line.startswith(DOCUMENT):
        return True
    return layout.is_universal and line.startswith("#") and "\t" not in line


class _Sentence:
    """Tokens until the next blank line.

    Args:
        layout: Of the file.
    """

    def __init__(self, layout: _Layout) -> None:
        self.layout = layout
        self.columns: list[list[str]] = []
        self.rows: list[int] = []
        self.fault: InputError | None = None

    def add(self, line: str, row: int) -> None:
        """Take up one line."""
        if self.fault is not None:
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
        """Note what is wrong with this sentence; the first fault is told."""
        self.fault = self.fault or fault

    def finish(self, report: Report) -> Iterator[TaggedSentence]:
        """The sentence, where there is one and nothing is wrong with it."""
        if self.fault is not None:
            report(self.fault)
        elif self.rows:
            tokens = [values[0] for values in self.columns]
            tags = [values[1] for values in self.columns] if len(self.layout.wanted) > 1 else None
            yield TaggedSentence(tokens=tokens, tags=tags, rows=self.rows, source=self.layout.path)
        self.columns, self.rows, self.fault = [], [], None

    def _error(self, message: str, row: int) -> InputError:
        return InputError(message, source=self.layout.path, row=row)


def _is_range_or_empty(number: str) -> bool:
    """`1-2` is a word that is two, `1.1` one that is not there.

    >>> [_is_range_or_empty(number) for number in ("1-2", "8.1", "x", "-")]
    [True, True, False, False]
    """
    left, mark, right = number.replace("-", ".").partition(".")
    return bool(mark) and left.isdecimal() and right.isdecimal()
