"""Where the sentences of a text end, by a few rules for English and Chinese.

1. A line end always ends a sentence.
2. A run of `。 ！ ？ ｡` ends one, with the quotes and brackets that close behind it. So does a
   run of `! ?` that has a Chinese or Japanese character right behind it.
3. A run of `. ! ? …`, again with what closes behind it, ends one where white space follows and the
   next word does not begin with a small letter.
4. But a single full stop does not where it stands behind an abbreviation that mostly precedes
   something (`Mr.`, `e.g.`, `No.`), or behind one capital letter that is a word, as in `J. Smith`.

Rules 3 and 4 leave decimal numbers and addresses whole. What no rule can know, such as whether
`the U.S.` ends a sentence, is taken for an end where a capital letter follows.
"""

import re
from collections.abc import Iterator

from softquery.text.spans import Span

# fmt: off
ABBREVIATIONS = frozenset((
    "mr", "mrs", "ms", "dr", "prof", "st", "mt", "ft", "gen", "col", "capt", "lt", "sgt", "maj",
    "cmdr", "rev", "hon", "sen", "rep", "gov", "pres", "messrs", "mme", "mlle",
    "vs", "eg", "e.g", "ie", "i.e", "cf", "al", "no", "nos", "vol", "pp", "fig", "figs", "eq",
    "sec", "ch", "ed", "eds", "approx", "dept", "est",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "oct", "nov", "dec",
))
# fmt: on
"""In small letters and without their last full stop."""

_CLOSING = "\"'”’»)\\]}」』）】》〉"
_OPENING = "\"'“‘«(\\[{「『（【《〈"
_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
# Runs are matched one by one and what follows is looked at from there: a pattern for all of it
# would try every place of a long run anew.
_MARKS = re.compile("[.!?…。！？｡]+")
_CLOSED = re.compile(f"[{_CLOSING}]*")
_NEXT = re.compile(rf"\s+[{_OPENING}]*(\S)")
_IS_HAN = re.compile(f"[{_HAN}]")
_LINE = re.compile(r"[^\n\r\u0085\u2028\u2029]+")
_LAST_WORD = re.compile(r"[^\s\"'“‘«(\[{]{1,20}\Z")


def sentence_spans(text: str) -> list[Span]:
    """Where each sentence of a text stands in it, without the white space around it.

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
    """Whether a run of marks, and what closes behind it up to `end`, is followed by a beginning."""
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
