"""Normalisation: what happens to a string before it is cut into tokens.

All but two steps are normalisers of `tokenizers`, which track offsets, so that these refer to the
string as given. The two others replace single characters and move nothing: lone surrogates, which
UTF-8 cannot hold, become U+FFFD, and Traditional Chinese becomes Simplified where asked.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Final

from tokenizers import Regex, normalizers

from softquery.text.text_config import TextConfig

WORD_START: Final = "\u2581"
"""Marks where a word begins among BPE's tokens, as in SentencePiece."""

CONTROLS: Final = r"[\x{00}-\x{08}\x{0E}-\x{1F}\x{7F}-\x{84}\x{86}-\x{9F}]"
# Invisible: soft hyphen, zero-width and bidirectional marks, byte order mark, annotation and tags.
INVISIBLES: Final = (
    r"[\x{AD}\x{61C}\x{180E}\x{200B}-\x{200F}\x{202A}-\x{202E}\x{2060}-\x{206F}"
    r"\x{FEFF}\x{FFF9}-\x{FFFB}\x{E0001}\x{E0020}-\x{E007F}]"
)
SINGLE_QUOTES: Final = r"[\x{2018}-\x{201B}\x{2BC}]"
DOUBLE_QUOTES: Final = r"[\x{201C}-\x{201F}]"
ODD_SPACE: Final = r"[^\S ]\s*+|\x{20}\s++"
"""White space that is not one plain space."""

# Han characters encoded twice: radicals that stand for themselves, compatibility ideographs.
_SECOND_ENCODINGS = (range(0x2F00, 0x2FD6), range(0xF900, 0xFAFF), range(0x2F800, 0x2FA1E))

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str, config: TextConfig) -> str:
    """The normalised form of a text.

    >>> normalise("Ｄｏｎ’ｔ　　worry…", TextConfig())
    "don't worry..."
    >>> normalise("漢語", TextConfig(simplify=True))
    '汉语'
    """
    prepared = simplified(text) if config.simplify else repaired(text)
    spelling: str = _cached_normaliser(config).normalize_str(prepared)
    return spelling


def visible_form(word: str, config: TextConfig) -> str:
    r"""A word as character models read it: normalised, but with its case and accents.

    >>> visible_form("Cafe\u0301\u200b", TextConfig())
    'Café'
    """
    kept = replace(config, lowercase=False, strip_accents=False, unicode_form="NFC")
    return normalise(word, kept)


def build_normaliser(config: TextConfig) -> normalizers.Normalizer:
    """The part of normalisation that is stored in `tokenizer.json`."""
    if config.unit == "bert":
        return normalizers.BertNormalizer(
            lowercase=config.lowercase, strip_accents=config.strip_accents
        )
    steps: list[normalizers.Normalizer] = [
        normalizers.Replace(Regex(f"{CONTROLS}|{INVISIBLES}"), ""),
        normalizers.NFKC() if config.unicode_form == "NFKC" else normalizers.NFC(),
        normalizers.Replace(Regex(SINGLE_QUOTES), "'"),
        normalizers.Replace(Regex(DOUBLE_QUOTES), '"'),
    ]
    if config.lowercase:
        steps.append(normalizers.Lowercase())
    if config.strip_accents:
        steps += [normalizers.NFD(), normalizers.StripAccents(), normalizers.NFC()]
    if config.unit in ("bpe", "wordpiece"):
        # Otherwise a mark that occurs in the text would be decoded as a space.
        steps.append(normalizers.Replace(WORD_START, "_"))
    steps += [normalizers.Replace(Regex(ODD_SPACE), " "), normalizers.Strip()]
    return normalizers.Sequence(steps)


def repaired(text: str) -> str:
    r"""The text with lone surrogates replaced, so that it can be encoded as UTF-8.

    >>> repaired("a\ud83db")
    'a�b'
    """
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def simplified(text: str) -> str:
    """The text in Simplified Chinese, of the same length.

    Characters are mapped one by one, without regard to phrases (乾 always becomes 干).

    >>> simplified("電腦與網路")
    '电脑与网路'
    """
    return text if text.isascii() else repaired(text).translate(simplification_table())


@lru_cache(maxsize=1)
def simplification_table() -> Mapping[int, str]:
    """Traditional code point to Simplified character, read once."""
    from importlib.resources import files  # imported late because it is slow

    content = (files("softquery.text") / "simplified.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in content.splitlines() if line and line[0] != "#")
    table = {ord(traditional): simple for traditional, simple in rows}
    for code in chain(
        *_SECOND_ENCODINGS
    ):  # unified here, because Unicode normalisation comes later
        unified = unicodedata.normalize("NFKC", chr(code))
        if len(unified) == 1 and ord(unified) in table:
            table[code] = table[ord(unified)]
    return table


@lru_cache(maxsize=64)
def _cached_normaliser(config: TextConfig) -> normalizers.Normalizer:
    return build_normaliser(config)
