"""English dates: another month, day or year, or the same one written otherwise."""

import random
import re
from collections.abc import Iterator

from .edits import CLASH, SAME, Edit, any_of, edit, read_lists

LISTS = read_lists("english.json")
MONTHS, DAYS = LISTS["months"], LISTS["days"]
MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
WEEKDAY = any_of(DAYS)
DAY_OF_MONTH = re.compile(
    rf"\b({'|'.join(MONTHS)}) (\d{{1,2}})(st|nd|rd|th)?\b(?![:.]\d| ?[ap]m)", re.IGNORECASE
)
DAY_FIRST = re.compile(
    rf"\b(?:the )?(\d{{1,2}})(st|nd|rd|th)? (?:of )?({'|'.join(MONTHS)})\b", re.IGNORECASE
)
YEAR = re.compile(r"(?<=\b(?:in|of|by) )((?:1[5-9]|20)\d\d)(?![\w-])")
RELATIVE = {
    "today": ["tomorrow", "yesterday"], "tomorrow": ["the day after tomorrow", "next week"],
    "yesterday": ["today", "last week"], "tonight": ["tomorrow night"],
    "next week": ["next month", "this week"], "last week": ["last month", "this week"],
    "next month": ["next week", "this month"], "this week": ["next week", "last week"],
    "last year": ["this year"], "next year": ["this year"], "this weekend": ["next weekend"],
}  # fmt: skip
RELATED = any_of(RELATIVE)
SHORT = {day.lower(): [day[:3]] for day in DAYS}


def ordinal(day: int) -> str:
    """A day with its ending.

    >>> [ordinal(day) for day in (1, 2, 3, 11, 23)]
    ['1st', '2nd', '3rd', '11th', '23rd']
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th") if day // 10 != 1 else "th"
    return f"{day}{ending}"


def changed_month(text: str, chance: random.Random) -> Iterator[Edit]:
    """In March → in October; where May and March are surely months."""
    for found in MONTH.finditer(text):
        sure = found.group() not in {"May", "March"} or re.search(
            r"\b(?:in|of|on|for|until|since|by|\d(?:st|nd|rd|th)?) $", text[: found.start()]
        )
        if sure or re.match(r" \d", text[found.end() :]):
            others = [month for month in MONTHS if month != found.group()]
            yield edit(text, found, chance.choice(others), CLASH)


def changed_weekday(text: str, chance: random.Random) -> Iterator[Edit]:
    """On Friday → on Tuesday, any of the others."""
    for found in WEEKDAY.finditer(text):
        for day in DAYS:
            if day.lower() != found.group().lower():
                yield edit(text, found, day if found.group()[0].isupper() else day.lower(), CLASH)


def changed_day(text: str, chance: random.Random) -> Iterator[Edit]:
    """March 13th → March 22nd."""
    for pattern, group in ((DAY_OF_MONTH, 2), (DAY_FIRST, 1)):
        for found in pattern.finditer(text):
            other = chance.choice([day for day in range(1, 29) if str(day) != found.group(group)])
            ending = found.group(group + 1)
            start = found.start(group)
            end = found.end(group + 1) if ending else found.end(group)
            new = ordinal(other) if ending else str(other)
            yield Edit(text, text[:start] + new + text[end:], CLASH, (text[start:end], new))


def reordered_date(text: str, chance: random.Random) -> Iterator[Edit]:
    """March 13th = the 13th of March = March 13."""
    for found in DAY_OF_MONTH.finditer(text):
        month, day = found.group(1).capitalize(), int(found.group(2))
        if 1 <= day <= 31:
            plain = f"{month} {day if found.group(3) else ordinal(day)}"
            yield dated(text, found, chance.choice([f"the {ordinal(day)} of {month}", plain]))
    for found in DAY_FIRST.finditer(text):
        if 1 <= int(found.group(1)) <= 31:
            day = ordinal(int(found.group(1)))
            yield dated(text, found, f"{found.group(3).capitalize()} {day}")


def dated(text: str, found: re.Match[str], new: str) -> Edit:
    """The text with the same date written otherwise."""
    return Edit(text, text[: found.start()] + new + text[found.end() :], SAME, (found.group(), new))


def changed_year(text: str, chance: random.Random) -> Iterator[Edit]:
    """In 1987 → in 1994."""
    for found in YEAR.finditer(text):
        step = chance.choice([-30, -20, -11, -9, -7, -4, -3, -2, -1, 1, 2, 3, 4, 6, 7, 9, 10])
        yield edit(text, found, str(int(found.group()) + step), CLASH)


def changed_relative_day(text: str, chance: random.Random) -> Iterator[Edit]:
    """Today → tomorrow."""
    for found in RELATED.finditer(text):
        yield edit(text, found, chance.choice(RELATIVE[found.group().lower()]), CLASH)


def shortened_weekday(text: str, chance: random.Random) -> Iterator[Edit]:
    """On Friday = on Fri."""
    for found in WEEKDAY.finditer(text):
        yield edit(text, found, SHORT[found.group().lower()][0], SAME)


DATES = (
    changed_month, changed_weekday, changed_day, reordered_date, changed_year,
    changed_relative_day, shortened_weekday,
)  # fmt: skip
