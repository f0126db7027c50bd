"""Makes pairs from texts by all rules of a language, both kinds in balance."""

import random
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from . import (
    chinese_numbers,
    chinese_phrases,
    chinese_words,
    english_dates,
    english_degrees,
    english_harmless,
    english_negation,
    english_numbers,
    english_roles,
    english_words,
)
from .edits import BROADER, CLASH, NARROWER, OTHER, SAME, Edit, Relation, Rule
from .guard import ProbeGuard

Rules = Mapping[str, Sequence[Rule]]
MATCH_LABELS = {SAME: "1", CLASH: "0", OTHER: "0"}
NLI_LABELS = {
    SAME: "entailment", BROADER: "entailment", NARROWER: "neutral", OTHER: "neutral",
    CLASH: "contradiction",
}  # fmt: skip
DIFFERENT = {"quantifiers", "modality", "inserted"}
"""Families in which a broader text is a different one, to a matcher as well."""
LONG = "long"
STATEMENT = re.compile(
    r"^(?:an?|the|i|we|he|she|it|they|there|this|these|those|my|our|his|her|their|two|three|four|"
    r"five|six|seven|eight|some|several|many|people|men|women|children|in (?:the|\d+))\b",
    re.IGNORECASE,
)
NAMED = re.compile(r"^[A-Z][a-z]+ (?:[A-Z][a-z]+ )*(?:is|was|are|were|has|had)\b")
ON_TOP = 0.3
"""How often a harmless edit comes on top of another one."""
RULES: dict[str, Rules] = {
    "en": {
        "numbers": english_numbers.NUMBERS, "dates": english_dates.DATES,
        "names": english_words.NAME_RULES, "negation": english_negation.NEGATIONS,
        "antonyms": english_words.ANTONYMS, "roles": english_roles.ROLES,
        "quantifiers": english_degrees.QUANTIFIED, "modality": english_degrees.MODALITY,
        "inserted": english_harmless.INSERTED, "kinds": english_words.KINDS_OF,
        "details": english_words.DETAILS,
    },
    "zh": {
        "numbers": chinese_numbers.NUMBERS, "dates": chinese_numbers.DATES,
        "names": chinese_words.NAME_RULES, "negation": chinese_words.NEGATIONS,
        "antonyms": chinese_words.ANTONYMS, "roles": chinese_phrases.ROLES,
        "quantifiers": chinese_words.QUANTIFIED, "modality": chinese_words.MODALITY,
        "inserted": chinese_phrases.INSERTED,
    },
}  # fmt: skip
HARMLESS: dict[str, Sequence[Rule]] = {
    "en": english_harmless.HARMLESS, "zh": chinese_phrases.HARMLESS
}  # fmt: skip
LENGTHS = {"en": (4, 60), "zh": (5, 120)}
"""Fewest and most words, or characters, of a text."""
RARE = 0.1
"""A label with a smaller share of the commonest one's pairs is rare."""
NUM_JOINED = (3, 6)
"""How many texts make a long one."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One row of the output."""

    sentence1: str
    sentence2: str
    label: str
    rule: str
    how: str
    """The function that made it."""
    source: str
    """The text that it was made from."""


@dataclass
class Maker:
    """Edits texts by rule.

    Args:
        language: `en` or `zh`.
        task: `match` or `nli`.
        seed: Equal seeds and texts give equal pairs.
    """

    language: str
    task: str
    seed: int = 1
    guard: ProbeGuard = field(default_factory=ProbeGuard)
    refused: Counter[str] = field(default_factory=Counter)

    def pairs(self, texts: Iterable[str], count: int | None = None) -> list[Pair]:
        """Balanced pairs of all families, shuffled."""
        pools: dict[str, dict[str, list[Pair]]] = defaultdict(lambda: defaultdict(list))
        seen: set[tuple[str, str]] = set()
        usable = [text for text in dict.fromkeys(texts) if self.is_usable(text)]
        recent: deque[tuple[str, list[Pair]]] = deque(maxlen=NUM_JOINED[1])
        for text in usable:
            chance = random.Random(f"{self.seed} {text}")
            recent.append((text, list(self.of_text(text, chance))))
            joined = list(recent)[-chance.randint(*NUM_JOINED) :]
            for pair in (*recent[-1][1], *self.of_long(joined, chance)):
                both = (pair.sentence1, pair.sentence2)
                if both not in seen and both[::-1] not in seen:
                    seen.add(both)
                    pools[pair.rule][pair.label].append(pair)
        return balanced(pools, count, random.Random(self.seed))

    def is_usable(self, text: str) -> bool:
        """Whether a text has a fitting length, says something, and is none of the probes'."""
        low, high = LENGTHS[self.language]
        size = len(text.split()) if self.language == "en" else len(text)
        if not low <= size <= high or (self.task == "nli" and not is_statement(text)):
            return False
        reason = self.guard.refuses_text(text)
        self.refused[reason or "kept"] += 1
        return reason is None

    def of_text(self, text: str, chance: random.Random) -> Iterator[Pair]:
        """For each family one pair of each label that it can give."""
        harmless = list(self.edits(text, HARMLESS[self.language], chance, "harmless"))
        for family, rules in RULES[self.language].items():
            by_label: dict[str, list[tuple[str, Edit]]] = defaultdict(list)
            for how, edit in self.edits(text, rules, chance, family):
                by_label[self.label(edit.relation, family) or ""].append((how, edit))
            by_label.pop("", None)
            same = self.label(SAME, family) or ""
            if by_label and same not in by_label and harmless:
                by_label[same] = harmless
            if set(by_label) - {same}:
                self.add_neutral(text, by_label, chance)
                for label, found in sorted(by_label.items()):
                    yield self.pair(text, label, family, *drawn(found, chance), chance)
            elif by_label and chance.random() < 0.5:
                yield self.pair(text, same, family, *drawn(by_label[same], chance), chance)

    def add_neutral(
        self, text: str, by_label: dict[str, list[tuple[str, Edit]]], chance: random.Random
    ) -> None:
        """An inference needs pairs that leave the matter open."""
        if self.task == "nli" and "neutral" not in by_label:
            more = [("more_detail", each) for each in english_words.more_detail(text, chance)]
            by_label.update({"neutral": more} if more else {})

    def of_long(
        self, texts: Sequence[tuple[str, list[Pair]]], chance: random.Random
    ) -> Iterator[Pair]:
        """One text of several in which one sentence is edited, or one sentence about them."""
        if len(texts) < NUM_JOINED[0] or chance.random() < 0.5:
            return
        place = chance.randrange(len(texts))
        text, pairs = texts[place]
        made = [pair for pair in pairs if pair.sentence1 == text]
        for label in sorted({pair.label for pair in made}):
            chosen = chance.choice([pair for pair in made if pair.label == label])
            long = self.joined([text for text, _ in texts], place, chosen)
            if long.sentence1 != long.sentence2:
                yield long

    def joined(self, texts: Sequence[str], place: int, pair: Pair) -> Pair:
        """A pair of sentences put into a long text, in an inference only the first one."""
        stop, joint = (". ", " ") if self.language == "en" else ("。", "")
        ended = [text if re.search(r"\W$", text) else text + stop.strip() for text in texts]
        second = pair.sentence2
        if self.task == "match":
            changed = second if re.search(r"\W$", second) else second + stop.strip()
            second = joint.join([*ended[:place], changed, *ended[place + 1 :]])
        return replace(
            pair, sentence1=joint.join(ended), sentence2=second, rule=LONG, source=pair.source
        )

    def edits(
        self, text: str, rules: Sequence[Rule], chance: random.Random, family: str
    ) -> Iterator[tuple[str, Edit]]:
        """What the rules give, without what is unchanged or the probes' own."""
        for rule in rules:
            for edit in rule(text, chance):
                if edit.first.strip() == edit.second.strip() or not edit.second.strip():
                    continue
                reason = self.guard.refuses(edit)
                self.refused[f"{family}: {reason}" if reason else "made"] += 1
                if reason is None:
                    yield rule.__name__, edit

    def pair(
        self, text: str, label: str, family: str, how: str, edit: Edit, chance: random.Random
    ) -> Pair:
        """An edit as a row, at times with a harmless edit on top or in the other order."""
        if chance.random() < ON_TOP:
            edit = self.kept(edit.then(chance.choice(HARMLESS[self.language]), chance), edit)
        turned = edit.turned() if chance.random() < 0.5 else edit
        label = self.label(turned.relation, family) or label
        return Pair(turned.first, turned.second, label, family, how, text)

    def kept(self, edit: Edit, before: Edit) -> Edit:
        """The edit, or the one before it where the two texts became equal or a probe's."""
        equal = edit.first.lower() == edit.second.lower() and edit.relation is not SAME
        return before if equal or edit.first == edit.second or self.guard.refuses(edit) else edit

    def label(self, relation: Relation, family: str) -> str | None:
        """What the task calls a relation; None where it has no sure name for it."""
        if self.task == "nli":
            return NLI_LABELS[relation]
        return MATCH_LABELS.get(relation, "0" if family in DIFFERENT else None)


def drawn(found: Sequence[tuple[str, Edit]], chance: random.Random) -> tuple[str, Edit]:
    """One of the edits, each rule as likely as the others; mere punctuation only now and then."""
    rules = sorted({how for how, _ in found})
    telling = [how for how in rules if how not in {"look", "wording"}]
    rule = chance.choice(telling if telling and chance.random() < 0.8 else rules)
    return chance.choice([each for each in found if each[0] == rule])


def is_statement(text: str) -> bool:
    """Whether a text says something that another one can follow from."""
    return "?" not in text and bool(STATEMENT.match(text) or is_about(text))


def is_about(text: str) -> bool:
    """Whether a text says something about one that it names."""
    asks = re.match(r"(?:who|what|when|where|why|how|which)\b", text, re.IGNORECASE)
    return bool(NAMED.match(text)) and not asks


def balanced(
    pools: Mapping[str, Mapping[str, list[Pair]]], count: int | None, chance: random.Random
) -> list[Pair]:
    """Of each family about as many pairs of one label as of another, and at most `count` in all."""
    kept: dict[str, list[Pair]] = {}
    for family, by_label in sorted(pools.items()):
        if len(by_label) < 2:
            continue
        most = most_of_each([len(pairs) for pairs in by_label.values()])
        by_turn = [
            chance.sample(by_label[label], len(by_label[label]))[:most]
            for label in sorted(by_label)
        ]
        # Label by label in turn, so that a share of the family is balanced as well.
        kept[family] = [pair for row in in_turn(by_turn) for pair in row]
    chosen: list[Pair] = []
    left = count if count is not None else sum(map(len, kept.values()))
    for place, family in enumerate(sorted(kept, key=lambda name: len(kept[name]))):
        share = min(len(kept[family]), left // (len(kept) - place))
        chosen += kept[family][:share]
        left -= share
    chance.shuffle(chosen)
    return chosen


def most_of_each(counts: Sequence[int]) -> int:
    """How many pairs of one label a family may have, from how many there are of each.

    As many as of the rarest of two labels, twice as many as of the rarest of three; but a third
    label that hardly ever comes up does not hold the others back.

    >>> most_of_each([30, 20]), most_of_each([30, 30, 10]), most_of_each([90, 60, 2])
    (20, 20, 60)
    """
    several = [count for count in counts if count >= RARE * max(counts)]
    usual = several if len(several) > 1 else list(counts)
    return min(usual) * (1 if len(usual) == 2 else 2)


def in_turn(drawn: Sequence[Sequence[Pair]]) -> Iterator[list[Pair]]:
    """Rows of one pair of each label, shorter where a label has no more."""
    for place in range(max(map(len, drawn))):
        yield [pairs[place] for pairs in drawn if place < len(pairs)]
