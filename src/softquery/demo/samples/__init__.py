"""Sample files: an invented shop's FAQ in two languages, what its customers ask, and messages."""

from pathlib import Path

from softquery.atomic import write_bytes
from softquery.errors import InputError

SAMPLES = {
    "faq.csv": "a shop's FAQ in English: id, category, question, answer",
    "faq-zh.csv": "the same in Chinese",
    "queries.tsv": "what customers ask in their own words, and the row that answers them",
    "queries-zh.tsv": "the same in Chinese",
    "questions.txt": "a question per line",
    "messages.csv": "customers' messages with one of three labels",
}
"""The files, and what is in each."""


def write_samples(folder: Path) -> list[Path]:
    """Write the sample files into a folder, which is made where it is missing.

    A file that is there already with the same content stays; one with another content is refused,
    and then nothing is written.

    Args:
        folder: Where they are to lie.

    Returns:
        The files, in the order of `SAMPLES`.

    Raises:
        InputError: If a file of that name is there and is not the sample.
    """
    here = Path(__file__).parent
    contents = {folder / name: (here / name).read_bytes() for name in SAMPLES}
    for path, content in contents.items():
        if path.exists() and (not path.is_file() or path.read_bytes() != content):
            raise InputError(
                "is there already and is not the sample; name another folder", source=path
            )
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        if not path.exists():
            write_bytes(path, content)
    return list(contents)
