"""Text of users and files as a terminal may show it.

A terminal obeys what it is sent: escape sequences move its cursor, change its title or answer in
the user's name, and bidirectional characters show a text in another order than it has. So wherever
data is printed for people, such characters are spelt out. Letters, spaces, joiners and emoji of all
languages stay as they are.
"""

import json
import re

_UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and new line
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional marks, embeddings, isolates
    "\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # breaks, invisible formats
    "\ud800-\udfff"  # halves of characters, which no terminal can be sent
    "\U000e0000-\U000e007f"  # tags
)
_IN_TEXT = re.compile(f"[{_UNSAFE}]")
_IN_LINE = re.compile(f"[\t\n{_UNSAFE}]")


def escape_text(text: str) -> str:
    r"""The text with control and bidirectional characters spelt out; lines stay lines.

    >>> escape_text("two\r\nlines, \x1b[31mred\u202e")
    'two\nlines, \\x1b[31mred\\u202e'
    """
    return _IN_TEXT.sub(_spelt, text.replace("\r\n", "\n"))


def escape_line(text: str) -> str:
    r"""As `escape_text`, and as one line.

    >>> escape_line("bad\nname\x1b.tsv")
    'bad\\nname\\x1b.tsv'
    """
    return _IN_LINE.sub(_spelt, text)


def escape_json(document: str) -> str:
    r"""A JSON document that means the same, with those characters spelt as JSON spells them.

    >>> escape_json('{"text": "\u202e\x9b"}')
    '{"text": "\\u202e\\u009b"}'
    """
    return _IN_TEXT.sub(lambda found: _spelt_as_json(found[0]), document)


def _spelt(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def _spelt_as_json(mark: str) -> str:
    return "\\u007f" if mark == "\x7f" else json.dumps(mark)[1:-1]
