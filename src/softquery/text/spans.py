"""Spans of a string: offsets of tokens, sentences of a text, and long sentences in parts."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar

Span = tuple[int, int]
"""Start and end of a slice, counted in characters."""


def tidy_spans(text: str, spans: list[Span]) -> list[Span]:
    r"""Offsets made to cover what a reader would mark.

    They never run backwards, exclude the space that BPE's tokens begin with, and include letters
    and marks that normalisation composed into the last character.

    >>> tidy_spans("a cafe\u0301", [(0, 1), (1, 6)])
    [(0, 1), (2, 7)]
    """
    tidy: list[Span] = []
    earliest = 0
    for (start, end), (following, _) in zip(spans, [*spans[1:], (len(text), 0)], strict=False):
        start = _skip_space(text, max(start, earliest), end)
        end = _absorb(text, max(start, end), following)
        tidy.append((start, end))
        earliest = start
    return tidy


def as_written(tokens: Sequence[str]) -> str:
    """Tokens as a reader would write them: spaces between words, but none beside wide characters.

    Those are Chinese and Japanese ones; Korean is written with spaces.

    >>> as_written(["Ada", "Lovelace"]), as_written(["北", "京", "大", "学"])
    ('Ada Lovelace', '北京大学')
    >>> as_written(["2023", "年", "iPhone", "15", "，", "서울", "시"])
    '2023年iPhone 15，서울 시'
    """
    text = ""
    for token in filter(None, tokens):
        apart = text and not (_is_wide(text[-1]) or _is_wide(token[0]))
        text += f" {token}" if apart else token
    return text


def _is_wide(character: str) -> bool:
    if "\u1100" <= character <= "\u11ff" or "\uac00" <= character <= "\ud7a3":
        return False
    return unicodedata.east_asian_width(character) in "WF"


def joined_spans(spans: list[Span], words: list[int | None]) -> list[Span]:
    """One span for all pieces of a word.

    Args:
        spans: The offsets of the pieces.
        words: The index of the word of each piece; None for a piece by itself.

    >>> joined_spans([(0, 2), (2, 4), (5, 6)], [0, 0, 1])
    [(0, 4), (5, 6)]
    """
    found: list[Span] = []
    before: int | None = None
    for span, word in zip(spans, words, strict=True):
        if found and word is not None and word == before:
            found[-1] = (found[-1][0], span[1])
        else:
            found.append(span)
        before = word
    return found


def _skip_space(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start


def _absorb(text: str, end: int, following: int) -> int:
    # Between two tokens there is space, something invisible, or a part of a composed character.
    while end < following and unicodedata.category(text[end])[0] in "LM":
        end += 1
    return end


Value = TypeVar("Value")


def in_parts(sentences: Iterable[Sequence[Value]], limit: int) -> Iterator[Sequence[Value]]:
    """Each sentence, cut into parts where it is longer than the limit.

    >>> list(in_parts([[1, 2, 3], [4]], 2))
    [[1, 2], [3], [4]]
    """
    for sentence in sentences:
        for start in range(0, max(1, len(sentence)), limit):
            yield sentence[start : start + limit]


def rejoined(parts: Iterable[Iterable[Value]], lengths: Iterable[int]) -> list[list[Value]]:
    """Undo `in_parts`: sentences of the given lengths from their parts in order.

    >>> rejoined([[1, 2], [3], [4]], [3, 1])
    [[1, 2, 3], [4]]
    """
    stream = chain.from_iterable(parts)
    return [list(islice(stream, length)) for length in lengths]


# fmt: off
ABBREVIATIONS = frozenset((
    "mr", "mrs", "ms", "dr", "prof", "st", "mt", "ft", "gen", "col", "capt", "lt", "sgt", "maj",
    "cmdr", "rev", "hon", "sen", "rep", "gov", "pres", "messrs", "mme", "mlle",
    "vs", "eg", "e.g", "ie", "i.e", "cf", "al", "no", "nos", "vol", "pp", "fig", "figs", "eq",
    "sec", "ch", "ed", "eds", "approx", "dept", "est",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "oct", "nov", "dec",
))
# fmt: on
"""In lower case and without the final full stop."""

_CLOSING = "\"'”’»)\\]}」』）】》〉"
_OPENING = "\"'“‘«(\\[{「『（【《〈"
_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
# Runs of marks are matched first and what follows is matched from there: one pattern for both
# would retry at every place of a long run.
_MARKS = re.compile("[.!?…。！？｡]+")
_CLOSED = re.compile(f"[{_CLOSING}]*")
_NEXT = re.compile(rf"\s+[{_OPENING}]*(\S)")
_IS_HAN = re.compile(f"[{_HAN}]")
_LINE = re.compile(r"[^\n\r\u0085\u2028\u2029]+")
_LAST_WORD = re.compile(r"[^\s\"'“‘«(\[{]{1,20}\Z")


def sentence_spans(text: str) -> list[Span]:
    """The span of each sentence of a text, without the white space around it.

    Every visible character belongs to one sentence, and sentences follow each other in order.

    >>> sentence_spans("No. 7 failed... it did! Why?")
    [(0, 23), (24, 28)]
    """
    found = []
    for line in _LINE.finditer(text):
        start = line.start()
        for end in (*_ends(line[0]), len(line[0])):
            span = _trimmed(text, start, line.start() + end)
            start = line.start() + end
            if span[0] < span[1]:
                found.append(span)
    return found


def split_sentences(text: str) -> list[str]:
    """The sentences of a text.

    >>> split_sentences("Dr. Wu said “Go!” He went at 3.5 km/h.")
    ['Dr. Wu said “Go!”', 'He went at 3.5 km/h.']
    >>> split_sentences("房间很大。服务“太好了！”下次还来!真的")
    ['房间很大。', '服务“太好了！”', '下次还来!', '真的']
    """
    return [text[start:end] for start, end in sentence_spans(text)]


def _ends(line: str) -> Iterator[int]:
    """Where sentences end within a line."""
    for run in _MARKS.finditer(line):
        closed = _CLOSED.match(line, run.end())
        end = run.end() if closed is None else closed.end()
        if any(mark in "。！？｡" for mark in run[0]) or _is_end(line, run, end):
            yield end
        elif line[run.end() - 1] in "!?" and _IS_HAN.match(line, run.end()):
            yield run.end()


def _is_end(line: str, run: re.Match[str], end: int) -> bool:
    """Whether a sentence begins after a run of marks and the closing quotes up to `end`."""
    following = _NEXT.match(line, end)
    if following is None or following[1].islower():
        return False
    if run[0] != ".":
        return True
    word = _LAST_WORD.search(line[max(0, run.start() - 40) : run.start()])
    if word is None:
        return True
    is_initial = len(word[0]) == 1 and word[0].isupper() and word[0] != "I"
    return not is_initial and word[0].lower() not in ABBREVIATIONS


def _trimmed(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end
