"""English edits that keep the meaning, and single words whose insertion does not."""

import random
import re
from collections.abc import Iterator

from .edits import CLASH, OTHER, SAME, Edit, any_of, edit, read_lists

LISTS = read_lists("english.json")
SHORT_FORMS = {
    "i am": "I'm",
    "i'm": "I am",
    "it is": "it's",
    "it's": "it is",
    "that is": "that's",
    "that's": "that is",
    "what is": "what's",
    "what's": "what is",
    "i would like": "I'd like",
    "i'd like": "I would like",
    "i will": "I'll",
    "i'll": "I will",
    "we are": "we're",
    "they are": "they're",
    "you are": "you're",
    "i have been": "I've been",
    "where is": "where's",
    "who is": "who's",
    "let's": "let us",
    "want to": "wanna",
    "okay": "ok",
    "ok": "okay",
    "thank you": "thanks",
    "how do i": "how can I",
    "how can i": "how do I",
    "can you": "could you",
    "could you": "can you",
    "i want to": "I would like to",
    "i'm looking for": "I am looking for",
    "is there": "is there",
    "tell me": "let me know",
    "find me": "find",
    "do you know": "can you tell me",
}
SHORT_FORM = any_of(SHORT_FORMS)
REQUEST = re.compile(
    r"^(?:book|find|show|tell|play|get|give|add|remind|set|search|check|make|"
    r"reserve|list|send|cancel|order|look up|schedule|create|remove|delete|"
    r"call|put|turn)\b",
    re.IGNORECASE,
)
ASKING = re.compile(r"^(?:can|could|would|will) you (?!please)", re.IGNORECASE)
WISHING = re.compile(r"^(?:i|we)(?:'d| would) like\b|^(?:i|we) (?:want|need)\b", re.IGNORECASE)
FILLER = re.compile(
    r"\b(?:is|are|was|were|I|we|they|he|she)(?= (?:\w+ing|want|need|would|have|"
    r"like|looking|going|think)\b)(?! (?:not|just|really))",
    re.IGNORECASE,
)
LAST_TIME = re.compile(
    r"^([A-Z][^,?!.]{10,70}?) ((?:on|in|at|by|during) (?:(?:the )?(?:morning|"
    r"evening|afternoon|winter|summer|spring|night|weekend)|(?:Mon|Tues|Wednes|"
    r"Thurs|Fri|Satur|Sun)day|(?:19|20)\d\d|[A-Z]\w+ber|January|February|April|"
    r"June|July|August|noon|midnight))(\.?)$"
)
ROLE = re.compile(
    rf"\b(?:[Tt]he|[Hh]is|[Hh]er|[Mm]y|[Oo]ur|[Aa]) ({'|'.join(LISTS['roles'])})(?= (?:of|"
    rf"is|was|and|in|at|has|who)\b)"
)
FAKE = re.compile(
    rf"\b(?:a|an|the|some|his|her|with|of|holding|wearing) (?:\w+ )?"
    rf"({'|'.join(LISTS['fakes'])})(?=[ .,]|$)"
)
DOING = re.compile(
    r"\b(?:is|are|was|were) (?=(\w+ing|able|open|available|ready|finished|completed|"
    r"born|built|sold|paid|married|founded)\b)"
)
ALMOST = re.compile(
    r"\b(?:he|she|they|it|I|we|who) (?=(?:fell|missed|lost|won|finished|died|"
    r"hit|broke|forgot|reached|caught|signed|bought|sold|married|left|completed|"
    r"failed|passed|scored|dropped)\b)",
    re.IGNORECASE,
)


def short_form(text: str, chance: random.Random) -> Iterator[Edit]:
    """I am = I'm; how do I = how can I."""
    for found in SHORT_FORM.finditer(text):
        new = SHORT_FORMS[found.group().lower()]
        whole = re.match(r" (?!to\b)\w", text[found.end() :])  # "that is." and "I am to" stay
        if whole and new.lower() != found.group().lower():
            yield edit(text, found, new, SAME)


def please(text: str, chance: random.Random) -> Iterator[Edit]:
    """Find a hotel = please find a hotel."""
    if re.search(r"\bplease\b", text, re.IGNORECASE):
        without = re.sub(r",? ?\bplease\b,? ?", " ", text, flags=re.IGNORECASE)
        tidy = re.sub(r" +([.?!,])", r"\1", re.sub(r" {2,}", " ", without)).strip()
        yield Edit(text, tidy[:1].upper() + tidy[1:] if text[:1].isupper() else tidy, SAME)
    elif REQUEST.search(text):
        yield Edit(text, f"Please {text[0].lower()}{text[1:]}", SAME)
    elif found := ASKING.search(text):
        yield Edit(text, f"{found.group()}please {text[found.end() :]}", SAME)


def greeting(text: str, chance: random.Random) -> Iterator[Edit]:
    """Hello, I need a room; one greeting is enough."""
    wishes = WISHING.search(text) or text.endswith("?") or REQUEST.search(text)
    if wishes and not re.match(
        r"(?:hi|hey|hello|ok|yes|good|thank|great|and|also)\b", text, re.IGNORECASE
    ):
        start = (
            text if text[:2] in {"I ", "I'"} or text[:2].isupper() else text[0].lower() + text[1:]
        )
        yield Edit(
            text, f"{chance.choice(['Hi', 'Hello', 'Hi there', 'Hey', 'Excuse me'])}, {start}", SAME
        )


def filler(text: str, chance: random.Random) -> Iterator[Edit]:
    """She is currently waiting; I really need."""
    for found in FILLER.finditer(text):
        verb = found.group().lower() in {"is", "are"}
        word = chance.choice(
            ["currently", "just", "actually"] if verb else ["really", "just", "actually"]
        )
        yield edit(text, found, f"{found.group()} {word}", SAME)


def look(text: str, chance: random.Random) -> Iterator[Edit]:
    """Another case, another stop at the end."""
    yield Edit(text, text.lower(), SAME)
    if re.search(r"[a-z][.?!]$", text):
        yield Edit(text, text[:-1], SAME)
    elif re.search(r"\w$", text) and len(text.split()) > 3:
        asks = re.match(
            r"(?:who|what|when|where|why|how|which|is|are|do|does|can|could)\b", text, re.IGNORECASE
        )
        yield Edit(text, text + ("?" if asks else "."), SAME)


def time_first(text: str, chance: random.Random) -> Iterator[Edit]:
    """We met on Friday = on Friday, we met."""
    for found in LAST_TIME.finditer(text):
        said, when, stop = found.groups()
        start = said if re.match(r"I\b|[A-Z]\w+ [A-Z]", said) else said[0].lower() + said[1:]
        if re.match(r"(?:A|An|The|I|We|They|He|She|It|Two|My|There)\b", said):
            yield Edit(text, f"{when[0].upper()}{when[1:]}, {start}{stop}", SAME)


def former(text: str, chance: random.Random) -> Iterator[Edit]:
    """The president of → the former president of; holding a gun → holding a fake gun."""
    for found in ROLE.finditer(text):
        word = chance.choice(["former", "future", "alleged"])
        yield edit(text, found, f"{word} {found.group(1)}", OTHER, 1)
    for found in FAKE.finditer(text):
        weapon = found.group(1) in {"gun", "guns", "sword", "rifle"}
        word = chance.choice(["fake", "toy" if weapon else "artificial"])
        yield edit(text, found, f"{word} {found.group(1)}", OTHER, 1)


def no_longer(text: str, chance: random.Random) -> Iterator[Edit]:
    """Is smiling → is no longer smiling; he fell → he almost fell."""
    if "?" in text or re.search(r"n't|\bnot\b|\bno\b|\bnever\b", text):
        return
    for found in DOING.finditer(text):
        words = ["no longer", "not"] if found.group(1) != "going" else ["not"]
        yield edit(text, found, f"{found.group()}{chance.choice(words)} ", CLASH)
    for found in ALMOST.finditer(text):
        yield edit(text, found, f"{found.group()}{chance.choice(['almost', 'nearly'])} ", CLASH)


HARMLESS = (short_form, please, greeting, filler, look, time_first)
INSERTED = (former, no_longer, filler)
