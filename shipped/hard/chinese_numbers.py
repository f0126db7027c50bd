"""Chinese numbers, times and dates: another amount or day, or the same one written otherwise."""

import random
import re
from collections.abc import Iterator

from .edits import CLASH, SAME, Edit, edit, read_lists, swap

LISTS = read_lists("chinese.json")
MEASURE = "|".join([*LISTS["long_measures"], f"[{LISTS['measures']}]"])
NUMERALS = "零一二三四五六七八九"
DIGITS = re.compile(rf"(?<![\d.:：\-~到至第/A-Za-z])(\d{{1,4}})(?=\s?(?:{MEASURE}))")
SPELT = re.compile(
    rf"(?<![一二三四五六七八九十百千万亿第两几星期周零点])(两|[三四五六七八九]|"
    rf"[二三四五六七八九]?十[一二三四五六七八九]?)(?!分[一-龥])(?=(?:{MEASURE})(?!点))"
)
CLOCK = re.compile(r"(?<![\d:：])([01]?\d|2[0-3])[:：]([0-5]\d)(?![\d:：])")
WEEKDAY = re.compile(r"(星期|周|礼拜)([一二三四五六日天])(?!些|个|点|起|定|边)")
DATE = re.compile(r"(?<!\d)(1[0-2]|[1-9])月(\d{1,2})([日号])")
YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)(?=年)")
RELATIVE = {
    "今天": "明天",
    "明天": "后天",
    "昨天": "前天",
    "后天": "明天",
    "今年": "去年",
    "明年": "今年",
    "这周": "下周",
    "下周": "这周",
    "今晚": "明晚",
    "本月": "下个月",
}
RELATED = re.compile("|".join(RELATIVE))


def spell(number: int) -> str:
    """A number below a hundred in Chinese, as it stands before a measure word.

    >>> [spell(number) for number in (2, 10, 14, 60, 75)]
    ['两', '十', '十四', '六十', '七十五']
    """
    if number == 2:
        return "两"
    ten, one = divmod(number, 10)
    tens = "" if not ten else "十" if ten == 1 else NUMERALS[ten] + "十"
    return tens + (NUMERALS[one] if one else "")


VALUES = {spell(number): number for number in range(2, 100)}
UNLIKE_PROBES = [11, 13, 14, 16, 17, 18, 19, 21, 24, 25, 35, 40, 45, 60, 70, 80, 90]


def another(number: int, chance: random.Random) -> int:
    """A different number of about the same size."""
    if number <= 12:
        return chance.choice([other for other in range(2, 15) if other != number])
    steps = [1, 2, 5, 10, number // 2, number // 4 + 1]
    return number + chance.choice([step * sign for step in steps for sign in (1, -1) if step])


def amounts(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """The counts of a text, in digits or characters."""
    for found in DIGITS.finditer(text):
        if 1 < int(found.group()) < 1900:
            yield found, int(found.group())
    for found in SPELT.finditer(text):
        if found.group() in VALUES:
            yield found, VALUES[found.group()]


def changed_amount(text: str, chance: random.Random) -> Iterator[Edit]:
    """两个人 → 五个人."""
    for found, number in amounts(text):
        new = another(number, chance)
        in_digits = found.group().isdigit() or new > 99
        yield edit(text, found, str(new) if in_digits else spell(new), CLASH)


def respelt_amount(text: str, chance: random.Random) -> Iterator[Edit]:
    """17个人 = 十七个人; the text's own number or one that the probes do not use."""
    for found, number in amounts(text):
        for value in sorted({number, chance.choice(UNLIKE_PROBES)}):
            if value < 100:
                both = swap(text, found, str(value)), swap(text, found, spell(value))
                ways = both if chance.random() < 0.5 else both[::-1]
                yield Edit(*ways, SAME, (str(value), spell(value)))


def times(text: str, chance: random.Random) -> Iterator[Edit]:
    """12:30 → 15:30; = 12点30分."""
    for found in CLOCK.finditer(text):
        hour, minutes = int(found.group(1)), found.group(2)
        other = chance.choice([each for each in range(6, 23) if abs(each - hour) not in {0, 12}])
        yield edit(text, found, f"{other}:{minutes}", CLASH)
        same = f"{hour}点" if minutes == "00" else f"{hour}点{int(minutes)}分"
        yield edit(text, found, "12点半" if (hour, minutes) == (12, "30") else same, SAME)
        if hour > 12:
            part = "下午" if hour < 18 else "晚上"
            yield edit(text, found, f"{part}{hour - 12}:{minutes}", SAME)


def weekdays(text: str, chance: random.Random) -> Iterator[Edit]:
    """星期五 → 星期二; = 周五."""
    for found in WEEKDAY.finditer(text):
        start, day = found.groups()
        others = [each for each in "一二三四五六" if each != day]
        yield edit(text, found, start + chance.choice(others), CLASH)
        if day != "天":
            yield edit(text, found, {"星期": "周", "周": "星期", "礼拜": "星期"}[start] + day, SAME)


def dates(text: str, chance: random.Random) -> Iterator[Edit]:
    """3月5日 → 8月5日 or 3月17日; = 三月五日."""
    for found in DATE.finditer(text):
        month, day, end = found.groups()
        new_month = chance.choice([each for each in range(1, 13) if str(each) != month])
        new_day = chance.choice([each for each in range(1, 29) if str(each) != day])
        yield edit(text, found, f"{new_month}月{day}{end}", CLASH)
        yield edit(text, found, f"{month}月{new_day}{end}", CLASH)
        if int(day) in range(1, 32):
            told = [spell(int(part)).replace("两", "二") for part in (month, day)]
            yield edit(text, found, f"{told[0]}月{told[1]}{end}", SAME)


def years(text: str, chance: random.Random) -> Iterator[Edit]:
    """1970年 → 1983年; = 一九七〇年."""
    for found in YEAR.finditer(text):
        step = chance.choice([-13, -11, -7, -4, -3, -2, -1, 1, 2, 3, 4, 6, 7, 9])
        yield edit(text, found, str(int(found.group()) + step), CLASH)
        told = "".join("〇一二三四五六七八九"[int(digit)] for digit in found.group())
        yield edit(text, found, told, SAME)


def relative_days(text: str, chance: random.Random) -> Iterator[Edit]:
    """今天 → 明天."""
    for found in RELATED.finditer(text):
        yield edit(text, found, RELATIVE[found.group()], CLASH)


NUMBERS = (changed_amount, respelt_amount, times)
DATES = (weekdays, dates, years, relative_days)
