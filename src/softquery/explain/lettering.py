"""Text in pictures and pages: how wide it is, and how it is shown and escaped.

Widths are estimated without a font, because the reader's own font draws the text; estimates are
rather too wide. Characters that XML forbids even as escapes (NUL, ESC, lone surrogates) are shown
as the symbols that Unicode has for them.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from html import escape as _escape
from typing import Any, Protocol

from softquery.language import current_language

_NARROW = frozenset("ijl.,;:'`|!()[]{}Itfr-/\\ ")
_BROAD = frozenset("mwMW@%&<>=+~#")


def text_width(text: str, size: float) -> float:
    """The width of a text in a font of this size.

    >>> text_width("ab", 10.0), text_width("男人", 10.0)
    (12.6, 20.0)
    """
    return size * sum(map(_character_width, text))


def fitted(text: str, size: float, width: float) -> str:
    """The text, cut with an ellipsis where it is too wide.

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
    """The text in lines that fit; the last line is cut with an ellipsis.

    Lines break at spaces, or inside a word that is too wide for a line (Chinese has no spaces).

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
            # A break at a space in the first half of the line would waste room.
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


_PICTURES = {
    **{code: chr(0x2400 + code) for code in range(0x20)},
    **dict.fromkeys(range(0x80, 0xA0), "\ufffd"),
    **dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd"),
    0x09: " ",
    0x0A: " ",
    0x0D: " ",
    0x7F: "\u2421",
}
_MOST_CHARACTERS = 80
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_TURNING = frozenset(("R", "AL", "AN", "RLE", "RLO", "RLI", "LRE", "LRO", "LRI", "FSI", "PDI"))
_IN_SCRIPT = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


def visible(text: str) -> str:
    r"""The text on one line, with a visible symbol for every character that XML forbids.

    >>> visible("a\x00b\ud800\nc")
    'a␀b� c'
    """
    return _LONE_SURROGATE.sub("\ufffd", text.translate(_PICTURES))


def visible_token(token: str) -> str:
    r"""A token as a label; an invisible one is shown as a symbol.

    >>> visible_token("dog"), visible_token(" \n"), visible_token("")
    ('dog', '␣', '∅')
    """
    if not token:
        return "\u2205"
    if any(unicodedata.category(each) not in ("Zs", "Zl", "Zp", "Cf") for each in visible(token)):
        return visible(token).strip()
    return "\u2423"


def shortened(text: str) -> str:
    """The text, cut to 80 characters: a token may be a megabyte long.

    >>> len(shortened("a" * 1_000_000))
    80
    """
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"


def escaped(text: str) -> str:
    """The text, escaped for use between tags or in an attribute.

    >>> escaped('</svg><script x="1">')
    '&lt;/svg&gt;&lt;script x=&quot;1&quot;&gt;'
    """
    return _escape(visible(text), quote=True)


def isolated(text: str) -> str:
    """Right-to-left text between isolating marks, so that it does not reverse what follows.

    >>> isolated("dog"), isolated("כלב") == "\u2068כלב\u2069"
    ('dog', True)
    """
    turns = any(unicodedata.bidirectional(each) in _TURNING for each in text)
    return f"\u2068{text}\u2069" if turns else text


def direction(text: str) -> str:
    """The writing direction of a text, by its first letter with a direction.

    >>> direction("a כלב"), direction("כלב a")
    ('ltr', 'rtl')
    """
    kinds = (unicodedata.bidirectional(each) for each in text)
    return "rtl" if next((k for k in kinds if k in ("L", "R", "AL")), "L") != "L" else "ltr"


def language(text: str) -> str | None:
    """The language that decides how Han characters are drawn; None for text without them.

    >>> language("一个男人"), language("男の人"), language("a man")
    ('zh', 'ja', None)
    """
    if re.search("[\u3040-\u30ff]", text):
        return "ja"
    if re.search("[\uac00-\ud7af]", text):
        return "ko"
    return "zh" if re.search("[\u3400-\u9fff\U00020000-\U0003ffff]", text) else None


def json_for_script(value: Any) -> str:
    r"""JSON that cannot close the script element around it.

    >>> json_for_script({"word": "</script>"})
    '{"word":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.translate(_IN_SCRIPT)


LabelNames = Mapping[str, Mapping[str, str]]
"""Names by label, then by language."""
LABEL_SIZE, LABEL_ROOM = 12.5, 116.0
"""The size of a label beside its bar, and the room that it has there."""


class HasLabels(Protocol):
    """An explanation of an answer that is one of several labels."""

    @property
    def label_names(self) -> LabelNames:
        """What the labels are called in front of people; empty where they have no names."""


def spoken_label(explained: HasLabels, label: str) -> str:
    """The name of a label in the language of whoever looks; the label where it has none.

    Names stand beside bars, so that all are left out where one of them is too long for that.
    """
    language = current_language().partition("_")[0]
    names = {each: named.get(language, "") for each, named in explained.label_names.items()}
    if any(text_width(name, LABEL_SIZE) > LABEL_ROOM for name in names.values()):
        return label
    return names.get(label) or label
