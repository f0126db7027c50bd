"""English negation: not, no, never and unless, put in, taken out or only written otherwise."""

import random
import re
from collections.abc import Iterator

from .edits import CLASH, SAME, Edit, any_of, edit

AUXILIARY = r"is|are|was|were|can|could|will|would|should|must|has|have"
SUBJECT = (
    r"(?:i|we|they|he|she|it|you|this|that|there|my \w+|our \w+|(?:a|an|the|"
    r"two|three|some|several|people|men|women|children)\b[^,?!.;]{0,60}?)"
)
STATED = re.compile(
    rf"^(?:{SUBJECT}) ({AUXILIARY}|am)(?= \w)(?! (?:not|no|never|also|like|love|just|to)\b)",
    re.IGNORECASE,
)
ASKED = re.compile(
    r"^(?:who|which \w+(?: \w+)?|what (?:kinds? of )?\w+s) (is|are|was|were|"
    r"can|should|will|has|have)(?= \w+)(?! (?:the|a|an|my|your|i|you|we|they|"
    r"he|she|it|there|some|in|on|his|her|their|this|that|not)\b)",
    re.IGNORECASE,
)
ADVISED = re.compile(
    r"^(?:what|which \w+|where|when|how often|why) (?:should|can|must|do) (i|"
    r"we|you|people)(?= \w)(?! not)",
    re.IGNORECASE,
)
SIMPLE = re.compile(
    r"\b(I|we|they)( (?:really |also |just )?)(want|need|like|have|know|prefer|"
    r"see|use|own|eat|live|work|plan|hope|remember|trust|think|believe|agree)(?= \w)(?! (?:not|"
    r"no|nothing|been|got|never)\b)",
    re.IGNORECASE,
)
SIMPLE_HE = re.compile(
    r"\b(he|she|it|\b(?:man|woman|boy|girl|dog|restaurant|hotel|place|company|"
    r"city|team)) (has|wants|needs|likes|offers|serves|includes|works|lives|"
    r"costs|takes|plays|runs|makes|contains|uses|sells)(?= \w)(?! (?:no|not|"
    r"been|never|\w+ed)\b)",
    re.IGNORECASE,
)
NEGATED = re.compile(
    rf"\b({AUXILIARY}|am|do|does|did) not(?= \w)(?! (?:only|just|yet|sure|to)\b)", re.IGNORECASE
)
NEGATED_SHORT = re.compile(
    r"\b(is|are|was|were|could|would|should|has|have)n't(?= \w)(?! (?:only|just|yet)\b)",
    re.IGNORECASE,
)
DO_NOT = re.compile(
    r"(?<=\bI )(?:don't|do not) (?=(?:want|need|like|have|know|think|care|mind|"
    r"believe|see)\b(?! (?:any|much|either|at all)\b))",
    re.IGNORECASE,
)
NEVER = re.compile(r"\b(?:has|have|had|is|are|was|were|will) (never )(?=\w)", re.IGNORECASE)
THERE = re.compile(
    r"\bthere (?:is|are|was|were) (a|an|some|many|several|two|three)(?= \w)", re.IGNORECASE
)
NO_MORE = re.compile(
    r"\b(?:there (?:is|are|was|were)|has|have|had) (no)(?= [a-z]+\b)(?! (?:one|"
    r"idea|longer|problem|need|preference|matter)\b)",
    re.IGNORECASE,
)
ANY = re.compile(r"\b(?:do|does|did)(?: not|n't) have any(?= [a-z])", re.IGNORECASE)
HAVE_NO = re.compile(r"(?<=\bI )have no(?= [a-z])(?! one)", re.IGNORECASE)
UNLESS = re.compile(
    r"(?<=[a-z,] )(unless|if)(?= (?:it|you|we|they|he|she|the|there|i)\b(?! (?:could|would|can)))",
    re.IGNORECASE,
)
PERFECT = re.compile(r" (?:been|gone|done|taken|made|seen|come|\w{2,}ed)\b", re.IGNORECASE)
QUESTION = re.compile(r"\?")
BASE = {"has": "have", "does": "do"}
CONTRACTED = {
    "is not": ["isn't"],
    "are not": ["aren't"],
    "was not": ["wasn't"],
    "were not": ["weren't"],
    "do not": ["don't"],
    "does not": ["doesn't"],
    "did not": ["didn't"],
    "cannot": ["can't"],
    "can not": ["can't"],
    "could not": ["couldn't"],
    "would not": ["wouldn't"],
    "will not": ["won't"],
    "should not": ["shouldn't"],
    "has not": ["hasn't"],
    "have not": ["haven't"],
    "don't": ["do not"],
    "doesn't": ["does not"],
    "didn't": ["did not"],
    "can't": ["cannot"],
    "won't": ["will not"],
    "isn't": ["is not"],
    "aren't": ["are not"],
    "wasn't": ["was not"],
    "haven't": ["have not"],
    "couldn't": ["could not"],
    "hasn't": ["has not"],
}
CONTRACTIBLE = any_of(CONTRACTED)


def add_not(text: str, chance: random.Random) -> Iterator[Edit]:
    """She is reading → she is not reading; in a question only where that asks something else."""
    if CONTRACTIBLE.search(text) or re.search(
        r"\b(?:never|no|nobody|nothing|hardly)\b", text, re.IGNORECASE
    ):
        return
    pattern = ASKED if "?" in text else STATED
    for found in pattern.finditer(text):
        # "Has a beer" is denied by "does not have", not by "has not".
        if found.group(1).lower() not in {"has", "have"} or PERFECT.match(text[found.end() :]):
            yield edit(text, found, f"{found.group(1)} not", CLASH, 1)
    for found in ADVISED.finditer(text):
        yield edit(text, found, f"{found.group(1)} not", CLASH, 1)


def add_do_not(text: str, chance: random.Random) -> Iterator[Edit]:
    """I need a table → I do not need a table."""
    if "?" in text:
        return
    for found in SIMPLE.finditer(text):
        if not re.search(
            r"(?:\b(?:that|what|where|when|if|as|do|can|would|should|how|until|before|"
            r"did|will|not|all) ?|n't )$",
            text[: found.start()],
            re.IGNORECASE,
        ):
            who, between, verb = found.groups()
            new = who + chance.choice([" do not", " don't"]) + between + verb
            yield edit(text, found, new, CLASH)
    for found in SIMPLE_HE.finditer(text):
        verb = found.group(2)
        base = BASE.get(verb) or (verb[:-1])
        yield edit(text, found, f"{found.group(1)} does not {base}", CLASH)


def drop_not(text: str, chance: random.Random) -> Iterator[Edit]:
    """It is not open → it is open."""
    if QUESTION.search(text):
        return
    for pattern in (NEGATED, NEGATED_SHORT):
        for found in pattern.finditer(text):
            if found.group(1).lower() not in {"do", "does", "did"} and not re.match(
                r" (?:\w+ )*(?:any|anything|either|at all)\b", text[found.end() :]
            ):
                yield edit(text, found, found.group(1), CLASH)
    for found in DO_NOT.finditer(text):
        yield edit(text, found, "", CLASH)
    for found in NEVER.finditer(text):
        yield edit(text, found, "", CLASH, 1)


def no_such_thing(text: str, chance: random.Random) -> Iterator[Edit]:
    """There is a pool → there is no pool, and back."""
    if QUESTION.search(text):
        return
    for found in THERE.finditer(text):
        yield edit(text, found, "no", CLASH, 1)
    for found in NO_MORE.finditer(text):
        yield edit(
            text, found, "some" if re.match(r" \w+s\b", text[found.end() :]) else "a", CLASH, 1
        )


def unless(text: str, chance: random.Random) -> Iterator[Edit]:
    """Unless it rains → if it rains."""
    for found in UNLESS.finditer(text):
        if not re.search(
            r"\b(?:know|see|check|wonder\w*|ask\w*|tell me|sure|mind|like|find out|"
            r"as|prefer|great|love|nice|better|good|helpful|happy|what|only|even) $",
            text[: found.start()],
            re.IGNORECASE,
        ):
            yield edit(text, found, "if" if found.group().lower() == "unless" else "unless", CLASH)


def contracted(text: str, chance: random.Random) -> Iterator[Edit]:
    """Do not = don't."""
    for found in CONTRACTIBLE.finditer(text):
        yield edit(text, found, CONTRACTED[found.group().lower()][0], SAME)


def none_of_it(text: str, chance: random.Random) -> Iterator[Edit]:
    """Do not have any = have no."""
    for found in ANY.finditer(text):
        yield edit(
            text,
            found,
            "has no"
            if found.group().lower().startswith("does")
            else "have no"
            if not found.group().lower().startswith("did")
            else "had no",
            SAME,
        )
    for found in HAVE_NO.finditer(text):
        yield edit(text, found, "do not have any", SAME)


def negated_and_contracted(text: str, chance: random.Random) -> Iterator[Edit]:
    """She is not reading = she isn't reading, of a text that has no negation."""
    for rule in (add_not, add_do_not):
        for made in rule(text, chance):
            yield from contracted(made.second, chance)


NEGATIONS = (
    negated_and_contracted,
    add_not,
    add_do_not,
    drop_not,
    no_such_thing,
    unless,
    contracted,
    none_of_it,
)
