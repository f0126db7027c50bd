"""Tagged sentences from CoNLL columns, JSONL, or a table with a sentence or a word in each row."""

import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath

from softquery.answers import Scheme
from softquery.answers.tag_schemes import OUTSIDE, spans_of
from softquery.errors import InputError, counted
from softquery.files import TAGGED_FORMS, Row, TaggedSentence, read_tagged
from softquery.files.row import listed
from softquery.files.text_lines import open_text, split_suffix
from softquery.running.row_checks import Answered, contradictions
from softquery.running.spreadsheet.column_names import (
    SENTENCE_NAMES,
    TAGS_NAMES,
    WORD_NAMES,
    WORDS_NAMES,
    plain_name,
)
from softquery.running.spreadsheet.columns import Chosen
from softquery.running.spreadsheet.sheet import MOST_BAD, Given, Sheet, read_sheet
from softquery.runtime.tag.scheme_detection import written_scheme

LEAST_ROWS = 8
"""Fewer sentences teach nothing that could be measured."""
LEAST_SPANS = 2
"""Spans of a label, below which it is told."""
SHOWN = 3
WORD, WORDS, SENTENCE, TAGS = "word", "tokens", "sentence", "tags"
"""What `--columns` calls them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaggedTable:
    """Tagged sentences in the order of the file."""

    source: str
    columns: tuple[Chosen, ...]
    rows: list[TaggedSentence]
    scheme: Scheme
    """How the tags are written."""
    told: tuple[str, ...]
    """What was found, a line each."""
    warnings: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Spans by their label, or words by their tag where tags stand for no spans."""
        return dict(_counts(self.rows, self.scheme).most_common())

    @property
    def num_repeated(self) -> int:
        """Sentences that say again what an earlier one said."""
        return len(self.rows) - len({tuple(row.tokens) for row in self.rows})

    def groups(self) -> list[Hashable]:
        """Equal sentences must not be torn apart."""
        return [tuple(row.tokens) for row in self.rows]


def read_tag_table(
    given: Given, rename: Mapping[str, str], *, least: int = LEAST_ROWS
) -> TaggedTable:
    """Read tagged sentences.

    Args:
        given: A file of CoNLL columns, JSONL or a table; or rows in memory.
        rename: What `--columns` says.
        least: The fewest sentences that are of any use.

    Raises:
        InputError: There is nothing to learn from it, with the reason.
    """
    bad: list[InputError] = []
    columns: tuple[Chosen, ...] = ()
    if _is_tagged_file(given):
        source = fspath(given)  # type: ignore[arg-type]
        rows, told = (
            list(read_tagged(source, rename=rename, report=bad.append)),
            [f"{source}: {_form(source)}"],
        )
    else:
        sheet = read_sheet(given, rename)
        source, told = sheet.source, list(sheet.told)
        bad += sheet.bad
        columns, rows = _sentences(sheet, rename, bad.append)
        told += map(str, columns)
    if bad and len(bad) > MOST_BAD * (len(rows) + len(bad)):
        raise bad[0]
    if bad:
        numbers = ", ".join(f"{each.row or 0:,}" for each in bad[:SHOWN])
        more = ", …" if len(bad) > SHOWN else ""
        told.append(
            f"left out: {counted(len(bad), 'sentence')} that cannot be read (row {numbers}{more}): "
            f"{bad[0].message}"
        )
    if len(rows) < least:
        raise InputError(
            f"{counted(len(rows), 'sentence')} with tags; expected at least {least}", source=source
        )
    found = written_scheme(rows, otherwise="write all in {scheme} first")
    _check_tags(rows, found.scheme, source)
    warnings = [] if found.warning is None else [found.warning.removeprefix("warning: ")]
    return TaggedTable(
        source=source,
        columns=columns,
        rows=rows,
        scheme=found.scheme,
        told=tuple(told),
        warnings=(*warnings, *_odd(rows, found.scheme)),
    )


def _is_tagged_file(given: Given) -> bool:
    """Whether it is a file of columns or JSONL, and no table with a header."""
    if not isinstance(given, (str, PathLike)):
        return False
    path = fspath(given)
    form = split_suffix(path)[0]
    if form not in TAGGED_FORMS:
        return False
    if form != ".tsv":
        return True
    with open_text(path) as lines:
        first = next(iter(lines), "")
    names = {plain_name(cell) for cell in first.rstrip("\n").split("\t")}
    return not (names & {*WORD_NAMES, *WORDS_NAMES} and names & {*TAGS_NAMES})


def _form(path: str) -> str:
    return "JSONL" if split_suffix(path)[0] == ".jsonl" else "a word in each line"


def _sentences(
    sheet: Sheet, rename: Mapping[str, str], report: Callable[[InputError], None]
) -> tuple[tuple[Chosen, ...], list[TaggedSentence]]:
    """The sentences of a table, and which of its columns they are in."""
    known = (WORD, WORDS, SENTENCE, TAGS)
    for ours, theirs in rename.items():
        if ours not in known:
            message = f'no column is called "{ours}"; known: {", ".join(known)}'
            raise InputError(message, source="--columns")
        if theirs not in sheet.names:
            message = f'no column "{theirs}"; found: {listed(sheet.names)}'
            raise InputError(message, source=sheet.source)
    tags = _column(sheet, rename, TAGS, TAGS_NAMES)
    if tags is None:
        raise _none_found(sheet, TAGS, "of tags")
    word = None if WORDS in rename else _column(sheet, rename, WORD, WORD_NAMES)
    if word is None:
        words = _column(sheet, rename, WORDS, WORDS_NAMES)
        if words is None:
            raise _none_found(sheet, WORDS, "of words")
        return (words, tags), _a_sentence_per_row(sheet, words, tags, report)
    sentence = _column(sheet, rename, SENTENCE, SENTENCE_NAMES)
    if sentence is None:
        raise _none_found(sheet, SENTENCE, f"that tells which sentence a “{word.theirs}” is in")
    return (sentence, word, tags), _a_word_per_row(sheet, (sentence, word, tags))


def _column(
    sheet: Sheet, rename: Mapping[str, str], ours: str, names: Sequence[str]
) -> Chosen | None:
    if ours in rename:
        return Chosen(ours=ours, theirs=rename[ours], why="as --columns says")
    named = {plain_name(name): name for name in reversed(sheet.names)}
    found = next((named[name] for name in names if name in named), None)
    return None if found is None else Chosen(ours=ours, theirs=found, why="by its name")


def _none_found(sheet: Sheet, ours: str, like: str) -> InputError:
    return InputError(
        f"no column {like}; found: {listed(sheet.names)}; name it with --columns {ours}=NAME",
        source=sheet.source,
    )


def _a_sentence_per_row(
    sheet: Sheet, words: Chosen, tags: Chosen, report: Callable[[InputError], None]
) -> list[TaggedSentence]:
    found = []
    for row in sheet.rows:
        tokens, own = (_parts(row.values.get(each.theirs, "")) for each in (words, tags))
        if len(tokens) == len(own) and tokens:
            rows = [row.number] * len(tokens)
            found.append(TaggedSentence(tokens=tokens, tags=own, rows=rows, source=row.source))
        elif tokens or own:
            message = f"{len(tokens)} words in “{words.theirs}”, {len(own)} tags in “{tags.theirs}”"
            report(InputError(message, source=row.source, row=row.number))
    return found


def _parts(cell: str) -> list[str]:
    """Words of a cell: a list in JSON, or what spaces separate."""
    if cell.lstrip().startswith("["):
        try:
            value = json.loads(cell)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, list):
            return [str(each).strip() for each in value if str(each).strip()]
    return cell.split()


def _a_word_per_row(sheet: Sheet, columns: Sequence[Chosen]) -> list[TaggedSentence]:
    """Sentences of rows that stand together; one begins where its cell is filled anew."""
    sentence, word, tags = (each.theirs for each in columns)
    found: list[list[Row]] = []
    last = None
    for row in sheet.rows:
        mark = row.values.get(sentence, "").strip()
        if not row.values.get(word, "").strip() or not row.values.get(tags, "").strip():
            continue
        if not found or (mark and mark != last):
            found.append([])
        last = mark or last
        found[-1].append(row)
    return [
        TaggedSentence(
            tokens=[row.values[word].strip() for row in rows],
            tags=[row.values[tags].strip() for row in rows],
            rows=[row.number for row in rows],
            source=rows[0].source,
        )
        for rows in found
    ]


def _counts(rows: Sequence[TaggedSentence], scheme: Scheme) -> Counter[str]:
    if scheme == "plain":
        return Counter(tag for row in rows for tag in row.tags or ())
    return Counter(span.label for row in rows for span in spans_of(row.tags or []))


def _check_tags(rows: Sequence[TaggedSentence], scheme: Scheme, source: str) -> None:
    """Refuse tags that teach nothing."""
    counts = _counts(rows, scheme)
    if not counts.keys() - {OUTSIDE}:
        message = f"no word of {len(rows):,} sentences has another tag than {OUTSIDE}"
        raise InputError(message, source=source)
    if scheme == "plain" and len(counts) < 2:
        message = f"has one tag in all {len(rows):,} sentences ({next(iter(counts)):.40})"
        raise InputError(message, source=source)


def _odd(rows: Sequence[TaggedSentence], scheme: Scheme) -> list[str]:
    """What stands in the way of learning, each with what to do."""
    answered = [Answered(tuple(r.tokens), tuple(r.tags or ()), r.rows[0]) for r in rows]
    found = [contradictions(answered, "sentences")]
    rare = sorted(label for label, many in _counts(rows, scheme).items() if many < LEAST_SPANS)
    if rare:
        shown = ", ".join([f"{each:.40}" for each in rare[:SHOWN]] + ["…"] * (len(rare) > SHOWN))
        many = "one label stands" if len(rare) == 1 else f"{len(rare):,} labels stand"
        found.append(f"{many} in the file once ({shown}); add sentences with them")
    return [each for each in found if each is not None]
