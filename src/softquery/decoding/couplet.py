"""The form of a couplet as rules for decoding its lower line, character by character.

See `softquery.text.couplets` for the form itself.

N rows (hypotheses), L places of the line, V tokens of the vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from softquery.decoding.rules import Rules
from softquery.decoding.step import Ids, Mask
from softquery.errors import InputError
from softquery.text import (
    OPPOSITE,
    UNK_ID,
    Tone,
    first_places,
    is_han,
    is_sign,
    last_word,
    tone_of,
)

CoupletRule = Literal["form", "repeats", "tones"]
"""Length and signs; characters and where they repeat; the tone at the end."""
COUPLET_RULES: tuple[CoupletRule, ...] = get_args(CoupletRule)


@dataclass(frozen=True, slots=True)
class Characters:
    """Properties of the entries of a vocabulary, for the rules of couplets."""

    entries: tuple[str, ...]
    numbers: dict[str, int]
    is_han: Mask
    """[V]: one Chinese character."""
    is_word: Mask
    """[V]: neither a sign nor reserved."""
    tones: dict[Tone, Mask]

    @classmethod
    def of(cls, entries: Sequence[str], num_reserved: int) -> "Characters":
        """Classify every entry of a vocabulary.

        >>> Characters.of(["<pad>", "春", "，"], 1).is_word.tolist()
        [False, True, False]
        """
        free = [number >= num_reserved for number in range(len(entries))]
        known = [tone_of(entry) for entry in entries]
        return cls(
            entries=tuple(entries),
            numbers={entry: number for number, entry in enumerate(entries)},
            is_han=np.array([a and is_han(e) for a, e in zip(free, entries, strict=True)]),
            is_word=np.array([a and not is_sign(e) for a, e in zip(free, entries, strict=True)]),
            tones={tone: np.array([each == tone for each in known]) for tone in OPPOSITE},
        )


def couplet_rules(
    upper: Sequence[str],
    characters: Characters,
    *,
    rules: Sequence[CoupletRule] = ("form", "repeats"),
    prefix: tuple[int, ...] = (),
    banned: tuple[int, ...] = (),
    required: tuple[int, ...] = (),
) -> Rules:
    """Rules for a lower line; under any of them it is as long as the upper line.

    A required token that the rules exclude raises an `InputError`.

    Args:
        upper: The tokens of the upper line as written, known to the model or not.
        characters: Those of the vocabulary.
        rules: Which rules hold.
        prefix: Tokens that the lower line begins with.
        banned: Tokens that it must not hold.
        required: Tokens that it must hold.

    >>> characters = Characters.of(["<pad>", "<unk>", "<bos>", "<eos>", "春", "秋", "，"], 4)
    >>> made = couplet_rules(["春", "，", "春"], characters)
    >>> made.min_length, made.max_length, dict(made.places)
    (3, 3, {1: (6,)})
    >>> made.constraint(np.array([[5, 6]]))[0].nonzero()[0].tolist()
    [5]
    """
    form = CoupletForm(upper, characters, rules)
    places = {
        place: (characters.numbers.get(token, UNK_ID),)
        for place, token in enumerate(upper)
        if "form" in rules and is_sign(token)
    }
    for token in required:
        admitted = (
            token in places[place] if place in places else form.admits(place, token)
            for place in range(len(upper))
        )
        if not any(admitted):
            raise InputError(f"token {token} is required, but not allowed")
    return Rules(
        min_length=len(upper),
        max_length=len(upper),
        prefix=prefix,
        banned=banned,
        required=required,
        places=places,
        constraint=form,
    )


class CoupletForm:
    """Which characters may come next in a lower line; see `Constraint`.

    Args:
        upper: The tokens of the upper line as written.
        characters: Those of the vocabulary.
        rules: Which rules hold.
    """

    def __init__(
        self, upper: Sequence[str], characters: Characters, rules: Sequence[CoupletRule]
    ) -> None:
        self.characters, self.rules = characters, frozenset(rules)
        self.signs = [is_sign(token) for token in upper]
        self.first = first_places(upper)
        self.han = [is_han(token) for token in upper]
        self.fresh = np.ones(len(characters.entries), np.bool_)
        numbers = (characters.numbers.get(token) for token in set(upper))
        self.fresh[[number for number in numbers if number is not None]] = False
        self.tone, self.tone_place = self._tone(upper)

    def __call__(self, tokens: Ids) -> Mask:
        """The tokens allowed at place T of each unfinished line [N, T]: [N, V]."""
        place = tokens.shape[1]
        shape = (len(tokens), len(self.characters.entries))
        if place >= len(self.signs) or self.signs[place]:
            return np.ones(shape, np.bool_)  # decided by `places` and the length alone
        if "repeats" in self.rules and self.first[place] < place:
            before = tokens[:, self.first[place]]
            forced: Mask = np.arange(shape[1]) == before[:, None]
            return forced
        found: Mask = np.broadcast_to(self._at(place), shape).copy()
        if "repeats" in self.rules:
            words = [p for p in range(place) if not self.signs[p]]
            found[np.arange(len(tokens))[:, None], tokens[:, words]] = False
        return found

    def admits(self, place: int, token: int) -> bool:
        """Whether a token is allowed at a place, regardless of the tokens before it.

        >>> characters = Characters.of(["<pad>", "<unk>", "<bos>", "<eos>", "春", "秋"], 4)
        >>> form = CoupletForm(["春"], characters, ["repeats"])
        >>> form.admits(0, 4), form.admits(0, 5)
        (False, True)
        """
        return self.signs[place] or bool(self._at(place)[token])

    def _at(self, place: int) -> Mask:
        """The tokens allowed at a place, regardless of the tokens before it: [V]."""
        characters = self.characters
        mask = characters.is_han if self.han[place] else characters.is_word
        if "repeats" in self.rules:
            mask = mask & self.fresh
        if self.tone is not None and place == self.tone_place:
            mask = mask & characters.tones[self.tone]
        return mask

    def _tone(self, upper: Sequence[str]) -> tuple[Tone | None, int]:
        """The tone that the line must end in, and the place where that character is chosen."""
        end = last_word(upper)
        if "tones" not in self.rules or end is None:
            return None, -1
        heard = tone_of(upper[end])
        place = self.first[end] if "repeats" in self.rules else end
        return (None if heard is None else OPPOSITE[heard]), place
