"""Where a language model reads from: text files of two splits, or text that is numbered already."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from softquery.errors import InputError, counted
from softquery.files import find_texts, fingerprint


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
    folder: Path, train: Sequence[str], valid: str, rename: Mapping[str, str] | None
) -> TextSource:
    """The text files of a folder; in that of a task, which has no `valid`, `dev` stands for it."""
    trained = [path for split in train for path in find_texts(folder, split)]
    measured = _measured(folder, valid)
    return TextSource(
        train=trained,
        valid=measured,
        rename=rename,
        fingerprint=fingerprint([*trained, *measured]),
        folder=folder,
    )


def _measured(folder: Path, split: str) -> list[Path]:
    try:
        return find_texts(folder, split)
    except InputError:
        if split != "valid":
            raise
        with suppress(InputError):
            return find_texts(folder, "dev")
        raise


def numbered_source(folder: Path, mark: str) -> TextSource:
    """A folder of numbers, and by what it is known again."""
    return TextSource(train=[], valid=[], rename=None, fingerprint=mark, folder=folder)
