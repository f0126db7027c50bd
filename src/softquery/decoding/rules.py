"""What a generated text must keep to: lengths, a prefix, banned, required and placed tokens.

Conflicts that can be seen beforehand raise an `InputError`:

| asked | answer |
|---|---|
| a prefix longer than the longest length | error |
| a prefix with a banned token, or with one that its place does not admit | error |
| a prefix that the constraint would not have admitted | error |
| a prefix, banned or required token outside of the vocabulary | error |
| an end of text inside the prefix or among the required tokens | error |
| a required token that is banned | error |
| more required tokens than there is room for | error |
| places or a constraint that leave no token at some point | that hypothesis is given up |
| every hypothesis given up | no hypothesis for this sentence: an empty list, not an error |

Whatever is returned keeps all rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from softquery.decoding.step import Ids, Mask
from softquery.errors import InputError, counted
from softquery.text import BOS_ID, EOS_ID, PAD_ID

NEVER = (PAD_ID, BOS_ID)
"""Tokens that no text holds."""


class Constraint(Protocol):
    """Which tokens may follow, given what a sentence's hypotheses hold already."""

    def __call__(self, tokens: Ids) -> Mask:
        """From hypotheses [N, T] to what may stand at place T of each: [N, V].

        The column of `<eos>` is obeyed, too, but for a length that leaves no choice.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """Rules for one sentence, or for all of a batch. Tokens are numbers of the vocabulary.

    >>> Rules(prefix=(7, 8), banned=(8,))
    Traceback (most recent call last):
        ...
    softquery.errors.InputError: the prefix holds token 8, which is banned
    """

    min_length: int = 0
    """Fewest tokens; the end is not counted."""
    max_length: int = 128
    """Most tokens; a hypothesis that has as many ends there."""
    prefix: tuple[int, ...] = ()
    """The tokens a text begins with."""
    banned: tuple[int, ...] = ()
    """Tokens it never holds; those of padding and of the beginning need not be named."""
    required: tuple[int, ...] = ()
    """Tokens it holds at least once each, anywhere."""
    places: Mapping[int, Sequence[int] | Ids] = field(default_factory=dict)
    """The tokens that may stand at a place, counted from 0; other places admit all."""
    constraint: Constraint | None = None
    """Rules that depend on the tokens before."""

    def __post_init__(self) -> None:
        if not 0 <= self.min_length <= self.max_length:
            raise ValueError(
                f"min_length ({self.min_length}) must be in [0, max_length ({self.max_length})]"
            )
        self._check_prefix()
        for token in self.required:
            if token in self.banned or token in (*NEVER, EOS_ID):
                raise InputError(f"token {token} is required, but may not come")
        room = self.max_length - len(self.prefix)
        if (missing := len(set(self.required) - set(self.prefix))) > room:
            many = counted(missing, "required token does", "required tokens do")
            raise InputError(f"{many} not fit where {room} may come")

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
