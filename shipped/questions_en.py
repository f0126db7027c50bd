"""English questions as people type them, made by rule from articles and from requests.

Frames such as "What is the best way to {v}?" lie in `questions/en.json`. They are filled with what
articles are about, with noun phrases of the same article, and with what people want to do. Other
questions are statements turned round (see `clauses_en`).
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

from clauses_en import ask, find_clause
from word_classes import PARTICIPLE, PLAIN, WordClasses

FRAMES = json.loads((Path(__file__).parent / "questions" / "en.json").read_text(encoding="utf-8"))
KINDS = ("person", "place", "work", "group", "event")
KIND_WORDS = {word: kind for kind in KINDS for word in FRAMES[f"{kind}_words"].split()}
DEFINITION = re.compile(r"\b(?:is|was|are|were) (?:an?|the|one of the|any) ([^,.;:(]{3,80})")
WISH = re.compile(
    r"\b(?:how (?:do|can|could|would|should|did) (?:i|you|we)"
    r"|(?:how|way|want|need|like|able|have|trying|possible|easy|hard|order"
    r"|ability|attempt|used|learn|decided|hope|plan|tried|time) to"
    r"|(?:can|could|should|must) (?:i|you|we|people))\s+((?:[\w'-]+ ?){2,8})",
    re.IGNORECASE,
)
VAGUE = re.compile(
    r"\b(?:this|that|these|those|it|its|them|they|their|him|his|her|he|she|here|there|be|been|tom|mary"
    r"|us|we|our|which|who|whom|where|what|how|when|why|if|because|but|so|than|i|me|not|is|are|was"
    r"|were|dr|mr|will|would|then|please|thanks|yes|no|oh|ok|okay|such|himself|herself|itself|themselves)\b",
    re.IGNORECASE,
)
TOO_GENERAL = """
    addition amount area areas basis bit body case cases century centuries couple day days decade
    decades degree degrees different due end example fact few first form great group groups high
    hour hours kilometres kind large last least level line long lot low main major man many mean
    member members men metre metres mid mile miles minor minute minutes month months more most much
    name names new next number numbers old only order other others own part parts people percent
    person place places point points possible rate reference respect result same second series set
    several side similar single small son star state states such term terms third thing
    things thousands time times tons top total type types use various view way ways week well wide
    woman women word words work works year years young"""
"""Words that say too little to be asked about."""
GENERIC = frozenset(TOO_GENERAL.split())
OWNED = {"the", "'s", "his", "her", "its"}
FREE_BEFORE = {"of", "and", ",", "with", "for", "about", "by"}
"""Words after which a noun without an article needs none."""
KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
NEIGHBOURS = {
    letter: row[max(place - 1, 0) : place] + row[place + 1 : place + 2]
    for row in KEYBOARD
    for place, letter in enumerate(row)
}


def find_acts(text: str, words: WordClasses) -> Iterator[str]:
    """What someone wants to do, as a verb phrase: "change my password"."""
    for found in WISH.finditer(text):
        act = found[1].split()
        if words.kind.get(act[0].lower()) != "VERB" or (PLAIN, act[0].lower()) not in words.base:
            continue
        while act and (words.is_small(act[-1]) or words.infinitive(PARTICIPLE, act[-1])):
            act.pop()
        phrase = " ".join([act[0].lower(), *act[1:]]) if act else ""
        if 2 <= len(act) <= 7 and not VAGUE.search(phrase) and not act[-1][0].isdigit():
            yield re.sub(r"\byour\b", "my", phrase)


def about_article(title: str, first: str, text: str, rng: Random, count: int) -> list[str]:
    """Questions about what an article is about.

    Args:
        title: Of the article.
        first: Its first sentence.
        text: Some of its text, by which a common noun is told from a name.
        rng: Draws the frames.
        count: How many at most.
    """
    name = re.sub(r" \(.*\)$", "", title)
    if "," in name and len(name.split(",")) == 2:
        name = name.split(",")[0]
    if (
        not re.fullmatch(r"[\w’'.& -]{2,40}", name)
        or name.startswith("List of")
        or name[0].isdigit()
    ):
        return []
    common = len(re.findall(rf"(?<=[a-z,] ){re.escape(name.lower())}\b", text)) > 0
    kind = kind_of(first)
    kind = "mass" if common else "name" if kind == "mass" else kind
    shown = name.lower() if common and not name.isupper() else name
    frames = rng.sample(FRAMES[kind], min(count, len(FRAMES[kind])))
    return [frame.format(x=shown) for frame in frames]


def kind_of(first: str) -> str:
    """Whether an article is about a person, a place, a work and so on, by its definition.

    >>> kind_of("Waterloo is a city in Canada."), kind_of("Logic is the study of reasoning.")
    ('place', 'mass')
    """
    found = DEFINITION.search(first)
    before = re.split(r" (?:in|of|by|from|for|that|who|which|at|on) ", found[1])[0] if found else ""
    for word in reversed(before.lower().split()):
        if word.rstrip("s") in KIND_WORDS or word in KIND_WORDS:
            return KIND_WORDS.get(word) or KIND_WORDS[word.rstrip("s")]
    return "person" if re.search(r"\((?:born )?[^)]*\d{3,4}[^)]*\)", first) else "mass"


def about_things(
    sentences: Iterable[str], words: WordClasses, rng: Random, count: int
) -> list[str]:
    """Questions about noun phrases of one article, alone and two at a time."""
    single, mass = list[str](), list[str]()
    for sentence in sentences:
        for before, phrase in words.noun_phrases(re.findall(r"[\w’'-]+|[^\w\s]", sentence)):
            last = phrase.rsplit(" ", 1)[-1]
            if phrase in GENERIC or phrase.split()[0] in GENERIC:
                continue
            if before in ("a", "an") and last not in words.plural:
                single.append(phrase)
            elif before not in OWNED if last in words.plural else before in FREE_BEFORE:
                mass.append(phrase)
    single, mass = list(dict.fromkeys(single)), list(dict.fromkeys(mass))
    made = []
    for _ in range(count):
        draw = rng.random()
        if draw < 0.4 and len(single) > 1:
            one, two = rng.sample(single, 2)
            frame = rng.choice(FRAMES["thing"])
            made.append(frame.format(x=one, a=with_article(one), b=with_article(two)))
        elif draw < 0.8 and mass:
            made.append(_agreeing(rng.choice(FRAMES["mass"]), rng.choice(mass), words))
        elif len(mass) > 1:
            one, two = rng.sample(mass, 2)
            made.append(_agreeing(rng.choice(FRAMES["two"]), one, words, two))
    return made


def _agreeing(frame: str, phrase: str, words: WordClasses, other: str = "") -> str:
    """The frame with its verb in the number of the phrase."""
    if phrase.rsplit(" ", 1)[-1] in words.plural:
        frame = frame.replace(" is {x}", " are {x}").replace("Is {x}", "Are {x}")
        frame = frame.replace("does {x}", "do {x}").replace("Does {x}", "Do {x}")
        frame = frame.replace("has {x}", "have {x}")
    return frame.format(x=phrase, y=other)


def with_article(phrase: str) -> str:
    """The phrase with a or an before it."""
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def about_sentences(
    sentences: Iterable[str], title: str, words: WordClasses, rng: Random, count: int
) -> list[str]:
    """Questions that sentences of one article answer."""
    name = re.sub(r" \(.*\)$", "", title)
    made = []
    for sentence in sentences:
        if len(made) == count:
            break
        if clause := find_clause(sentence, name, words):
            made.append(ask(clause, words, rng))
    return [question for question in made if question]


def about_acts(acts: list[str], rng: Random, frames_each: int) -> Iterator[str]:
    """Each act in a few frames, different wordings of nearly the same wish, and beside another."""
    for act in acts:
        for frame in rng.sample(FRAMES["act"], frames_each):
            shown = act
            if frame.startswith(("How do you", "Can you {v}", "How did you", "Why do people")):
                shown = re.sub(r"\bmy\b", "your", act)
            yield frame.format(v=shown)
        yield rng.choice(FRAMES["acts"]).format(v=act, w=rng.choice(acts))


def about_services(rng: Random, count: int) -> Iterator[str]:
    """What customers ask, and what people ask about common topics."""
    things, topics = FRAMES["service_words"].split(","), FRAMES["topics"].split(",")
    for _ in range(count):
        if rng.random() < 0.3:
            yield rng.choice(FRAMES["service"]).format(s=rng.choice(things))
            continue
        place = rng.randrange(len(topics))
        one, two = topics[place], topics[place - rng.randint(1, 6)]  # neighbours are related
        yield rng.choice(FRAMES[rng.choice(["mass", "two"])]).format(x=one, y=two)


def as_typed(question: str, rng: Random) -> str:
    """The question as someone in a hurry types it, or as it is."""
    draw = rng.random()
    if draw < 0.1:
        for said, short in FRAMES["contractions"].items():
            question = question.replace(said, short)
    elif draw < 0.15:
        question = rng.choice(FRAMES["openings"]) + question[0].lower() + question[1:]
    elif draw < 0.2 and question.endswith("?"):
        question = question[:-1] + rng.choice(FRAMES["closings"]) + "?"
    elif draw < 0.24 and question.endswith("?"):
        told = rng.choice(FRAMES["settings"])
        question = f"{told} {question}" if rng.random() < 0.7 else f"{question} {told}"
    draw = rng.random()
    if draw < 0.25:
        question = question.rstrip("?").lower()
    elif draw < 0.4:
        question = question.lower()
    elif draw < 0.48:
        question = question.rstrip("?")
    return mistyped(question, rng) if rng.random() < 0.05 else question


def mistyped(text: str, rng: Random) -> str:
    """The text with one slip: a neighbour on the keyboard, a letter lost, doubled, or swapped."""
    places = [place for place, letter in enumerate(text) if letter in NEIGHBOURS and place]
    if not places:
        return text
    place = rng.choice(places)
    before, letter, after = text[:place], text[place], text[place + 1 :]
    slips = [before + after, before + letter * 2 + after]
    slips.append(before + rng.choice(NEIGHBOURS[letter]) + after)
    if after:
        slips.append(before + after[0] + letter + after[1:])
    return rng.choice(slips)
