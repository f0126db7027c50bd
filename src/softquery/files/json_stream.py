"""Streams one large JSON object: memory holds an item of a list, not the file."""

import json
from bisect import bisect_right
from collections.abc import Iterator
from os import PathLike, fspath
from typing import Any

from softquery.errors import InputError
from softquery.files.text_lines import running_text

LARGEST_ITEM = 1 << 24
"""The most characters of one item."""
_SPACE = " \t\r\n"


class JsonText:
    """A JSON text that is read incrementally.

    Args:
        path: The file, plain or .gz, .xz, .bz2, in one line or many.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.source = fspath(path)
        self.row = 1
        """The row where the last value begins, as an editor counts lines."""
        self._blocks = running_text(path)
        self._decoder = json.JSONDecoder()
        self._text, self._place, self._before = "", 0, 0
        self._starts, self._rows = [0], [1]

    def items_of(self, key: str) -> Iterator[Any]:
        """The items of the list under a key of the outermost object; other keys are skipped.

        Raises:
            InputError: If the text is not such an object; names file and row.
        """
        if not self._next():
            raise InputError("is empty", source=self.source)
        self._expect("{", f'a JSON object with a list "{key}"')
        found = False
        while self._next() != "}":
            name = self._value()
            self._expect(":", "a colon after a name")
            if name == key:
                found = True
                yield from self._items(key)
            else:
                self._value()
            if not self._another("}"):
                break
        self._expect("}", "the end of the object")
        if not found:
            raise self.error(f'no "{key}" in the object')
        if self._next():
            raise self.error("more text after the end of the object")

    def error(self, message: str) -> InputError:
        """An error that names the file and the row."""
        return InputError(message, source=self.source, row=self.row)

    def _items(self, key: str) -> Iterator[Any]:
        self._expect("[", f'a list "{key}"')
        while self._next() != "]":
            yield self._value()
            if not self._another("]"):
                break
        self._expect("]", f'the end of the list "{key}"')

    def _another(self, end: str) -> bool:
        """Whether a comma and another item follow."""
        if self._next() != ",":
            return False
        self._place += 1
        if self._next() == end:
            raise self.error(f"not valid JSON (a comma before {end!r})")
        return True

    def _expect(self, mark: str, what: str) -> None:
        found = self._next()
        if found != mark:
            raise self.error(f"expected {what}, {f'found {found!r}' if found else 'the file ends'}")
        self._place += 1

    def _next(self) -> str:
        """The next character that is not white space, empty at the end; sets `row` to its row."""
        while True:
            while self._place < len(self._text) and self._text[self._place] in _SPACE:
                self._place += 1
            if self._place < len(self._text):
                absolute = self._before + self._place
                self.row = self._rows[bisect_right(self._starts, absolute) - 1]
                return self._text[self._place]
            if not self._grow():
                return ""

    def _value(self) -> Any:
        """The value that begins here; reads as much of the file as it needs."""
        self._next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._place)
            except RecursionError:
                raise self.error("not usable JSON (nested too deeply)") from None
            except ValueError as error:
                if self._grow():
                    continue
                reason = getattr(error, "msg", str(error))
                raise self.error(f"not valid JSON ({reason[:60]})") from None
            if end == len(self._text) and self._grow():
                continue  # a number may continue
            self._place = end
            return value

    def _grow(self) -> bool:
        """Drop what was parsed and read at least as much again; False at the end of the file."""
        self._before += self._place
        self._text, self._place = self._text[self._place :], 0
        if len(self._text) > LARGEST_ITEM:
            raise self.error(f"an item is longer than {LARGEST_ITEM:,} characters")
        keep = max(0, bisect_right(self._starts, self._before) - 1)
        self._starts, self._rows = self._starts[keep:], self._rows[keep:]
        parts, length = [self._text], len(self._text)
        wanted = max(1, 2 * length)
        for block in self._blocks:
            for row, line in enumerate(block.lines, block.first):
                if row in block.faults:
                    raise block.faults[row]
                # Line ends are dropped: JSON does not need them, and its strings hold none.
                self._starts.append(self._before + length)
                self._rows.append(row)
                parts.append(line)
                length += len(line)
            if length >= wanted:
                break
        grown = length > len(self._text)
        self._text = "".join(parts)
        return grown
