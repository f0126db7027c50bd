"""How much room text takes, guessed without a font: the reader's own draws it.

The guesses lean to the wide side. Han characters, kana and emoji are as wide as they are high.
"""

import unicodedata

_NARROW = frozenset("ijl.,;:'`|!()[]{}Itfr-/\\ ")
_BROAD = frozenset("mwMW@%&<>=+~#")


def text_width(text: str, size: float) -> float:
    """The width of a text in a font of this size.

    >>> text_width("ab", 10.0), text_width("男人", 10.0)
    (12.6, 20.0)
    """
    return size * sum(map(_character_width, text))


def fitted(text: str, size: float, width: float) -> str:
    """The text, or as much of it as fits before an ellipsis.

    >>> fitted("incomprehensibilities", 10.0, 60.0)
    'incompre…'
    """
    if text_width(text, size) <= width:
        return text
    kept = ""
    for each in text:
        if text_width(kept + each + "…", size) > width:
            break
        kept += each
    return kept.rstrip() + "…"


def wrapped(text: str, size: float, width: float, *, max_lines: int) -> list[str]:
    """The text in lines that fit; what is left over after the last is cut by an ellipsis.

    Lines break at spaces; where a word alone is too wide (Chinese has no spaces), anywhere.

    >>> wrapped("a man eats an apple", 10.0, 60.0, max_lines=2)
    ['a man eats', 'an apple']
    """
    lines: list[str] = []
    rest = " ".join(text.split())
    while rest and len(lines) < max_lines - 1:
        line = _line(rest, size, width)
        lines.append(line.rstrip())
        rest = rest[len(line) :].lstrip()
    return [*lines, fitted(rest, size, width)] if rest else lines


def _line(text: str, size: float, width: float) -> str:
    used = 0.0
    for place, each in enumerate(text):
        used += size * _character_width(each)
        if used > width:
            at_space = text.rfind(" ", 0, place + 1)
            # A line that would end before its half is broken inside a word instead.
            return text[: at_space + 1] if at_space > place // 2 else text[: max(place, 1)]
    return text


def _character_width(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if character in _NARROW:
        return 0.36
    if character in _BROAD:
        return 0.97
    return 0.74 if character.isupper() else 0.63
