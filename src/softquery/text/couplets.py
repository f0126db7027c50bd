"""The form of a Chinese couplet: signs, repetitions and tones of a line of characters.

The lower line matches the upper one character by character: it is equally long, has the same signs
in the same places, shares no other character, repeats where the upper line repeats, and ends in the
opposite tone. Tones are those of modern Mandarin: level (平) is the first and the second, oblique
(仄) the third and the fourth.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

Tone = Literal["level", "oblique"]
OPPOSITE: Mapping[Tone, Tone] = {"level": "oblique", "oblique": "level"}


def is_sign(token: str) -> bool:
    """Whether a token is punctuation or a symbol, which a lower line repeats in its place.

    >>> [is_sign(token) for token in ("，", "春", "a1", "")]
    [True, False, False, False]
    """
    return bool(token) and all(unicodedata.category(mark)[0] in "PSZ" for mark in token)


def is_han(token: str) -> bool:
    """Whether a token is one Chinese character.

    >>> [is_han(token) for token in ("春", "〇", "，", "ab")]
    [True, True, False, False]
    """
    if len(token) != 1:
        return False
    name = unicodedata.name(token, "")
    return token == "〇" or name.startswith(("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH"))


def first_places(line: Sequence[str]) -> list[int]:
    """For every place of a line, the first place of the same token; a sign gives its own place.

    >>> first_places("山山水水，处处")
    [0, 0, 2, 2, 4, 5, 5]
    """
    seen: dict[str, int] = {}
    return [
        place if is_sign(token) else seen.setdefault(token, place)
        for place, token in enumerate(line)
    ]


def last_word(line: Sequence[str]) -> int | None:
    """The place of the last token that is not a sign.

    >>> last_word("春来。"), last_word("。")
    (1, None)
    """
    return next((p for p in range(len(line) - 1, -1, -1) if not is_sign(line[p])), None)


def tone_of(character: str) -> Tone | None:
    """The tone of a character's most common reading; None for one that the table lacks.

    >>> tone_of("春"), tone_of("月"), tone_of("x")
    ('level', 'oblique', None)
    """
    return tone_table().get(character)


@lru_cache(maxsize=1)
def tone_table() -> Mapping[str, Tone]:
    """All known characters with their tones, read once."""
    from importlib.resources import files  # imported late because it is slow

    content = (files("softquery.text") / "tones.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in content.splitlines() if line and line[0] != "#")
    return {each: tone for tone, characters in rows for each in characters}  # type: ignore[misc]
