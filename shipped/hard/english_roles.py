"""English texts in which who does what, or which way it goes, is turned round or only reworded."""

import random
import re
from collections.abc import Iterator

from .edits import CLASH, SAME, Edit, Relation, read_lists

LISTS = read_lists("english.json")
ADJECTIVES = (
    "young|old|older|little|small|large|big|black|white|brown|blond|tall|elderly|asian|smiling"
)
WHO = (
    rf"(?:(?:an?|the|one|two|three|some|his|her|their) )(?:(?:{ADJECTIVES}) )?"
    rf"(?:{'|'.join(LISTS['animate'])})"
    r"(?: (?:in|wearing) (?:an? |the )?(?:\w+ )?(?!is\b|are\b)\w+)??"
)
DOES = re.compile(
    rf"^({WHO}) ((?:is|are) )?({'|'.join(LISTS['verbs'])}) ({WHO})"
    r"(?=(?: (?:in|on|at|near|through|across|outside|down|along|during|while|around|into|inside|up|"
    r"under|over|next to) [^,]*)?\.?$)",
    re.IGNORECASE,
)
DOING = re.compile(rf"({WHO}) (is|are) \w+ing\b", re.IGNORECASE)
PUT_IN_A_ROLE = 0.2
"""How often the one whom a text is about is put in another role."""
NAME = r"(?:[A-Z][\w']+(?: [A-Z][\w']+){0,2}|the [a-z]+|my [a-z]+)"
FROM_TO = re.compile(
    rf"\b([Ff]rom) ({NAME}) (to) ({NAME})(?=,(?! [A-Z])|[.?!]|$| on\b| at\b| for\b| by\b| and\b)"
)
TO_FROM = re.compile(
    rf"\b(to) ({NAME}) (from) ({NAME})(?=,(?! [A-Z])|[.?!]|$| on\b| at\b| for\b| by\b| and\b)"
)
PLURALS = {
    "men",
    "women",
    "boys",
    "girls",
    "children",
    "dogs",
    "people",
    "players",
    "soldiers",
    "adults",
    "students",
    "kids",
}
SINGLE = [who for who in LISTS["animate"] if who not in PLURALS and who not in {"person", "guy"}]
TO_A_CITY = re.compile(rf"\bto ({'|'.join(LISTS['cities'])})(?=[.?!]|$| on\b| at\b| by\b)")
NOT_NAMES = re.compile(
    r"^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|^(?:Jan|Feb|Mar|Apr|May|Jun|"
    r"Jul|Aug|Sep|Oct|Nov|Dec)|\b(?:morning|evening|afternoon|day|week|side|"
    r"ground|air|point|end)\b|^I$|^I'"
)
THAN = re.compile(
    r"^((?:the|a|an|my) \w+) (is|are|was|were) (\w+er|more \w+) than ((?:the|"
    r"a|an|my|his|her) \w+)(?=\.?$)",
    re.IGNORECASE,
)
PREFER = re.compile(r"\b(\w+) (instead of|rather than) (\w+)(?=[.,?!]|$)")
BETWEEN = re.compile(
    rf"\b([Bb]etween) ({NAME}|\d+) and ({NAME}|\d+)(?=,(?! [A-Z])|[.?!]|$| on\b| at\b| for\b)"
)
BOTH = re.compile(r"\b((?:an?|the|my|some) [a-z]+) and ((?:an?|the|my|some) [a-z]+)(?=[.,?!]|$)")
KIN = (
    r"brother|sister|friend|boss|father|mother|wife|husband|son|daughter|neighbor|"
    r"neighbour|teacher|uncle|aunt|cousin"
)
KIN_OF = re.compile(rf"\b(my|his|her|our|their) ({KIN})'s ({KIN})\b", re.IGNORECASE)


def is_for(who: str) -> str:
    """The verb that goes with someone."""
    several = re.match(r"two|three|some", who, re.IGNORECASE) or set(who.split()) & PLURALS
    return "are" if several else "is"


def capital(text: str) -> str:
    """With a capital letter."""
    return text[:1].upper() + text[1:]


def small(text: str) -> str:
    """With a small first letter."""
    return text[:1].lower() + text[1:]


def who_does_it(text: str, chance: random.Random) -> Iterator[Edit]:
    """The boy is pushing the girl → the girl is pushing the boy; = the girl is being pushed."""
    for found in DOES.finditer(text):
        one, verb, doing, other = found.groups()
        done, effect = LISTS["verbs"][doing.lower()]
        rest = text[found.end() :]
        if small(one) == small(other) or re.match(r"his|her|their", other, re.IGNORECASE):
            continue
        first, second = (f" {is_for(who)} " if verb else " " for who in (one, other))
        turned = f"{capital(other)}{second}{doing} {small(one)}{rest}"
        passive = f"{capital(other)}{second}being {done} by {small(one)}{rest}"
        wrong = f"{capital(one)}{first}being {done} by {small(other)}{rest}"
        yield Edit(text, turned, Relation(effect))
        yield Edit(text, wrong, Relation(effect))
        yield Edit(text, passive, SAME)


def put_in_a_role(text: str, chance: random.Random) -> Iterator[Edit]:
    """Whom a text is about, doing something to someone else: few texts have two."""
    found = DOING.match(text)
    if found and chance.random() < PUT_IN_A_ROLE:
        who, doing = f"the {chance.choice(SINGLE)}", chance.choice(sorted(LISTS["verbs"]))
        yield from who_does_it(f"{found.group(1)} {found.group(2)} {doing} {who}.", chance)


def route(text: str, chance: random.Random) -> Iterator[Edit]:
    """To Norwich, with a place to start from, there and back."""
    for found in TO_A_CITY.finditer(text):
        start = chance.choice([city for city in LISTS["cities"] if city not in text])
        longer = f"{text[: found.start()]}from {start} {found.group()}{text[found.end() :]}"
        if not re.search(r"\bfrom\b", text):
            yield from which_way(longer, chance)


def which_way(text: str, chance: random.Random) -> Iterator[Edit]:
    """From Leeds to Norwich → from Norwich to Leeds; = to Norwich from Leeds."""
    for pattern in (FROM_TO, TO_FROM):
        for found in pattern.finditer(text):
            first, one, second, other = found.groups()
            if one == other or NOT_NAMES.search(one) or NOT_NAMES.search(other):
                continue
            before, after = text[: found.start()], text[found.end() :]
            yield Edit(text, f"{before}{first} {other} {second} {one}{after}", CLASH)
            word = second.capitalize() if first[0].isupper() else second
            yield Edit(text, f"{before}{word} {other} {first.lower()} {one}{after}", SAME)


def compared(text: str, chance: random.Random) -> Iterator[Edit]:
    """The hotel is nearer than the inn → the inn is nearer than the hotel; = further than."""
    for found in THAN.finditer(text):
        one, verb, more, other = found.groups()
        if one.lower() != other.lower():
            rest = text[found.end() :]
            yield Edit(text, f"{capital(other)} {verb} {more} than {small(one)}{rest}", CLASH)
            yield Edit(
                text, f"Compared with {small(other)}, {small(one)} {verb} {more}{rest}", SAME
            )


def preferred(text: str, chance: random.Random) -> Iterator[Edit]:
    """Tea instead of coffee → coffee instead of tea; = tea rather than coffee."""
    for found in PREFER.finditer(text):
        one, joint, other = found.groups()
        if (
            one.islower()
            and other.islower()
            and one != other
            and other not in {"it", "that", "this", "them"}
        ):
            before, after = text[: found.start()], text[found.end() :]
            same = "rather than" if joint == "instead of" else "instead of"
            yield Edit(text, f"{before}{other} {joint} {one}{after}", CLASH)
            yield Edit(text, f"{before}{one} {same} {other}{after}", SAME)


def either_order(text: str, chance: random.Random) -> Iterator[Edit]:
    """Between Leeds and York = between York and Leeds; a dog and a cat = a cat and a dog."""
    for found in BETWEEN.finditer(text):
        word, one, other = found.groups()
        if not one.isdigit() and not other.isdigit() and one != other:
            yield Edit(
                text, f"{text[: found.start()]}{word} {other} and {one}{text[found.end() :]}", SAME
            )
    for found in BOTH.finditer(text):
        one, other = found.groups()
        if one.lower() != other.lower() and not re.search(
            r"\b(?:with|of|in|on|to) $", text[: found.start()]
        ):
            one, other = (small(one), capital(other)) if one[0].isupper() else (one, other)
            yield Edit(text, f"{text[: found.start()]}{other} and {one}{text[found.end() :]}", SAME)


def whose(text: str, chance: random.Random) -> Iterator[Edit]:
    """My friend's brother → my brother's friend; = the brother of my friend."""
    for found in KIN_OF.finditer(text):
        my, one, other = found.groups()
        if one.lower() != other.lower():
            before, after = text[: found.start()], text[found.end() :]
            start = capital if my[0].isupper() else str
            yield Edit(text, f"{before}{my} {other}'s {one}{after}", CLASH)
            yield Edit(text, f"{before}{start('the')} {other} of {small(my)} {one}{after}", SAME)


ROLES = (who_does_it, put_in_a_role, which_way, route, compared, preferred, either_order, whose)
