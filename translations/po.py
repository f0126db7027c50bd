"""Catalogues as text (.po) and as gettext reads them (.mo), each made in one way only.

Of gettext's formats this is what a catalogue without plurals and contexts needs: names in braces
are filled in by `softquery.language`, so that a sentence has one form for all numbers.
"""

import ast
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

HEADER = (
    "Project-Id-Version: softquery\n"
    "Language: {language}\n"
    "MIME-Version: 1.0\n"
    "Content-Type: text/plain; charset=UTF-8\n"
    "Content-Transfer-Encoding: 8bit\n"
)
MAGIC = 0x950412DE
HEAD_SIZE = 28
"""Bytes of seven numbers: magic, revision, count, two tables, and a hash table of no size."""
PREFIXES = ("msgid ", "msgstr ")


@dataclass(frozen=True, slots=True)
class Entry:
    """A text with its translation.

    Attributes:
        text: In English, as the sources have it.
        translation: Empty where there is none yet.
        places: Where the text stands.
    """

    text: str
    translation: str
    places: tuple[str, ...] = ()


def write_po(path: Path, entries: list[Entry], language: str) -> None:
    """Write a catalogue in the order of its entries."""
    parts = [f'msgid ""\nmsgstr ""\n{_lines(HEADER.format(language=language))}\n']
    for entry in entries:
        places = "".join(f"#: {place}\n" for place in entry.places)
        parts.append(f"{places}msgid {_quoted(entry.text)}\nmsgstr {_quoted(entry.translation)}\n")
    path.write_text("\n".join(parts), encoding="utf-8")


def read_po(path: Path) -> dict[str, str]:
    """The texts of a catalogue with their translations, those without one among them.

    Raises:
        ValueError: If a line is none of a catalogue, or a text stands there twice.
    """
    found: dict[str, str] = {}
    for number, text, translation in _pairs(path):
        if text in found:
            raise ValueError(f"{path}, line {number}: {text!r} stands there twice")
        if text:
            found[text] = translation
    return found


def _pairs(path: Path) -> Iterator[tuple[int, str, str]]:
    parts: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("msgid ") and len(parts) == 2:
            yield number, parts[0], parts[1]
            parts = []
        if line.startswith(PREFIXES):
            parts.append(ast.literal_eval(line.partition(" ")[2]))
        elif line.startswith('"'):
            parts[-1] += ast.literal_eval(line)
        elif line and not line.startswith("#"):
            raise ValueError(f"{path}, line {number}: expected a catalogue, found {line!r}")
    if len(parts) == 2:
        yield number, parts[0], parts[1]


def compiled(texts: Mapping[str, str], language: str) -> bytes:
    """A catalogue as gettext reads it; texts without a translation are left out."""
    known = {"": HEADER.format(language=language), **{k: v for k, v in texts.items() if v}}
    pairs = sorted((text.encode(), told.encode()) for text, told in known.items())
    content_at = HEAD_SIZE + 16 * len(pairs)
    tables: list[bytes] = []
    content = b""
    for side in (0, 1):
        for pair in pairs:
            tables.append(struct.pack("<II", len(pair[side]), content_at + len(content)))
            content += pair[side] + b"\0"
    translations_at = HEAD_SIZE + 8 * len(pairs)
    head = struct.pack("<7I", MAGIC, 0, len(pairs), HEAD_SIZE, translations_at, 0, content_at)
    return head + b"".join(tables) + content


def _quoted(text: str) -> str:
    if "\n" not in text:
        return _literal(text)
    return f'""\n{_lines(text)}'.removesuffix("\n")


def _lines(text: str) -> str:
    return "".join(f"{_literal(line)}\n" for line in text.splitlines(keepends=True))


def _literal(text: str) -> str:
    shown = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + shown.replace("\n", "\\n").replace("\t", "\\t") + '"'
