"""Sentences with a tag for each word, in the columns of Universal Dependencies (CoNLL-U)."""

import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from softquery.errors import InputError
from softquery.files.columns import listed
from softquery.files.opening import open_text

NUM_COLUMNS = 10
FORM, UPOS = 1, 3


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """Words and their tags, one each."""

    tokens: list[str]
    tags: list[str]


def read_conllu(path: str | PathLike[str]) -> list[TaggedSentence]:
    """Words and universal parts of speech of a CoNLL-U file, plain or compressed.

    Tokens that stand for several words (`1-2`) and words that were left out (`8.1`) are passed
    over: what has a tag are the words.

    Raises:
        InputError: For a line without ten columns or a word without a tag, named by its row.
    """
    sentences, sentence = [], TaggedSentence([], [])
    with open_text(path) as lines:
        for line in lines:
            if not line.strip():
                sentences.append(sentence)
                sentence = TaggedSentence([], [])
            elif not line.startswith("#"):
                columns = line.split("\t")
                if len(columns) != NUM_COLUMNS:
                    message = f"expected {NUM_COLUMNS} columns (CoNLL-U), found {len(columns)}"
                    raise lines.error(message)
                if columns[0].isdecimal():
                    if not columns[FORM] or columns[UPOS] in ("", "_"):
                        raise lines.error("expected a word and its part of speech (UPOS)")
                    sentence.tokens.append(columns[FORM])
                    sentence.tags.append(columns[UPOS])
    found = [each for each in (*sentences, sentence) if each.tokens]
    if not found:
        raise InputError("holds no sentence", source=path)
    return found


def find_conllu(folder: str | PathLike[str], split: str) -> Path:
    """The file of a split, named `train.conllu`, `en_ewt-ud-train.conllu.xz` and the like.

    Raises:
        InputError: Where there is none or more than one.
    """
    try:
        names = sorted(entry.name for entry in Path(folder).iterdir())
    except NotADirectoryError as error:
        raise InputError("is a file, expected a folder", source=folder) from error
    except OSError as error:
        raise InputError(f"no such folder ({error.strerror})", source=folder) from error
    named = re.compile(rf"(.*[-_])?{re.escape(split)}\.conllu(\.(gz|xz|bz2))?")
    found = [name for name in names if named.fullmatch(name)]
    if len(found) != 1:
        raise InputError(
            f"expected one file for {split} such as {split}.conllu, found "
            f"{len(found) or 'none'} among: {listed(names)}",
            source=folder,
        )
    return Path(folder) / found[0]
