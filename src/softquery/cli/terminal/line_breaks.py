"""Where a line of help or of a table may be broken: in Chinese, between any two characters.

Rich breaks lines at spaces alone. What is longer it cuts off in help, and folds anywhere in tables.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

_HAN, _OPENING, _CLOSING = "\u3400-\u9fff", "（“《", "，。；：、！？）”》"
_PIECE = re.compile(
    rf"\s*(?:[{_OPENING}]*(?:[{_HAN}]|[^\s{_HAN}{_OPENING}{_CLOSING}]+)[{_CLOSING}]*|\S)\s*"
)


def line_pieces(text: str) -> Iterator[tuple[int, int, str]]:
    """The parts of a text that stay together, each with where it begins and ends.

    No line begins with a closing mark, and none ends with an opening one.

    >>> [piece for _, _, piece in line_pieces("Show it 图（SVG），可选。")]
    ['Show ', 'it ', '图', '（SVG），', '可', '选。']
    """
    return ((*each.span(), each.group()) for each in _PIECE.finditer(text))


@contextmanager
def broken_between_characters() -> Iterator[None]:
    """Let Rich break lines so until the end of the block."""
    from rich import _wrap

    before = {"words": _wrap.words} if hasattr(_wrap, "words") else {}
    vars(_wrap).update(dict.fromkeys(before, line_pieces))
    try:
        yield
    finally:
        vars(_wrap).update(before)
