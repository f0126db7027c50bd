"""Test sets of word vectors: analogies, and graded pairs of words."""

import math
from dataclasses import dataclass
from os import PathLike, fspath

from softquery.errors import InputError
from softquery.files.text_lines import open_text

MOST = 1_000_000
"""Questions or pairs of a test set; the largest in use has 20,000."""


@dataclass(frozen=True, slots=True)
class AnalogyQuestion:
    """`first` is to `second` as `third` is to `fourth`."""

    first: str
    second: str
    third: str
    fourth: str


@dataclass(frozen=True, slots=True)
class Section:
    """Analogies of one kind."""

    name: str
    questions: list[AnalogyQuestion]


@dataclass(frozen=True, slots=True)
class GradedWords:
    """Two words, and how similar people find them."""

    first: str
    second: str
    grade: float


def read_questions(path: str | PathLike[str]) -> list[Section]:
    """Read analogies in the format of `questions-words.txt`: four words per line, under `: NAME`.

    Raises:
        InputError: For a line in another format, naming the row.
    """
    sections: list[Section] = []
    num_questions = 0
    with open_text(path) as lines:
        for line in lines:
            words = line.split()
            if not words:
                continue
            num_questions += 1
            if num_questions > MOST:
                raise lines.error(f"holds more than {MOST:,} questions")
            if words[0].startswith(":"):
                sections.append(Section(" ".join(words).lstrip(": ") or "unnamed", []))
                continue
            if len(words) != 4:
                message = f"expected four words, or a colon and a name, found {len(words)} words"
                raise InputError(message, source=path, row=lines.number)
            if not sections:
                sections.append(Section("unnamed", []))
            sections[-1].questions.append(AnalogyQuestion(*words))
    if not any(section.questions for section in sections):
        raise InputError("holds no questions", source=path)
    return [section for section in sections if section.questions]


def read_graded_words(path: str | PathLike[str]) -> list[GradedWords]:
    """Read pairs of words with a grade: two words and a number, separated by tabs.

    Lines that begin with `#` are comments, and a first line without a number is a header. Many
    collections have WordSim-353, SimLex-999 and the Chinese 240 and 297 in this format.

    Raises:
        InputError: For a line in another format, naming the row.
    """
    pairs: list[GradedWords] = []
    may_be_header = True
    with open_text(path) as lines:
        for line in lines:
            if not line.strip() or line.startswith("#"):
                continue
            pair = _pair(line)
            if pair is not None:
                pairs.append(pair)
            elif not may_be_header:
                message = f'expected two words and a number, separated by tabs, found "{line[:60]}"'
                raise InputError(message, source=path, row=lines.number)
            may_be_header = False
            if len(pairs) > MOST:
                raise lines.error(f"holds more than {MOST:,} pairs")
    if not pairs:
        message = "holds no pairs: two words and a number per line, separated by tabs"
        raise InputError(message, source=fspath(path))
    return pairs


def _pair(line: str) -> GradedWords | None:
    parts = [part.strip() for part in line.split("\t")]
    if len(parts) != 3 or not parts[0] or not parts[1]:
        return None
    try:
        grade = float(parts[2])
    except ValueError:
        return None
    return GradedWords(parts[0], parts[1], grade) if math.isfinite(grade) else None
