r"""Text of users inside XML, HTML and scripts, where it must stay text.

XML has no place at all for some characters (NUL, escape, halves of surrogate pairs), not even
escaped; they are shown by the pictures that Unicode has for them.
"""

import json
import re
import unicodedata
from html import escape as _escape
from typing import Any

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
    r"""The text with every character that XML forbids made visible, on one line.

    >>> visible("a\x00b\ud800\nc")
    'a␀b� c'
    """
    return _LONE_SURROGATE.sub("\ufffd", text.translate(_PICTURES))


def visible_token(token: str) -> str:
    r"""A token as a label; one that would not be seen gets a mark.

    >>> visible_token("dog"), visible_token(" \n"), visible_token("")
    ('dog', '␣', '∅')
    """
    if not token:
        return "\u2205"
    if any(unicodedata.category(each) not in ("Zs", "Zl", "Zp", "Cf") for each in visible(token)):
        return visible(token).strip()
    return "\u2423"


def shortened(text: str) -> str:
    """The text, cut where nobody would read on: a token may be a megabyte of one letter.

    >>> len(shortened("a" * 1_000_000))
    80
    """
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"


def escaped(text: str) -> str:
    """The text as it may stand between tags or in an attribute.

    >>> escaped('</svg><script x="1">')
    '&lt;/svg&gt;&lt;script x=&quot;1&quot;&gt;'
    """
    return _escape(visible(text), quote=True)


def isolated(text: str) -> str:
    """The text, kept from turning what follows it to the left where it is read from right to left.

    >>> isolated("dog"), isolated("כלב") == "\u2068כלב\u2069"
    ('dog', True)
    """
    turns = any(unicodedata.bidirectional(each) in _TURNING for each in text)
    return f"\u2068{text}\u2069" if turns else text


def direction(text: str) -> str:
    """Which way a text runs, by its first letter that says so.

    >>> direction("a כלב"), direction("כלב a")
    ('ltr', 'rtl')
    """
    kinds = (unicodedata.bidirectional(each) for each in text)
    return "rtl" if next((k for k in kinds if k in ("L", "R", "AL")), "L") != "L" else "ltr"


def language(text: str) -> str | None:
    """The language that decides how Han characters are drawn; None where there are none.

    >>> language("一个男人"), language("男の人"), language("a man")
    ('zh', 'ja', None)
    """
    if re.search("[\u3040-\u30ff]", text):
        return "ja"
    if re.search("[\uac00-\ud7af]", text):
        return "ko"
    return "zh" if re.search("[\u3400-\u9fff\U00020000-\U0003ffff]", text) else None


def json_for_script(value: Any) -> str:
    r"""JSON that cannot end the script element it stands in.

    >>> json_for_script({"word": "</script>"})
    '{"word":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.translate(_IN_SCRIPT)
