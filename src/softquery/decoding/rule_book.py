"""The rules of a batch, ready to be asked at every step.

N rows (hypotheses), T tokens of each so far, V tokens of the vocabulary, W required tokens of all
sentences.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from softquery.decoding.rules import NEVER, Rules
from softquery.decoding.step import NOTHING, Ids, Mask
from softquery.errors import InputError
from softquery.text import EOS_ID


class RuleBook:
    """Says which tokens may come next in every row, and which required ones are missing.

    Args:
        rules: One for all sentences, or one each.
        num_sentences: Sentences.
        vocab_size: V.
    """

    def __init__(self, rules: Rules | Sequence[Rules], num_sentences: int, vocab_size: int) -> None:
        self.rules = [rules] * num_sentences if isinstance(rules, Rules) else list(rules)
        if len(self.rules) != num_sentences:
            raise ValueError(f"{num_sentences} sentences, but rules for {len(self.rules)}")
        self.vocab_size = vocab_size
        # Sentences that share their rules share what is made of them.
        self._numbers = {id(each): each for each in self.rules}
        self._base = {number: self._unbanned(each) for number, each in self._numbers.items()}
        for each in self._numbers.values():
            self._check_prefix(each)
        self._is_constrained = any(each.constraint is not None for each in self.rules)
        required = sorted({token for each in self._numbers.values() for token in each.required})
        self._checked(required)
        self.required: Ids = np.array(required, np.int64) if required else NOTHING
        """[W], for all sentences together."""
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
        """The longest length of each row."""
        return np.array([self.rules[sentence].max_length for sentence in sentences], np.int64)

    def allowed(self, sentences: Ids, tokens: Ids, *, may_end: Mask) -> Mask:
        """What may follow in each row: [N, V], or [1, V] where it is the same for all.

        Args:
            sentences: Whose rows they are: [N].
            tokens: What they hold: [N, T].
            may_end: Rows [N] for which the end is shown while required tokens are missing, because
                the search will then take one of these in its place.
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
        """What the rules admit at a place, whatever stands before it."""
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
        """Constraints apply where a choice is left: after the prefix, before the longest length."""
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
        """No end while tokens are missing, and nothing else once there is room for them alone."""
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
