"""Bad rows of a file that a run leaves out, kept for whoever mends them."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, TypeVar

from softquery.cli.terminal.console import note
from softquery.errors import InputError
from softquery.files import shown_cell, write_text

Item = TypeVar("Item")


class BadRows:
    """Rows that were skipped, as `OUTPUT.errors.tsv` or on standard error.

    Reading starts from the first row also in a resumed run, and so does this file, which takes its
    name just before the answers take theirs. In a `with`, a run that fails leaves none of it.

    Args:
        output: The file of answers; None where they are printed.
    """

    def __init__(self, output: Path | None) -> None:
        self.path = None if output is None else Path(f"{output}.errors.tsv")
        self.partial = Path(f"{self.path}.partial")
        self.file: IO[str] | None = None
        self.count = 0
        self._last = 0
        self._is_in_order = True

    def __enter__(self) -> "BadRows":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.file is not None:
            self.file.close()
            self.partial.unlink(missing_ok=True)

    def kept_beside(self, rows: Iterator[Item]) -> Iterator[Item]:
        """The rows, with the bad ones among them written down."""
        with self:
            yield from rows
            self.keep()

    def add(self, error: InputError) -> None:
        """Note one bad row."""
        self.count += 1
        if self.path is None:
            note(f"skipped: {error}")
            return
        if self.file is None:  # not before there is a row: until then, another run may be at work
            self.partial.unlink(missing_ok=True)  # of a killed run, or a link to another file
            self.file = self.partial.open("x", encoding="utf-8", newline="\n")
            self.file.write("row\treason\n")
        self.file.write(f"{error.row}\t{shown_cell(error.message)}\n")
        row = error.row or 0
        self._is_in_order &= row >= self._last
        self._last = row

    def keep(self) -> None:
        """Give the file its name, or take away the one of an earlier run where no row was bad."""
        if self.path is None:
            return
        if self.file is not None:
            self.file.close()
            if not self._is_in_order:  # some are found bad when they are read, others later
                head, *rows = self.partial.read_text(encoding="utf-8").splitlines(keepends=True)
                rows.sort(key=lambda line: int(line.split("\t")[0]))
                write_text(self.partial, "".join([head, *rows]))
            os.replace(self.partial, self.path)
        else:
            self.partial.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
