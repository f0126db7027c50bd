"""Tags as spans and back: IOB1, IOB2, BIOES (also called BILOU) and BMES.

A tag is a letter, mostly followed by a label: `B-PER`. The letter says where in a span a token is;
`O` is outside any span.

| scheme | one token | two tokens | right after a span of the same label |
|---|---|---|---|
| iob1 | I | I I | B … |
| iob2 | B | B I | B … |
| bioes | S | B E | S, or B … |
| bmes | S | B E, with M where bioes has I | S, or B … |
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

Scheme = Literal["plain", "iob1", "iob2", "bioes", "bmes"]
"""How tags are written; `"plain"` tags, such as parts of speech, stand for no spans."""
SCHEMES: tuple[str, ...] = get_args(Scheme)
OUTSIDE = "O"
_ALIKE = {"M": "I", "L": "E", "U": "S"}
"""Letters of BMES and BILOU in terms of BIOES."""
_LETTERS = frozenset("BIESMLU")


class Span(NamedTuple):
    """A labelled span: the tokens from `start` up to, but excluding, `end`."""

    label: str
    start: int
    end: int


class Legal(NamedTuple):
    """Which tag may follow which, which may come first, and which last."""

    between: NDArray[np.bool_]
    start: NDArray[np.bool_]
    end: NDArray[np.bool_]


class Misfit(NamedTuple):
    """A tag that its scheme does not allow at this place."""

    place: int
    message: str


def spans_of(tags: Sequence[str]) -> list[Span]:
    """The spans that tags of any scheme stand for, as the script of the CoNLL tasks finds them.

    It is lenient: a span also begins at an inner tag that follows `O` or another label.

    >>> spans_of(["B-PER", "I-PER", "O", "I-LOC"])
    [Span(label='PER', start=0, end=2), Span(label='LOC', start=3, end=4)]
    """
    found: list[Span] = []
    before, label_before, start = OUTSIDE, "", 0
    for place, tag in enumerate([*tags, OUTSIDE]):
        letter, label = _parts(tag)
        is_new = label != label_before
        if before != OUTSIDE and (before in "ES" or letter in "BSO" or is_new):
            found.append(Span(label_before, start, place))
        if letter != OUTSIDE and (letter in "BS" or before in "ESO" or is_new):
            start = place
        before, label_before = letter, label
    return found


def tags_of(spans: Iterable[Span], length: int, scheme: Scheme) -> list[str]:
    """Spans, which must not overlap, as tags of a scheme.

    >>> tags_of([Span("PER", 0, 2), Span("LOC", 3, 4)], 5, "bioes")
    ['B-PER', 'E-PER', 'O', 'S-LOC', 'O']
    """
    tags, last = [OUTSIDE] * length, Span("", -1, -1)
    for span in spans:
        follows = (last.label, last.end) == (span.label, span.start)
        letters = _letters(span.end - span.start, scheme, follows=follows)
        tags[span.start : span.end] = [_joined(letter, span.label) for letter in letters]
        last = span
    return tags


def detect_scheme(sentences: Iterable[Sequence[str]]) -> Scheme:
    """The scheme that tags seem to be written in.

    >>> detect_scheme([["I-PER", "I-PER", "O"]]), detect_scheme([["DET", "NOUN"]])
    ('iob1', 'plain')
    """
    kept = [list(tags) for tags in sentences]
    known = {tag for tags in kept for tag in tags}
    if not all(tag == OUTSIDE or _is_spanning(tag) for tag in known) or known <= {OUTSIDE}:
        return "plain"
    letters = {tag[0] for tag in known}
    if "M" in letters:
        return "bmes"
    if letters & set("ESLU"):
        return "bioes"
    # Files of either scheme have mistakes; the scheme with fewer of them is meant.
    choices: tuple[Scheme, ...] = ("iob2", "iob1")
    slips = {scheme: sum(misfit(tags, scheme) is not None for tags in kept) for scheme in choices}
    return "iob2" if slips["iob2"] <= slips["iob1"] else "iob1"


def misfit(tags: Sequence[str], scheme: Scheme) -> Misfit | None:
    """The first tag that its scheme would write differently; None where there is none.

    >>> misfit(["B-PER", "O"], "bioes")
    Misfit(place=0, message="'B-PER' stands where bioes has 'S-PER'")
    """
    if scheme == "plain":
        return None
    for place, tag in enumerate(tags):
        if tag != OUTSIDE and not _is_spanning(tag):
            return Misfit(place, f"{tag[:40]!r} is not a tag of {scheme}")
    wanted = tags_of(spans_of(tags), len(tags), scheme)
    for place, (found, right) in enumerate(zip(tags, wanted, strict=True)):
        if found != right and not _is_same_in_bilou(found, right):
            return Misfit(place, f"{found[:40]!r} stands where {scheme} has {right[:40]!r}")
    return None


def converted(tags: Sequence[str], scheme: Scheme) -> list[str]:
    """Tags of any span scheme, converted to another.

    >>> converted(["I-PER", "I-PER", "B-PER"], "bioes")
    ['B-PER', 'E-PER', 'S-PER']
    """
    return list(tags) if scheme == "plain" else tags_of(spans_of(tags), len(tags), scheme)


def all_tags(labels: Iterable[str], scheme: Scheme) -> tuple[str, ...]:
    """Every tag that a scheme has for these labels, `O` first.

    >>> all_tags(["LOC", "PER"], "iob2")
    ('O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER')
    """
    letters = {"iob1": "BI", "iob2": "BI", "bioes": "BIES", "bmes": "BMES"}[scheme]
    return (OUTSIDE, *(_joined(letter, label) for label in labels for letter in letters))


def legal_tags(tags: Sequence[str], scheme: Scheme) -> Legal:
    """Which sequences of tags a scheme allows.

    >>> legal_tags(("O", "B-X", "I-X"), "iob2").between[0].tolist()  # after O
    [True, True, False]
    """
    ends = [(OUTSIDE, ""), *map(_parts, tags)]
    table = np.array(
        [[_may_follow(one, other, scheme) for other in ends] for one in ends], dtype=np.bool_
    )
    return Legal(table[1:, 1:], table[0, 1:], table[1:, 0])


def label_of(tag: str) -> str:
    """The label of a tag; empty for `O`."""
    return _parts(tag)[1]


def _may_follow(before: tuple[str, str], after: tuple[str, str], scheme: Scheme) -> bool:
    if scheme == "plain":
        return True
    same = before[1] == after[1]
    is_open = before[0] in ("BI" if scheme in ("bioes", "bmes") else "")
    if scheme in ("bioes", "bmes"):
        return (after[0] in "IE" and same) if is_open else after[0] in "OBS"
    if scheme == "iob2":
        return after[0] != "I" or (before[0] in "BI" and same)
    return after[0] != "B" or (before[0] in "BI" and same)


def _letters(length: int, scheme: Scheme, *, follows: bool) -> str:
    if scheme == "iob1":
        return ("B" if follows else "I") + "I" * (length - 1)
    if scheme == "iob2":
        return "B" + "I" * (length - 1)
    inner = "I" if scheme == "bioes" else "M"
    return "S" if length == 1 else f"B{inner * (length - 2)}E"


def _is_spanning(tag: str) -> bool:
    return tag[:1] in _LETTERS and (len(tag) == 1 or tag[1] == "-")


def _is_same_in_bilou(found: str, right: str) -> bool:
    return found[0] in "LU" and _ALIKE[found[0]] + found[1:] == right


def _parts(tag: str) -> tuple[str, str]:
    """Letter and label of a tag, the letter in terms of BIOES."""
    letter, _, label = tag.partition("-")
    return _ALIKE.get(letter, letter), label


def _joined(letter: str, label: str) -> str:
    return f"{letter}-{label}" if label else letter
