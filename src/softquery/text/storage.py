"""Writes `tokenizer.json` atomically, and refuses one that does not fit, with the reason."""

from pathlib import Path
from typing import Final

from tokenizers import Tokenizer

from softquery.atomic import write_text
from softquery.errors import BundleError
from softquery.plain_files import read_plain
from softquery.text.text_config import TextConfig, reserved_tokens

FILE_NAME: Final = "tokenizer.json"
MODELS: Final = {
    "words": "WordLevel",
    "characters": "WordLevel",
    "whitespace": "WordLevel",
    "jieba": "WordLevel",
    "bpe": "BPE",
    "wordpiece": "WordPiece",
    "bert": "WordPiece",
}
"""The model of `tokenizers` that each text unit needs."""
LARGEST: Final = 1 << 28
"""The most bytes of a file."""


def write_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write `tokenizer.json` into a folder, which is created where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / FILE_NAME, tokenizer.to_str(pretty=True))


def read_tokenizer(path: Path, config: TextConfig) -> Tokenizer:
    """Read what `write_tokenizer` wrote; the configuration must be the one it was written for."""
    tokenizer = _parsed(_content(path), path)
    _check_reserved(tokenizer, config, path)
    kind = type(tokenizer.model).__name__
    if kind != MODELS[config.unit]:
        raise BundleError(f"{path}: unit {config.unit!r} needs {MODELS[config.unit]}, found {kind}")
    if (tokenizer.post_processor is not None) != config.boundaries:
        raise BundleError(
            f"{path}: made for boundaries={not config.boundaries},"
            f" but the configuration says {config.boundaries}"
        )
    _try_out(tokenizer, path)
    return tokenizer


def _try_out(tokenizer: Tokenizer, path: Path) -> None:
    """Encode something, because parts that do not fit each other are not missed before that."""
    try:
        tokenizer.encode("a")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the library is no Exception
        raise BundleError(f"{path}: cannot be used ({error})") from None


def _content(path: Path) -> str:
    try:
        return read_plain(path, LARGEST).decode("utf-8")
    except FileNotFoundError:
        raise BundleError(f"{path}: the file is missing") from None
    except UnicodeDecodeError as error:
        raise BundleError(f"{path}: not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise BundleError(f"{path}: cannot be read ({error.strerror})") from error


def _parsed(content: str, path: Path) -> Tokenizer:
    try:
        return Tokenizer.from_str(content)
    except Exception as error:  # the library raises nothing narrower
        reason = " ".join(str(error).split())
        raise BundleError(f"{path}: damaged or not a tokenizer ({reason})") from error


def _check_reserved(tokenizer: Tokenizer, config: TextConfig, path: Path) -> None:
    for expected, token in enumerate(reserved_tokens(config.unit)):
        found = tokenizer.token_to_id(token)
        if config.unit == "bert" and found is not None:
            continue  # their ids differ between published vocabularies
        if found != expected:
            raise BundleError(f"{path}: expected {token} at id {expected}, found {found}")
