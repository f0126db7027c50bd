"""English words for others: names, opposites and synonyms, broader nouns, details of a scene."""

import random
import re
from collections.abc import Iterator

from .edits import (
    BROADER,
    CLASH,
    NARROWER,
    OTHER,
    SAME,
    Edit,
    any_of,
    both_ways,
    edit,
    read_lists,
    read_rows,
    replace_listed,
)

LISTS = read_lists("english.json")
MASS = {"clothing", "furniture", "food", "bread", "meat", "metal", "fabric"}
PLACES = ("cities", "countries", "states", "nationalities", "companies")
NAMES = {name: re.compile(any_of(LISTS[name]).pattern) for name in (*PLACES, "persons")}
IN_A_NAME = re.compile(r"(?:\b[A-Z][\w.'&]*|\d) $")
BEFORE_A_NAME = re.compile(r"[ -](?:[A-Z](?!\w*(?:day|ember|ober|uary)\b)\w+|\d)")
INTRODUCED = re.compile(r"\b(?:name is|I am|I'm|named|called|name's) $", re.IGNORECASE)
HOLD_DOWNWARD = re.compile(
    r"\b(?:no|not|never|without|all|every|each|few|if|only|nobody|none|any|\w+n't|like)\b",
    re.IGNORECASE,
)
NOT_A_MODIFIER = {
    "kind",
    "like",
    "well",
    "present",
    "past",
    "back",
    "east",
    "west",
    "north",
    "south",
}


def forms(verb: str) -> list[str]:
    """A verb as he, yesterday and now have it.

    >>> forms("deny")
    ['deny', 'denies', 'denied', 'denying']
    """
    stem = verb + verb[-1] if verb in LISTS["doubled"] else verb
    if verb.endswith("e"):
        stem = verb[:-1]
    third = verb[:-1] + "ies" if re.search(r"[^aeiou]y$", verb) else verb + "s"
    if re.search(r"(?:s|sh|ch|x|o)$", verb):
        third = verb + "es"
    past = verb[:-1] + "ied" if re.search(r"[^aeiou]y$", verb) else stem + "ed"
    return [verb, third, LISTS["irregular"].get(verb, past), stem + "ing"]


def plural(noun: str) -> str:
    """A noun of several things, where it is regular."""
    irregular = {
        "man": "men",
        "woman": "women",
        "person": "people",
        "child": "children",
        "wife": "wives",
        "fish": "fish",
        "aircraft": "aircraft",
        "calf": "calves",
        "wolf": "wolves",
        "mouse": "mice",
        "goose": "geese",
        "thief": "thieves",
    }
    if noun in irregular or re.search(r"(?:man|wife)$", noun):
        return irregular.get(noun) or noun[: -len("man")] + "men"
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if re.search(r"(?:s|sh|ch|x)$", noun) else "s")


def kind_named(noun: str, *, several: bool) -> str:
    """A broader noun as it stands after an article or a number: clothing comes in pieces."""
    if noun in MASS:
        return f"piece{'s' if several else ''} of {noun}"
    return plural(noun) if several else noun


def inflected(rows: list[list[str]]) -> list[list[str]]:
    """Pairs of words, verbs and nouns in all their forms."""
    pairs = []
    for one, other, part in rows:
        pairs.append([one, other])
        if part == "verb":
            pairs += [list(pair) for pair in zip(forms(one)[1:], forms(other)[1:], strict=True)]
        elif part == "noun":
            pairs.append([plural(one), plural(other)])
    return pairs


OPPOSITES = both_ways(LISTS["opposites"] + inflected(read_rows("antonyms_en.tsv")))
SYNONYMS = both_ways(LISTS["synonyms"] + inflected(read_rows("synonyms_en.tsv")))
KINDS = {
    named: kind_named(broad, several=several)
    for noun, broad, _ in read_rows("hypernyms_en.tsv")
    for named, several in ((noun, False), (plural(noun), True))
}
OPPOSITE, SYNONYM, KIND = any_of(OPPOSITES), any_of(SYNONYMS), any_of(KINDS)
ALIASES = {one: other for one, other in LISTS["aliases"]}
ALIAS = re.compile(any_of(ALIASES).pattern)
COLOUR = any_of(LISTS["changed_colours"])
COLOURED = re.compile(r" (?!(?:and|or|wo|fe)?(?:m[ae]n|people|guy|boy|girl|person|lady)?\b)[a-z]+")
"""A thing, not a person, whose colour would be something else."""
DETAIL = re.compile(rf"(?<=\b[Aa] )({'|'.join(LISTS['colours'])}) (?=[a-z]+)")
PLACE = re.compile(
    r"(?<=\w) (?:in|on|at|near|during|behind|next to|outside) (?:a|an|the) (?:\w+ )?\w+(?=\.?$)"
)
YES_NO = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|will|has|have|am|any)\b", re.IGNORECASE
)
FILLERS = re.compile(
    r"\b(?:good (?:morning|evening|afternoon|day|night|to know|bye|luck)|over (?:there|"
    r"the|here|\d+)|"
    r"all over|how (?:long|old|far|large|high|deep|fast|often|many)|as long as|so long|no longer|"
    r"(?:looks?|sounds?|would|i'd|feels?) like|like (?:this|that|to|a|an|the)|\w+ years? old|"
    r"(?:i'm|that's|it's|is|sounds|looks|be|are|all) (?:good|perfect|nice|great|"
    r"fast)|a few|so many|"
    r"(?:deal|play\w*|help\w*|start\w*|begin\w*|along|go\w*|interact\w*|talk\w*|"
    r"work\w*|do|wrong|up) with|"
    r"with (?:that|this|it|me|you|his|her|their|my|each|one|him|them|the|your|[A-Z0-9]\w*)|"
    r"in front|front of|this (?:morning|evening)|as \w+ as|with \w+|(?:in|of|the) (?:front|past)|"
    r"(?:can|could|may|do) (?:you|i|we) (?:help|open)|(?:running|moving) (?:for|"
    r"out|into|to|away))\b",
    re.IGNORECASE,
)
"""Phrases in which a word has no opposite."""
SETTINGS = read_lists("english.json")["settings"]


def changed_name(text: str, chance: random.Random) -> Iterator[Edit]:
    """In Denver → in Oslo; another person's name leaves open what the first one does."""
    for kind, pattern in NAMES.items():
        for found in pattern.finditer(text):
            inside = kind == "persons" and (
                IN_A_NAME.search(text[: found.start()]) or BEFORE_A_NAME.match(text[found.end() :])
            )
            if not inside:
                others = [name for name in LISTS[kind] if name != found.group()]
                told = kind != "persons" or INTRODUCED.search(text[: found.start()])
                relation = CLASH if told else OTHER
                yield edit(text, found, chance.choice(others), relation)


def alias(text: str, chance: random.Random) -> Iterator[Edit]:
    """San Francisco = SF."""
    for found in ALIAS.finditer(text):
        if not BEFORE_A_NAME.match(text[found.end() :]):
            yield edit(text, found, ALIASES[found.group()], SAME)


def opposite(text: str, chance: random.Random) -> Iterator[Edit]:
    """A large room → a small room."""
    for each in replace_listed(text, OPPOSITE, OPPOSITES, CLASH):
        asked = YES_NO.match(text) and is_prefixed(*each.changed)
        if each.changed[0].islower() and not asked and not is_filler(text, each.changed[0]):
            yield each


def is_prefixed(one: str, other: str) -> bool:
    """Whether two words differ by a prefix: "is it available?" asks what "unavailable" asks."""
    short, long = sorted((one, other), key=len)
    return long.endswith(short) or one in {"with", "without"}


def is_filler(text: str, word: str) -> bool:
    """Whether the word stands in a phrase where its opposite is no opposite."""
    return any(word in found.group().lower().split() for found in FILLERS.finditer(text))


def synonym(text: str, chance: random.Random) -> Iterator[Edit]:
    """A sofa = a couch; only words that nearly always mean the same."""
    for each in replace_listed(text, SYNONYM, SYNONYMS, SAME):
        if each.changed[0].islower():
            yield each


def kind_of(text: str, chance: random.Random) -> Iterator[Edit]:
    """A dog runs → an animal runs, where nothing in the text turns that round."""
    if HOLD_DOWNWARD.search(text):
        return
    for found in KIND.finditer(text):
        after = text[found.end() :]
        if found.group().islower() and not re.match(
            r" (?:[a-z]*(?!ing)[a-z]{2}(?<!ed)|[a-z]{1,2})s? (?:is|are)\b", after
        ):
            alone = re.match(
                r"[.,]|$| (?:is|are|was|were|in|on|with|and|who|at|to|near|by|wearing|for|"
                r"\w+ing)\b",
                after,
            )
            if alone and re.search(
                r"\b(?:a|an|the|two|three|some|several|his|her|their|my)"
                r"(?: (?:young|old|little|small|large|big|black|white|brown|tall|red|blue))? $",
                text[: found.start()],
                re.IGNORECASE,
            ):
                yield edit(text, found, KINDS[found.group()], BROADER)


def less_detail(text: str, chance: random.Random) -> Iterator[Edit]:
    """A red car stops on the bridge → a car stops on the bridge, or a red car stops."""
    if HOLD_DOWNWARD.search(text):
        return
    for found in DETAIL.finditer(text):
        rest = text[found.end() :]
        noun = rest.split(" ")[0]
        if noun not in {"and", "or"}:
            yield edit(
                text,
                re.compile(rf"{found.group(1)} {re.escape(noun)}").search(text, found.start())
                or found,
                noun,
                BROADER,
            )
    for found in PLACE.finditer(text):
        before = text[: found.start()]
        if re.search(r"\b(?:is|are|was|were) (?:\w+ )*\w+ing\b", before) and not re.search(
            r"(?:looking|pointing|staring|on|in|at|of|and|working|waving|waiting)$|,", before
        ):
            yield edit(text, found, "", BROADER)


def more_detail(text: str, chance: random.Random) -> Iterator[Edit]:
    """A man is running. → A man is running for charity."""
    end = re.search(r"(?<=[a-z])(?=[.!]?$)", text)
    if end and re.search(r"\b(?:is|are|was|were) \w+ing\b", text) and len(text.split()) <= 14:
        longer = f"{text[: end.start()]} {chance.choice(SETTINGS)}{text[end.start() :]}"
        yield Edit(text, longer, NARROWER)


def changed_colour(text: str, chance: random.Random) -> Iterator[Edit]:
    """A red car → a green car."""
    for found in COLOUR.finditer(text):
        if found.group().islower() and COLOURED.match(text[found.end() :]):
            others = [each for each in LISTS["changed_colours"] if each != found.group()]
            yield edit(text, found, chance.choice(others), CLASH)


NAME_RULES = (changed_name, alias)
ANTONYMS = (opposite, synonym, changed_colour)
KINDS_OF = (kind_of,)
DETAILS = (less_detail, more_detail)
