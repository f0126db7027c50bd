"""Chinese questions as people type them, made by rule: frames, and statements turned round.

Frames, words and the patterns of statements lie in `questions/zh.json`.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

FRAMES = json.loads((Path(__file__).parent / "questions" / "zh.json").read_text(encoding="utf-8"))
KINDS = {kind: re.compile(FRAMES[f"{kind}_words"]) for kind in ("person", "place", "work", "group")}
BORN = re.compile(r"[（(][^）)]*\d{2,4}年[^）)]*[）)]|\d{4}年\d+月\d+日[－—-]|人物")
DEFINITION = re.compile(r"[是为]([^，。；]{2,40})[，。；]")
NAME = re.compile(r"[\u4e00-\u9fff·A-Za-z0-9]{2,12}")
PATTERNS = {name: re.compile(pattern) for name, pattern in FRAMES["patterns"].items()}
"""What someone wishes to do, how a phrase begins that says what is done, words that are unclear
without context, statements that hang on others, names of people and places, and pronouns."""


def _rule(statement: str) -> re.Pattern[str]:
    for name, part in FRAMES["parts"].items():
        statement = statement.replace(name, part)
    return re.compile(statement)


RULES = [(_rule(rule["statement"]), rule["questions"]) for rule in FRAMES["rules"]]
"""What a statement looks like, and the questions that it answers."""

PLAIN = next(pattern for pattern, _ in RULES if pattern.pattern.endswith("。$"))
"""Any short sentence, which is asked about as it stands, and not always."""


def ask(sentence: str, title: str, rng: Random) -> str | None:
    """A question that a sentence answers; pronouns stand for what the article is about."""
    sentence = PATTERNS["pronoun"].sub(title, sentence)
    if PATTERNS["hanging"].search(sentence):
        return None
    for pattern, frames in RULES:
        if pattern is PLAIN and (title[:2] not in sentence or rng.random() < 0.5):
            continue
        if found := pattern.match(sentence):
            return rng.choice(frames).format(*found.groups())
    return None


def kind_of(first: str) -> str:
    """Whether an article is about a person, a place, a work or a group, by its first sentence.

    >>> kind_of("鲁迅，中国作家、思想家。"), kind_of("数学是研究数量的学科。")
    ('person', 'thing')
    """
    if BORN.search(first[:60]):
        return "person"
    found = DEFINITION.search(first[:120])
    head = found[1][-6:] if found else first[:40]
    return next((kind for kind, words in KINDS.items() if words.search(head)), "thing")


def about_article(
    title: str, first: str, related: list[str], rng: Random, count: int
) -> Iterator[str]:
    """Questions about what an article is about; `related` are similar titles."""
    name = plain_title(title)
    if not NAME.fullmatch(name) or name.isdigit() or re.match(r"\d+年|\d+月|.+列表", name):
        return
    kind = kind_of(first)
    if "·" in name or (
        kind == "thing" and PATTERNS["person"].fullmatch(name) and f"{name}，" in first[:12]
    ):
        kind = "person"
    elif PATTERNS["place"].search(name):
        kind = "place"
    shown = f"《{name}》" if kind == "work" and rng.random() < 0.3 else name
    frames = [frame for frame in FRAMES[kind] if related or "{y}" not in frame]
    for frame in rng.sample(frames, min(count, len(frames))):
        yield frame.format(x=shown, y=rng.choice(related) if related else "")


def plain_title(title: str) -> str:
    """A title without what tells it from others of the name."""
    return re.sub(r" ?[(（].*[)）]$", "", title)


def find_acts(text: str) -> Iterator[str]:
    """What someone wants to do: 取消预约."""
    for found in PATTERNS["wish"].finditer(text):
        if (
            len(found[1]) >= 3
            and PATTERNS["doing"].match(found[1])
            and not PATTERNS["unclear"].search(found[1])
        ):
            yield found[1]


def about_acts(acts: Iterable[str], rng: Random, frames_each: int) -> Iterator[str]:
    """Each act in a few frames."""
    for act in acts:
        yield from (frame.format(v=act) for frame in rng.sample(FRAMES["act"], frames_each))


def about_services(rng: Random, count: int) -> Iterator[str]:
    """What customers ask, and what people ask about common topics."""
    doing = [(doing.split(","), things.split(",")) for doing, things in FRAMES["services"].items()]
    topics = FRAMES["topics"].split(",")
    for _ in range(count):
        draw = rng.random()
        if draw < 0.15:
            yield rng.choice(FRAMES["topic"]).format(x=rng.choice(topics))
            continue
        acts, things = rng.choice(doing)
        act, thing = rng.choice(acts), rng.choice(things)
        frame = rng.choice(FRAMES["service_plain" if draw < 0.35 else "service"])
        yield frame.format(s=thing, o=act)


def as_typed(question: str, rng: Random) -> str:
    """The question as someone in a hurry types it, or as it is."""
    for said, other in rng.sample(FRAMES["swaps"], 4):
        if rng.random() < 0.5 and (changed := re.sub(said, other, question, count=1)) != question:
            question = changed
            break
    draw = rng.random()
    if draw < 0.15:
        question = rng.choice(FRAMES["openings"]) + question
    elif draw < 0.2:
        question = question.rstrip("？") + rng.choice(["", "，"]) + rng.choice(FRAMES["closings"])
    draw = rng.random()
    if draw < 0.45:
        question = question.rstrip("？")
    elif draw < 0.5:
        question = question.replace("？", "?")
    return mistyped(question, rng) if rng.random() < 0.05 else question


def mistyped(text: str, rng: Random) -> str:
    """The text with one slip: a character that sounds alike, or one lost or doubled."""
    alike = [place for place, letter in enumerate(text) if letter in FRAMES["slips"]]
    if alike and rng.random() < 0.7:
        place = rng.choice(alike)
        return text[:place] + rng.choice(FRAMES["slips"][text[place]]) + text[place + 1 :]
    place = rng.randrange(len(text))
    return text[:place] + text[place] * rng.choice([0, 2]) + text[place + 1 :]
