"""English numbers, money and times of day: another amount, or the same one written otherwise."""

import random
import re
from collections.abc import Iterator

from .edits import BROADER, CLASH, SAME, Edit, edit, read_lists, swap

LISTS = read_lists("english.json")
ONES, TENS, ORDINALS = (LISTS[name] for name in ("ones", "tens", "ordinals"))
UNITS = r"am|pm|a\.m|p\.m|o'clock|st|nd|rd|th|january|february|march|april|may|june|july|august"
UNITS += r"|september|october|november|december|bc|ad"
DIGITS = re.compile(
    rf"(?<![\w.,:/$€£#'()+*=-])(\d{{1,4}})(?![\w:/%'()+*=-]|[.,]\d)(?!\s*(?:{UNITS})\b)",
    re.IGNORECASE,
)
MONTH_BEFORE = re.compile(
    r"(?:uary|rch|ril|may|june|july|ust|ember|ober|at|by|until|in|since)\s$", re.IGNORECASE
)
MONEY = re.compile(r"(?<![\w$])\$(\d{1,5})(?![\w,]|\.\d)")
CLOCK = re.compile(r"\b(1[0-2]|[1-9])(?::([0-5]\d))? ?([ap])(?:m\b|\.m\.)", re.IGNORECASE)
OF_DAY = re.compile(
    r"(?<![\w:.])([01]?\d|2[0-3]):([0-5]\d)(?![\w:]|\.\d| ?[ap]\.?m)", re.IGNORECASE
)
ORDINAL = re.compile(rf"(?<=\bthe )({'|'.join(ORDINALS[2:])})(?= [a-z])", re.IGNORECASE)
SOME = re.compile(
    r"^(two|three|four|five|six|seven|eight|nine|ten)(?= (?:\w+ )?\w+s\b| \w*men |"
    r" people| children)",
    re.IGNORECASE,
)
UNLIKE_PROBES = [11, 13, 14, 16, 17, 18, 19, 21, 22, 24, 25, 35, 40, 45, 60, 70, 80, 90]


def spell(number: int) -> str:
    """A number below a hundred in words.

    >>> spell(42)
    'forty-two'
    """
    if number < len(ONES):
        return ONES[number]
    ten, one = divmod(number, 10)
    return TENS[ten - 2] + (f"-{ONES[one]}" if one else "")


VALUES = {spell(number): number for number in range(2, 100)}
WORDS = "|".join(sorted(VALUES, key=len, reverse=True))
SPELT = re.compile(rf"(?<![\w'-])({WORDS})(?![\w'-])(?!\s*(?:{UNITS})\b)", re.IGNORECASE)


def another(number: int, chance: random.Random) -> int:
    """A different number of about the same size, never one."""
    if number <= 12:
        return chance.choice([other for other in range(2, 15) if other != number])
    steps = [1, 2, 5, 10, number // 2, number // 4 + 1]
    signed = [
        step * sign for step in steps for sign in (1, -1) if step and number + step * sign > 1
    ]
    return number + chance.choice(signed)


def amounts(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """The counts of a text, in digits or words, but no year, date, time or number of a thing."""
    for found in DIGITS.finditer(text):
        if 1 < int(found.group()) < 1900 and not MONTH_BEFORE.search(text[: found.start()]):
            yield found, int(found.group())
    for found in SPELT.finditer(text):
        if text[found.end() :].split(" ")[0:1] != ["of"]:
            yield found, VALUES[found.group().lower()]


def written(number: int, like: str, chance: random.Random) -> str:
    """A number in the form of another one, at times in the other form."""
    words = not like.isdigit() if chance.random() < 0.8 else like.isdigit()
    return spell(number) if words and number < 100 else str(number)


def changed_amount(text: str, chance: random.Random) -> Iterator[Edit]:
    """For two people → for five people."""
    for found, number in amounts(text):
        new = another(number, chance)
        yield edit(text, found, written(new, found.group(), chance), CLASH)


def respelt_amount(text: str, chance: random.Random) -> Iterator[Edit]:
    """17 people = seventeen people; the text's own number or one that the probes do not use."""
    for found, number in amounts(text):
        for value in sorted({number, chance.choice(UNLIKE_PROBES)}):
            if value < 100:
                both = swap(text, found, str(value)), swap(text, found, spell(value))
                ways = both if chance.random() < 0.5 else both[::-1]
                yield Edit(*ways, SAME, (str(value), spell(value)))


def some_of_them(text: str, chance: random.Random) -> Iterator[Edit]:
    """Three dogs run → Some dogs run."""
    for found in SOME.finditer(text):
        yield edit(
            text,
            found,
            chance.choice(["some", "several"] if "w" not in found.group() else ["some"]),
            BROADER,
        )


def changed_ordinal(text: str, chance: random.Random) -> Iterator[Edit]:
    """The third floor → the fifth floor."""
    for found in ORDINAL.finditer(text):
        others = [word for word in ORDINALS if word != found.group().lower()]
        yield edit(text, found, chance.choice(others), CLASH)


def money(text: str, chance: random.Random) -> Iterator[Edit]:
    """$40 → $55, and $40 = 40 dollars."""
    for found in MONEY.finditer(text):
        amount = int(found.group(1))
        if amount > 1:
            yield edit(text, found, f"${another(amount, chance)}", CLASH)
            yield edit(text, found, f"{amount} dollars", SAME)


def times(text: str, chance: random.Random) -> Iterator[Edit]:
    """5 pm → 7 pm or 5 am, and 5 pm = 17:00."""
    for found in CLOCK.finditer(text):
        hour, minutes, half = int(found.group(1)), found.group(2), found.group(3).lower()
        tail = f":{minutes}" if minutes else ""
        other = chance.choice([each for each in range(1, 12) if each != hour])
        flipped = "am" if half == "p" else "pm"
        yield edit(text, found, f"{other}{tail} {half}m", CLASH)
        yield edit(text, found, f"{hour}{tail} {flipped}", CLASH)
        whole = hour % 12 + (12 if half == "p" else 0)
        yield edit(text, found, f"{whole}:{minutes or '00'}", SAME)
    for found in OF_DAY.finditer(text):
        hour, minutes = int(found.group(1)), found.group(2)
        other = chance.choice(
            [each for each in range(6, 23) if each not in {hour, hour + 12, hour - 12}]
        )
        yield edit(text, found, f"{other:02}:{minutes}", CLASH)
        if hour >= 13:
            yield edit(text, found, f"{hour - 12}:{minutes} pm", SAME)


NUMBERS = (changed_amount, respelt_amount, some_of_them, changed_ordinal, money, times)
