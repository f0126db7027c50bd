"""Where a language model reads from: text files of two splits, or text that is numbered already."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from softquery.errors import InputError, counted
from softquery.files import find_texts, fingerprint
from softquery.running.adapter import Say


@dataclass(frozen=True, kw_only=True)
class TextSource:
    """The files of every split; none where the text was numbered before."""

    train: list[Path]
    valid: list[Path]
    rename: Mapping[str, str] | None
    fingerprint: str
    folder: Path

    @property
    def is_numbered(self) -> bool:
        """Whether `folder` holds numbers instead of text."""
        return not self.train

    @property
    def shown(self) -> str:
        """How much is read, in words."""
        count = len(self.train)
        return f"{counted(count, 'file')} of training text"


def text_source(
    folder: Path, train: Sequence[str], valid: str, rename: Mapping[str, str] | None, say: Say
) -> TextSource:
    """The text files of a folder; in that of a task, which has no `valid`, `dev` stands for it.

    Args:
        folder: Holds the files.
        train: Splits that are learnt from.
        valid: The split that is measured on.
        rename: Our column's name to that of the files.
        say: Told where `dev` stands for `valid`.
    """
    trained = [path for split in train for path in find_texts(folder, split)]
    measured = _measured(folder, valid, say)
    return TextSource(
        train=trained,
        valid=measured,
        rename=rename,
        fingerprint=fingerprint([*trained, *measured]),
        folder=folder,
    )


def _measured(folder: Path, split: str, say: Say) -> list[Path]:
    try:
        return find_texts(folder, split)
    except InputError as error:
        if split != "valid" or error.source != str(folder):  # it is there, but cannot be read
            raise
        with suppress(InputError):
            found = find_texts(folder, "dev")
            say(f"{folder} holds no text for valid; dev is measured on instead")
            return found
        raise


def numbered_source(folder: Path, mark: str) -> TextSource:
    """A folder of numbers, and by what it is known again."""
    return TextSource(train=[], valid=[], rename=None, fingerprint=mark, folder=folder)
