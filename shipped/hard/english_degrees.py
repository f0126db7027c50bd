"""English words of degree: all or some, must or may."""

import random
import re
from collections.abc import Iterator

from .edits import BROADER, CLASH, NARROWER, OTHER, SAME, Edit, Relation, any_of, edit

Table = dict[str, list[tuple[str, Relation]]]
QUANTIFIERS: Table = {
    "all of": [("some of", BROADER), ("none of", CLASH), ("every one of", SAME)],
    "some of": [("all of", NARROWER), ("none of", CLASH)],
    "most of": [("all of", NARROWER), ("some of", BROADER), ("none of", CLASH)],
    "both of": [("neither of", CLASH), ("one of", BROADER)],
    "all the": [("some of the", BROADER), ("none of the", CLASH), ("all of the", SAME)],
    "everyone": [("someone", BROADER), ("no one", CLASH), ("everybody", SAME)],
    "everybody": [("somebody", BROADER), ("nobody", CLASH), ("everyone", SAME)],
    "someone": [("everyone", NARROWER), ("no one", CLASH), ("somebody", SAME)],
    "somebody": [("everybody", NARROWER), ("nobody", CLASH), ("someone", SAME)],
    "always": [("sometimes", BROADER), ("never", CLASH), ("at all times", SAME)],
    "usually": [("always", NARROWER), ("never", CLASH)],
    "sometimes": [("always", NARROWER), ("never", CLASH), ("at times", SAME)],
    "at least": [("at most", OTHER), ("no fewer than", SAME), ("no less than", SAME)],
    "at most": [("at least", OTHER), ("no more than", SAME)],
    "more than": [("fewer than", CLASH), ("over", SAME)],
    "fewer than": [("more than", CLASH)],
    "exactly": [("more than", CLASH), ("precisely", SAME)],
    "up to": [("at least", OTHER), ("at most", SAME)],
    "only": [("not only", OTHER), ("just", SAME)],
    "a lot of": [("very few", CLASH), ("plenty of", SAME)],
    "lots of": [("very few", CLASH), ("plenty of", SAME)],
    "plenty of": [("hardly any", CLASH), ("lots of", SAME)],
    "several": [("no", CLASH), ("a number of", SAME)],
    "many": [("hardly any", CLASH), ("a lot of", SAME)],
    "every": [("only one", OTHER), ("each", SAME)],
    "each": [("only one", OTHER), ("every", SAME)],
}
MODALS: Table = {
    "must": [("may", BROADER), ("need not", CLASH), ("has to", SAME)],
    "have to": [("do not have to", CLASH), ("might", OTHER), ("need to", SAME)],
    "has to": [("does not have to", CLASH), ("might", OTHER), ("needs to", SAME)],
    "will": [("might", BROADER), ("will certainly", SAME)],
    "might": [("will certainly", NARROWER), ("may", SAME), ("could possibly", SAME)],
    "want to": [("have to", OTHER), ("wish to", SAME), ("would like to", SAME)],
    "need to": [("do not need to", CLASH), ("have to", SAME)],
    "needs to": [("does not need to", CLASH), ("has to", SAME)],
    "would like to": [("have to", OTHER), ("want to", SAME)],
    "should": [("must", NARROWER), ("ought to", SAME)],
    "can": [("must", OTHER), ("should", OTHER)],
    "is allowed to": [("is forced to", OTHER), ("may", SAME)],
    "are allowed to": [("are forced to", OTHER), ("may", SAME)],
    "is going to": [("might", BROADER), ("will", SAME)],
    "are going to": [("might", BROADER), ("will", SAME)],
}


def from_table(text: str, table: Table, pattern: re.Pattern[str]) -> Iterator[Edit]:
    """Every replacement that a table of words and relations allows."""
    for found in pattern.finditer(text):
        for new, relation in table[found.group().lower()]:
            yield edit(text, found, new, relation)


NUMBERED = {"at least", "at most", "more than", "fewer than", "exactly", "up to"}
"""Quantifiers that say something only before a number."""
NUMBER = re.compile(r" (?:\d+|two|three|four|five|six|seven|eight|nine|ten|a hundred)\b")
IDIOM = re.compile(
    r"\b(?:(?:how|so|too|as|very|to) many|many to|(?:for|each|as) each|(?:the|^)only|not only|"
    r"(?:each|every) (?:other|time|one)|for every|as always|for everyone)\b|each$|^only\b",
    re.IGNORECASE,
)
"""Phrases in which a quantifier is not one."""
DENIED = re.compile(r"n't\b|\b(?:not|never|no|without|if|cannot)\b", re.IGNORECASE)
POLITE = re.compile(
    r"\b(?:(?:can|could|will|would) (?:you|i|we)|i (?:can|will|should)|will (?:be|do|work))\b",
    re.IGNORECASE,
)
ASKED = re.compile(r"(?:what|when|where|who|how|which|why)\b", re.IGNORECASE)
ABLE = re.compile(r"\b(?:you|we|they|he|she|it|who|guy|man|woman|people) can\b")
ONE = re.compile(r"\b(?:he|she|it|man|woman) must\b")
QUANTIFIER, MODAL = any_of(QUANTIFIERS), any_of(MODALS)


def quantifier(text: str, chance: random.Random) -> Iterator[Edit]:
    """All of the shops → some of the shops; a negation would turn that round."""
    if DENIED.search(text) or IDIOM.search(text):
        return
    for each in from_table(text, QUANTIFIERS, QUANTIFIER):
        word = each.changed[0].lower()
        after = text[text.lower().find(word) + len(word) :]
        counts = word not in NUMBERED or NUMBER.match(after)
        if counts and not re.match(r"[.,?!]|$", after):
            yield each


def modality(text: str, chance: random.Random) -> Iterator[Edit]:
    """You must pay → you may pay; a question or a polite request is no modality."""
    if any(pattern.search(text) for pattern in (DENIED, POLITE)) or ASKED.match(text):
        return
    for each in from_table(text, MODALS, MODAL):
        fits = each.changed[1] != "has to" or ONE.search(text)
        if fits and "?" not in text and is_modal(each.changed[0].lower(), text):
            yield each


def is_modal(word: str, text: str) -> bool:
    """Whether a verb follows, and nothing before changes its form: a can is no modal verb."""
    if word == "can" and not ABLE.search(text):
        return False
    before, after = "'ll|would|will|only", "it|you|i|we|they|he|she|there|the|an?|my|this|b"
    stuck = rf"(?:{before}) {word}|{word} (?:{after})\b"
    return not re.search(stuck, text) and bool(re.search(rf"[a-z] {word} [a-z]", text))


QUANTIFIED = (quantifier,)
MODALITY = (modality,)
