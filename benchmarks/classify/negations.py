"""Plain opinions with and without a no, written for the project: what reviews alone teach badly.

A classifier of reviews takes *not bad* for blame, because *bad* stands in it and reviews say *not
bad* rarely. `opinions` gives sentences to learn this from; `PROBES` are made of other words, and
half of them of other frames, to see whether it was learnt.
"""

import random
from collections.abc import Sequence
from itertools import product

SIGNS = ("negative", "positive")
Row = tuple[str, str]

GOOD = (
    "good", "great", "funny", "convincing", "charming", "clever", "moving", "gripping",
    "original", "enjoyable", "entertaining", "believable", "fresh", "memorable", "engaging",
    "touching", "witty", "exciting", "smart", "lovely", "pleasant", "impressive", "subtle",
    "tense", "coherent", "satisfying", "inspired", "interesting", "amusing", "brilliant",
)  # fmt: skip
BAD = (
    "bad", "boring", "dull", "predictable", "silly", "tedious", "clumsy", "flat", "bland",
    "annoying", "lazy", "stupid", "slow", "confusing", "forgettable", "shallow", "awful",
    "weak", "pointless", "unconvincing", "tiresome", "pretentious", "messy", "dreary", "cheap",
    "stale", "wooden", "contrived", "lifeless", "ugly",
)  # fmt: skip
SUBJECTS = (
    "it", "the film", "this movie", "the story", "the acting", "the script", "the dialogue",
    "the ending", "the cast", "the music", "the first half", "the plot",
)  # fmt: skip
PLAIN = (
    "{subject} is {word}", "{subject} is really {word}", "{subject} is {word} from start to finish",
    "i found {subject} {word}", "{subject} is as {word} as they come", "{subject} was very {word}",
)  # fmt: skip
NEGATED = (
    "{subject} is not {word}", "{subject} isn't {word}", "{subject} is never {word}",
    "{subject} is hardly {word}", "there is nothing {word} about {subject}",
    "{subject} is anything but {word}", "i would not call {subject} {word}",
    "{subject} is not {word} at all", "{subject} wasn't very {word}", "not {word} at all",
)  # fmt: skip
LIKED = ("enjoyed", "liked", "loved", "admired", "would recommend", "believed in", "laughed at")
DISLIKED = ("regretted", "hated", "disliked", "minded", "would avoid", "was bored by", "winced at")
DONE = ("i {verb} {subject}", "everyone {verb} {subject}")
UNDONE = ("nobody {verb} {subject}", "i never {verb} {subject}", "no one i know {verb} {subject}")
NEW_GOOD = ("delightful", "sharp", "gorgeous", "warm", "absorbing", "elegant")
NEW_BAD = ("painful", "trite", "grim", "hollow", "sloppy", "irritating")
NEW_FRAMES = (
    "it is by no means {word}", "the film is far from {word}", "it never comes across as {word}",
    "i did not find it {word}",
)  # fmt: skip


def opinions(count: int, *, seed: int) -> list[Row]:
    """So many sentences of either kind, half of them with a no, half of them positive."""
    draw = random.Random(seed)
    parts = [
        [*_filled(frames, words, "word", sign), *_filled(acts, verbs, "verb", sign)]
        for frames, acts, flip in ((PLAIN, DONE, False), (NEGATED, UNDONE, True))
        for words, verbs, good in ((GOOD, LIKED, True), (BAD, DISLIKED, False))
        for sign in (SIGNS[good != flip],)
    ]
    chosen = [row for part in parts for row in draw.sample(part, count // len(parts))]
    return [(_as_written(text, draw.random()), sign) for text, sign in chosen]


def _as_written(text: str, way: float) -> str:
    """As SST-2 writes sentences, or as people do."""
    return f"{text} ." if way < 0.5 else f"{text[0].upper()}{text[1:]}."


def _filled(frames: Sequence[str], words: Sequence[str], slot: str, sign: str) -> list[Row]:
    """Every frame with every word and subject once."""
    texts = (
        frame.format(subject=subject, **{slot: word})
        for frame, word, subject in product(frames, words, SUBJECTS)
    )
    return [(text, sign) for text in dict.fromkeys(texts)]


PROBES: list[Row] = [
    (frame.format(subject="it", word=word).capitalize() + ".", SIGNS[not good])
    for words, good in ((NEW_GOOD, True), (NEW_BAD, False))
    for frame in (*NEGATED[:4], *NEW_FRAMES)
    for word in words
]
