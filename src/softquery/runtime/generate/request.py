"""What is asked of a generator: how it searches, and what its texts keep to. Needs no torch."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from softquery.answers import Generated
from softquery.decoding import (
    COUPLET_RULES,
    AllOf,
    BannedPhrases,
    Beam,
    Characters,
    CoupletRule,
    Rules,
    Strategy,
    couplet_rules,
)
from softquery.errors import ConfigError, InputError
from softquery.runtime.call_checks import SOURCE_COLUMNS, listed_texts
from softquery.runtime.given_texts import Texts
from softquery.text import UNK_ID, TextPipeline, reserved_tokens

Rank = Literal["likelihood", "both_ways"]
LONGEST = 256
"""Tokens that no text exceeds unless it is asked for."""


REMEMBERED = 512
"""Rules that are kept for sources to come."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateRequest:
    """How texts are searched, and what they must keep to."""

    strategy: Strategy = Beam()
    prefix: str = ""
    """What every text begins with."""
    min_length: int = 0
    """Fewest tokens."""
    max_length: int | None = None
    """Most tokens; by default twice the source's and twenty."""
    ban: tuple[str, ...] = ()
    """Words that may not come."""
    require: tuple[str, ...] = ()
    """Words that must come, each one token of the model's."""
    rules: tuple[CoupletRule, ...] | None = None
    """Rules of couplets; by default those of the bundle: its form and its repeats."""
    rank: Rank = "likelihood"
    """What orders the texts that a search has found; `"both_ways"`, for couplets, also asks how
    well the upper line is predicted from each (see `ranked_both_ways`)."""

    def __post_init__(self) -> None:
        for name, words in (("ban", self.ban), ("require", self.require)):
            if isinstance(words, str):
                raise ConfigError(f"{name} must be a list of words, got {words!r:.40}")
        for name, count in (("min_length", self.min_length), ("max_length", self.max_length)):
            if isinstance(count, bool) or not isinstance(count, (int, type(None))):
                raise ConfigError(f"{name} must be a whole number, got {count!r:.40}")
        if self.min_length < 0 or (self.max_length is not None and self.max_length < 1):
            raise ConfigError("min_length must not be negative and max_length at least 1")
        if self.max_length is not None and self.min_length > self.max_length:
            raise ConfigError(
                f"min_length ({self.min_length}) is above max_length ({self.max_length})"
            )
        if self.rank not in get_args(Rank):
            raise ConfigError(f"rank must be {' or '.join(get_args(Rank))}, got {self.rank!r:.40}")
        for rule in self.rules or ():
            if rule not in COUPLET_RULES:
                raise ConfigError(f"unknown rule {rule!r} (known: {', '.join(COUPLET_RULES)})")


@dataclass(frozen=True, slots=True)
class SourceText:
    """A source as a model reads it."""

    text: str
    ids: list[int]
    """With both ends."""
    tokens: tuple[str, ...]
    """Without the ends, as they are spelt: what the vocabulary lacks stands as in the text."""
    num_cut: int
    num_unknown: int


def checked_request(request: GenerateRequest | None) -> GenerateRequest:
    """What a caller asks for; by default a beam."""
    if request is not None and not isinstance(request, GenerateRequest):
        raise ConfigError(f"expected a GenerateRequest, got {request!r:.60}")
    return request or GenerateRequest()


def read_sources(texts: Texts, pipeline: TextPipeline) -> list[SourceText]:
    """Texts as tokens; an empty one is refused."""
    texts = listed_texts(texts, columns=SOURCE_COLUMNS)
    for number, text in enumerate(texts, 1):
        if not text.strip():
            raise InputError("is empty, expected a text", source="the texts", row=number)
    found = []
    for text, encoded in zip(texts, pipeline.encode(texts), strict=True):
        parts = list(zip(encoded.ids, encoded.tokens, encoded.offsets, strict=True))[1:-1]
        spelt = tuple(text[slice(*at)] if i == UNK_ID else token for i, token, at in parts)
        num_unknown = sum(number == UNK_ID for number, _, _ in parts)
        found.append(SourceText(text, encoded.ids, spelt, encoded.num_cut, num_unknown))
    return found


class RuleMaker:
    """Turns what is asked in words into rules over a model's tokens.

    Args:
        pipeline: Of the bundle.
        form: `"free"` or `"couplet"`.
        max_length: The most tokens that the model can write; None for any number.
    """

    def __init__(self, pipeline: TextPipeline, form: str, max_length: int | None) -> None:
        self.pipeline, self.form, self.most = pipeline, form, max_length
        entries = pipeline.vocabulary()
        reserved = len(reserved_tokens(pipeline.config.unit))
        self.characters = Characters.of(entries, reserved) if form == "couplet" else None
        self._made: dict[object, Rules] = {}

    def couplet_rules_of(self, request: GenerateRequest) -> tuple[CoupletRule, ...]:
        """Which rules of couplets hold."""
        if request.rules is not None:
            if request.rules and self.characters is None:
                raise ConfigError("rules of couplets are for models of couplets")
            return request.rules
        return () if self.characters is None else ("form", "repeats")

    def __call__(self, source: SourceText, request: GenerateRequest) -> Rules:
        """What one text must keep to; a conflict names what conflicts.

        Texts that must keep to the same share their rules, which a search then looks at once.
        """
        rules = self.couplet_rules_of(request)
        if rules and (request.min_length or request.max_length is not None):
            raise ConfigError(
                "a lower line is as long as its upper line: no least or longest length goes with "
                f"the rules {', '.join(rules)}"
            )
        shape: object = source.tokens if rules else self._longest(source, request)
        key = (request, shape)
        made = self._made.get(key)
        if made is None:
            made = self._rules(source, request, rules)
            if len(self._made) >= REMEMBERED:  # by whichever thread comes first
                self._made.clear()
            self._made[key] = made
        return made

    def _rules(
        self, source: SourceText, request: GenerateRequest, rules: tuple[CoupletRule, ...]
    ) -> Rules:
        prefix, required, phrases = self._words(request)
        banned = tuple(each[0] for each in phrases if len(each) == 1)
        try:
            if rules and self.characters is not None:
                made = couplet_rules(
                    source.tokens, self.characters, rules=rules, prefix=prefix,
                    banned=banned if "form" in rules else (*banned, UNK_ID), required=required,
                )  # fmt: skip
            else:
                longest = self._longest(source, request)
                made = Rules(
                    min_length=min(request.min_length, longest), max_length=longest, prefix=prefix,
                    banned=(*banned, UNK_ID), required=required,
                )  # fmt: skip
        except InputError as error:
            raise InputError(self._in_words(error.message)) from None
        return self._without_phrases(made, [each for each in phrases if len(each) > 1])

    def check_words(self, request: GenerateRequest) -> None:
        """Refuse words that the model lacks or that contradict each other, whatever the source."""
        prefix, required, phrases = self._words(request)
        banned = tuple(each[0] for each in phrases if len(each) == 1)
        longest = request.max_length or sys.maxsize
        try:
            Rules(max_length=longest, prefix=prefix, banned=banned, required=required)
        except InputError as error:
            raise InputError(self._in_words(error.message)) from None

    def check_prefix(self, rules: Rules, request: GenerateRequest) -> None:
        """Refuse a prefix that the constraint would not have admitted, naming its token."""
        if rules.constraint is None:
            return
        for place, token in enumerate(rules.prefix):
            before = np.array([rules.prefix[:place]], np.int64).reshape(1, place)
            if not rules.constraint(before)[0, token]:
                raise InputError(
                    f"the prefix {request.prefix!r:.80} breaks the rules at its token "
                    f"{self._spelt(token)!r}"
                )

    def _words(
        self, request: GenerateRequest
    ) -> tuple[tuple[int, ...], tuple[int, ...], list[tuple[int, ...]]]:
        """The tokens of the prefix, of required words, and of each banned one."""
        prefix = self._ids(request.prefix) if request.prefix else ()
        # A sign that the model lacks is taken from the upper line of a couplet.
        if UNK_ID in prefix and self.characters is None:
            raise InputError(f"prefix: the model's vocabulary does not hold {request.prefix!r:.80}")
        required = tuple(self._single(word) for word in request.require)
        return prefix, required, [self._known(word, "banned") for word in request.ban]

    def _without_phrases(self, rules: Rules, phrases: list[tuple[int, ...]]) -> Rules:
        if not phrases:
            return rules
        banned = BannedPhrases(phrases, self.pipeline.vocab_size)
        constraints = [banned] if rules.constraint is None else [rules.constraint, banned]
        return replace(rules, constraint=AllOf(constraints))

    def _longest(self, source: SourceText, request: GenerateRequest) -> int:
        asked = request.max_length
        if asked is None:
            asked = max(min(2 * len(source.tokens) + 20, LONGEST), request.min_length)
            return asked if self.most is None else min(asked, self.most)
        if self.most is not None and asked > self.most:
            raise ConfigError(
                f"max_length {asked} is more than the {self.most} positions that the model has"
            )
        return asked

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self.pipeline.encode_ids([text])[0][1:-1])

    def _known(self, word: str, what: str) -> tuple[int, ...]:
        ids = self._ids(word)
        if not ids or UNK_ID in ids:
            raise InputError(f"{what}: the model's vocabulary does not hold {word!r:.80}")
        return ids

    def _single(self, word: str) -> int:
        ids = self._known(word, "required")
        if len(ids) > 1:
            pieces = " ".join(map(self._spelt, ids))
            raise InputError(
                f"required: {word!r:.80} is {len(ids)} tokens of the model ({pieces}); only what "
                "is one token can be required"
            )
        return ids[0]

    def _spelt(self, token: int) -> str:
        return str(self.pipeline.tokenizer.id_to_token(token))

    def _in_words(self, message: str) -> str:
        """A message about token numbers with the tokens as they are spelt."""
        words = message.split()
        for place, word in enumerate(words[:-1]):
            number = words[place + 1].rstrip(",")
            if word == "token" and number.isdigit():
                spelt = repr(self._spelt(int(number)))
                words[place + 1] = words[place + 1].replace(number, spelt)
        return " ".join(words)


Likelihoods = Callable[[Sequence[str], Sequence[str]], tuple[Any, Any]]
"""Of `Generator.log_likelihoods`."""


def all_found(strategy: Strategy) -> Strategy:
    """The same search, which hands over all that it keeps."""
    return replace(strategy, num_best=strategy.size) if isinstance(strategy, Beam) else strategy


def ranked_both_ways(
    found: Sequence[Sequence[Generated]],
    uppers: Sequence[str],
    strategy: Strategy,
    log_likelihoods: Likelihoods,
) -> list[list[Generated]]:
    """Candidates for a lower line, ordered by how well both lines of a couplet answer each other.

    A search follows how likely a line is after the upper line, and what is common is likely after
    anything. How well the upper line is predicted from the lower one tells lines apart that fit (Li
    et al. 2016, "A Diversity-Promoting Objective Function for Neural Conversation Models",
    MMI-bidi, which weighs both directions as well). Theirs is a second model; a couplet's lines may
    trade places, so one model reads both. There are as many as the strategy asks for, best first.

    A score becomes the mean log-likelihood of a token, over both lines.

    Args:
        found: Candidates for each upper line.
        uppers: The upper lines.
        strategy: As it was asked for.
        log_likelihoods: What the model says of the upper lines after the lower ones.
    """
    pairs = [(line, upper) for lines, upper in zip(found, uppers, strict=True) for line in lines]
    if not pairs:
        return [[] for _ in found]
    backwards, counts = log_likelihoods([line.text for line, _ in pairs], [u for _, u in pairs])
    scores = (
        float(line.log_probability + back) / (len(line.tokens) + 1 + int(count))
        for (line, _), back, count in zip(pairs, backwards, counts, strict=True)
    )
    scored = [[replace(line, score=next(scores)) for line in lines] for lines in found]
    num_best = getattr(strategy, "num_best", None)
    return [sorted(lines, key=lambda line: -line.score)[:num_best] for lines in scored]
