"""Whether lower lines keep to the form of a couplet: one measure for each rule.

See `softquery.text.couplets` for the rules.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from softquery.text import OPPOSITE, first_places, is_sign, last_word, tone_of

Lines = Sequence[str]


def same_length(upper: str, lower: str) -> bool:
    """Whether both lines have as many characters."""
    return len(upper) == len(lower)


def same_signs(upper: str, lower: str) -> bool:
    """Whether both have the same signs in the same places.

    >>> same_signs("春来，花开", "秋去，叶落"), same_signs("春来，花开", "秋去叶落，")
    (True, False)
    """
    places = [
        {(p, mark) for p, mark in enumerate(line) if is_sign(mark)} for line in (upper, lower)
    ]
    return places[0] == places[1]


def repeats_rightly(upper: str, lower: str) -> bool:
    """Whether the lower line takes no character of the upper one and repeats where it repeats.

    >>> repeats_rightly("山山水水", "明明秀秀"), repeats_rightly("山水", "山月")
    (True, False)
    """
    taken = {mark for mark in lower if not is_sign(mark)} & set(upper)
    return not taken and first_places(upper) == first_places(lower)


def opposite_ends(upper: str, lower: str) -> bool | None:
    """Whether the last characters have opposite tones; None where a tone is not known.

    >>> opposite_ends("明月", "清风"), opposite_ends("清风", "春光"), opposite_ends("a", "b")
    (True, False, None)
    """
    ends = [last_word(line) for line in (upper, lower)]
    if ends[0] is None or ends[1] is None:
        return None
    one, other = tone_of(upper[ends[0]]), tone_of(lower[ends[1]])
    return None if one is None or other is None else OPPOSITE[one] == other


@dataclass(frozen=True, kw_only=True, slots=True)
class CoupletReport:
    """Shares of lower lines that keep to each rule."""

    same_length: float
    same_signs: float
    repeats_rightly: float
    opposite_ends: float
    """Among those whose tones are known."""
    all_rules: float
    """All of the above, unknown tones not counted as faults."""
    n: int

    @classmethod
    def of(cls, uppers: Lines, lowers: Lines) -> "CoupletReport":
        """Measure line by line.

        >>> report = CoupletReport.of(["明月", "山水"], ["清风", "山光。"])
        >>> report.same_length, report.opposite_ends, report.all_rules
        (0.5, 1.0, 0.5)
        """
        if not uppers:
            raise ValueError("there are no couplets to measure")
        pairs = list(zip(uppers, lowers, strict=True))
        kept = np.array(
            [(same_length(*p), same_signs(*p), repeats_rightly(*p)) for p in pairs], dtype=np.bool_
        )
        ends = [opposite_ends(*pair) for pair in pairs]
        known = [each for each in ends if each is not None]
        whole = kept.all(axis=1) & np.array([each is not False for each in ends])
        return cls(
            same_length=float(kept[:, 0].mean()),
            same_signs=float(kept[:, 1].mean()),
            repeats_rightly=float(kept[:, 2].mean()),
            opposite_ends=float(np.mean(known)) if known else 1.0,
            all_rules=float(whole.mean()),
            n=len(pairs),
        )

    def to_dict(self) -> dict[str, float | int]:
        """Plain values."""
        return asdict(self)


def rivals(lines: Lines, *, count: int = 9, seed: int = 0) -> list[list[int]]:
    """For each line so many others of its length and signs, drawn by a seed, to rank it among.

    Lines that are spelt alike are one rival. A line with fewer than `count` rivals gets none.

    >>> rivals(["春来", "秋去", "一"], count=1)
    [[1], [0], []]
    """
    rng = np.random.default_rng(seed)
    shapes: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    first: dict[str, int] = {}
    for place, line in enumerate(lines):
        if first.setdefault(line, place) == place:
            shapes.setdefault(_shape(line), []).append(place)
    found = []
    for line in lines:
        others = [place for place in shapes[_shape(line)] if lines[place] != line]
        drawn = rng.permutation(len(others))[:count]
        found.append([others[each] for each in drawn] if len(others) >= count else [])
    return found


def _shape(line: str) -> tuple[int, tuple[int, ...]]:
    return len(line), tuple(place for place, _ in _signs(line))


def _signs(line: str) -> list[tuple[int, str]]:
    return [(place, mark) for place, mark in enumerate(line) if is_sign(mark)]
