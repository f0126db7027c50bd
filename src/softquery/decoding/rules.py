"""Rules for generated texts: lengths, a prefix, banned, required and allowed tokens.

Conflicts that are known before decoding raise an `InputError`:

| rule | result |
|---|---|
| a prefix longer than `max_length` | error |
| a prefix with a banned token, or with one that its place does not admit | error |
| a prefix that the constraint does not admit | error |
| a prefix, banned or required token that is not in the vocabulary | error |
| an end token in the prefix or among the required tokens | error |
| a required token that is banned | error |
| more required tokens than there is room for | error |
| places or a constraint that allow no token at some point | that hypothesis is dropped |
| every hypothesis dropped | no hypothesis for this sentence: an empty list, not an error |

Whatever is returned obeys all rules.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from softquery.decoding.step import NOTHING, Ids, Mask
from softquery.errors import InputError, counted
from softquery.text import BOS_ID, EOS_ID, PAD_ID

NEVER = (PAD_ID, BOS_ID)
"""Tokens that never occur in a text."""


class Constraint(Protocol):
    """Which tokens may follow the tokens of a sentence's hypotheses."""

    def __call__(self, tokens: Ids) -> Mask:
        """The tokens allowed at place T of each hypothesis [N, T]: [N, V].

        The column of `<eos>` counts, too, unless the length leaves no choice.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """Rules for one sentence, or for all of a batch. Tokens are ids of the vocabulary.

    >>> Rules(prefix=(7, 8), banned=(8,))
    Traceback (most recent call last):
        ...
    softquery.errors.InputError: the prefix holds token 8, which is banned
    """

    min_length: int = 0
    """The fewest tokens, the end token not counted."""
    max_length: int = 128
    """The most tokens; a hypothesis of this length ends."""
    prefix: tuple[int, ...] = ()
    """The tokens that a text begins with."""
    banned: tuple[int, ...] = ()
    """Tokens that a text never holds; padding and `<bos>` are always banned."""
    required: tuple[int, ...] = ()
    """Tokens that a text holds at least once each, anywhere."""
    places: Mapping[int, Sequence[int] | Ids] = field(default_factory=dict)
    """The tokens allowed at a place, counted from 0; other places allow all."""
    constraint: Constraint | None = None
    """A rule that depends on the tokens before."""

    def __post_init__(self) -> None:
        if not 0 <= self.min_length <= self.max_length:
            raise ValueError(
                f"min_length ({self.min_length}) must be in [0, max_length ({self.max_length})]"
            )
        self._check_prefix()
        for token in self.required:
            if token in self.banned or token in (*NEVER, EOS_ID):
                raise InputError(f"token {token} is required, but not allowed")
        room = self.max_length - len(self.prefix)
        if (missing := len(set(self.required) - set(self.prefix))) > room:
            many = counted(missing, "required token does", "required tokens do")
            raise InputError(f"{many} not fit into the remaining length of {room}")

    def _check_prefix(self) -> None:
        if len(self.prefix) > self.max_length:
            raise InputError(
                f"the prefix has {counted(len(self.prefix), 'token')}, more than the longest "
                f"length, {self.max_length}"
            )
        for place, token in enumerate(self.prefix):
            if token in (*NEVER, EOS_ID):
                raise InputError(f"the prefix holds token {token}, which marks an end of the text")
            if token in self.banned:
                raise InputError(f"the prefix holds token {token}, which is banned")
            if token not in self.places.get(place, (token,)):
                raise InputError(f"the prefix holds token {token} where it may not stand")


class BannedPhrases:
    """A `Constraint`: no hypothesis holds any of these sequences of tokens.

    Args:
        phrases: Sequences of at least one token.
        vocab_size: The size V of the vocabulary.

    >>> BannedPhrases([(1, 2)], 4)(np.array([[0, 1], [1, 0]])).tolist()
    [[True, True, False, True], [True, True, True, True]]
    """

    def __init__(self, phrases: Sequence[Sequence[int]], vocab_size: int) -> None:
        self.phrases = [np.array(phrase, np.int64) for phrase in phrases]
        self.vocab_size = vocab_size

    def __call__(self, tokens: Ids) -> Mask:
        """The tokens that may follow each row: [N, V]."""
        found = np.ones((len(tokens), self.vocab_size), np.bool_)
        for phrase in self.phrases:
            before = len(phrase) - 1
            if tokens.shape[1] < before:
                continue
            ends = tokens[:, tokens.shape[1] - before :]
            found[(ends == phrase[:-1]).all(axis=1), phrase[-1]] = False
        return found


class AllOf:
    """A `Constraint` that joins several: a token is allowed if all of them allow it.

    Args:
        constraints: At least one constraint.
    """

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self.constraints = tuple(constraints)

    def __call__(self, tokens: Ids) -> Mask:
        """The tokens that all constraints allow: [N, V]."""
        masks = [constraint(tokens) for constraint in self.constraints]
        found: Mask = np.logical_and.reduce(masks)
        return found


class RuleBook:
    """The rules of a batch: which tokens may follow in every row, and which are still required.

    Args:
        rules: One for all sentences, or one per sentence.
        num_sentences: The number of sentences.
        vocab_size: The size V of the vocabulary.
    """

    def __init__(self, rules: Rules | Sequence[Rules], num_sentences: int, vocab_size: int) -> None:
        self.rules = [rules] * num_sentences if isinstance(rules, Rules) else list(rules)
        if len(self.rules) != num_sentences:
            raise ValueError(f"{num_sentences} sentences, but rules for {len(self.rules)}")
        self.vocab_size = vocab_size
        # Sentences with the same rules share the masks that are made of them.
        self._numbers = {id(each): each for each in self.rules}
        self._base = {number: self._unbanned(each) for number, each in self._numbers.items()}
        for each in self._numbers.values():
            self._check_prefix(each)
        self._is_constrained = any(each.constraint is not None for each in self.rules)
        required = sorted({token for each in self._numbers.values() for token in each.required})
        self._checked(required)
        self.required: Ids = np.array(required, np.int64) if required else NOTHING
        """[W]: the required tokens of all sentences together."""
        self._requires = np.array(
            [[token in each.required for token in required] for each in self.rules], dtype=np.bool_
        ).reshape(num_sentences, len(required))

    def missing(self, sentences: Ids, tokens: Ids) -> Mask:
        """Which of `required` [W] each row [N] still lacks."""
        present = (tokens[:, :, None] == self.required).any(axis=1)
        lacking: Mask = self._requires[sentences] & ~present
        return lacking

    def num_required(self, sentences: Ids) -> Ids:
        """How many tokens each row's sentence requires."""
        counts: Ids = self._requires[sentences].sum(axis=1)
        return counts

    def max_lengths(self, sentences: Ids) -> Ids:
        """The maximal length of each row."""
        return np.array([self.rules[sentence].max_length for sentence in sentences], np.int64)

    def allowed(self, sentences: Ids, tokens: Ids, *, may_end: Mask) -> Mask:
        """The tokens that may follow in each row: [N, V], or [1, V] where all rows are alike.

        Args:
            sentences: The sentence of each row: [N].
            tokens: The tokens of each row: [N, T].
            may_end: Rows [N] that may see the end token while required tokens are missing, because
                the search then takes one of these instead.
        """
        place = tokens.shape[1]
        masks = {
            number: self._at(self._numbers[number], place)
            for number in {id(self.rules[sentence]) for sentence in sentences}
        }
        first, *others = masks.values()
        if all(first is each or np.array_equal(first, each) for each in others):
            found = first[None]
        else:
            found = np.stack([masks[id(self.rules[sentence])] for sentence in sentences])
        if self._is_constrained:
            found = self._constrained(found, sentences, tokens)
        if len(self.required):
            found = self._with_required(found, sentences, tokens, may_end)
        return found

    def _unbanned(self, rules: Rules) -> Mask:
        mask = np.ones(self.vocab_size, np.bool_)
        mask[[token for token in NEVER if token < self.vocab_size]] = False
        mask[self._checked(rules.banned)] = False
        self._checked(rules.prefix)
        for tokens in rules.places.values():
            self._checked(tokens)
        return mask

    def _at(self, rules: Rules, place: int) -> Mask:
        """The tokens that the rules allow at a place, regardless of the tokens before it."""
        if place < len(rules.prefix):
            return self._only([rules.prefix[place]])
        if place >= rules.max_length:
            return self._only([EOS_ID])
        mask = self._base[id(rules)]
        if place in rules.places:
            mask = mask & self._only(np.append(rules.places[place], EOS_ID))
        if place < rules.min_length:
            mask = mask & ~self._only([EOS_ID])
        return mask

    def _constrained(self, found: Mask, sentences: Ids, tokens: Ids) -> Mask:
        """Apply constraints where a choice is left: after the prefix, before the maximal length."""
        place, is_own = tokens.shape[1], False
        for sentence in np.unique(sentences):
            rules = self.rules[sentence]
            if rules.constraint is None or not len(rules.prefix) <= place < rules.max_length:
                continue
            if not is_own:
                found = np.broadcast_to(found, (len(sentences), self.vocab_size)).copy()
                is_own = True
            rows = np.flatnonzero(sentences == sentence)
            found[rows] &= rules.constraint(tokens[rows])
        return found

    def _with_required(self, found: Mask, sentences: Ids, tokens: Ids, may_end: Mask) -> Mask:
        """Forbid the end while tokens are missing, and all else where they need all room left."""
        missing = self.missing(sentences, tokens)
        counts = missing.sum(axis=1)
        if not counts.any():
            return found
        found = np.broadcast_to(found, (len(sentences), self.vocab_size)).copy()
        room = self.max_lengths(sentences) - tokens.shape[1]
        place = tokens.shape[1]
        for row in np.flatnonzero(counts):
            if place < len(self.rules[sentences[row]].prefix):
                continue
            if counts[row] >= room[row]:
                found[row] &= self._only(self.required[missing[row]])
            elif not (may_end[row] and found[row, self.required[missing[row]]].any()):
                found[row, EOS_ID] = False
        return found

    def _only(self, tokens: Sequence[int] | Ids) -> Mask:
        mask = np.zeros(self.vocab_size, np.bool_)
        mask[np.asarray(tokens, np.int64)] = True
        return mask

    def _check_prefix(self, rules: Rules) -> None:
        if rules.constraint is None:
            return
        for place, token in enumerate(rules.prefix):
            before = np.array([rules.prefix[:place]], np.int64).reshape(1, place)
            if not rules.constraint(before)[0, token]:
                raise InputError(
                    f"the prefix holds token {token}, which the constraint does not admit at "
                    f"place {place}"
                )

    def _checked(self, tokens: Iterable[int]) -> list[int]:
        known = list(tokens)
        for token in known:
            if not 0 <= token < self.vocab_size:
                raise InputError(
                    f"token {token} is not in the vocabulary of {self.vocab_size} tokens"
                )
        return known
