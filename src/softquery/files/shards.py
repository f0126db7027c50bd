"""The files of a corpus: one file, or a folder of shards."""

from os import PathLike
from pathlib import Path

from softquery.errors import InputError
from softquery.files.archives import check_readable, split_suffix

TRAIN = "train"


def find_shards(path: str | PathLike[str]) -> list[Path]:
    """The text files of a corpus, in the order of their names.

    In a folder these are the files that end in `.txt`, plain or compressed. Where some of them
    begin with `train`, the others are left out: they are kept to measure on. Where splits must be
    there, as language models want them, `find_texts` finds them.

    Args:
        path: A file of text with any name, or a folder.

    Raises:
        InputError: There is nothing to read.
    """
    place = Path(path)
    if not place.is_dir():
        check_readable(place)
        return [place]
    try:
        texts = sorted(each for each in place.iterdir() if split_suffix(each)[0] == ".txt")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=path) from error
    files = [each for each in texts if each.is_file() and not each.name.startswith(".")]
    if not files:
        raise InputError("holds no .txt files (plain or .gz, .xz, .bz2)", source=path)
    chosen = [each for each in files if each.name.startswith(TRAIN)]
    return chosen or files
