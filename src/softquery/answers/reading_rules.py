"""What an answer may be, and how contexts are cut for it: it travels with a reader."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from softquery.answers.pages import Paging

NoAnswer = Literal["never", "learnt"]
Counting = Literal["squad", "cmrc"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadingRules:
    """How questions about a context are answered and compared."""

    no_answer: NoAnswer = "never"
    """`"learnt"` where the context may hold no answer; rows without one in training make it so."""
    max_words: int = 20
    """The most words of an answer."""
    step: int = 256
    """Words from the beginning of a page to that of the next one, where a context is long."""
    max_question: int = 40
    """Words of a question that are read."""
    counting: Counting = "squad"
    """How answers are compared: by words as SQuAD does, or by Chinese characters as CMRC does."""

    def __post_init__(self) -> None:
        for name, kind in (("no_answer", NoAnswer), ("counting", Counting)):
            if getattr(self, name) not in get_args(kind):
                known = ", ".join(get_args(kind))
                raise ValueError(f"{name} must be one of {known}, got {getattr(self, name)!r:.40}")
        for name in ("max_words", "step", "max_question"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r:.40}")

    def paging(self, size: int) -> Paging:
        """Pages of so many words.

        Every span of `max_words` words lies whole on one of them, if a page has that many more
        than a step.
        """
        return Paging(size=size, step=min(self.step, size), max_question=self.max_question)

    @property
    def abstain_below(self) -> float:
        """The score under which there is no answer, where a bundle's calibration says no other.

        Where it is learnt that there may be none, a half: below it none is likelier.
        """
        return 0.5 if self.no_answer == "learnt" else 0.0

    def to_dict(self) -> dict[str, Any]:
        """As they stand in a bundle's config."""
        return asdict(self)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> "ReadingRules":
        """Read strictly what `to_dict` gave; a `ValueError` names what does not fit.

        >>> ReadingRules.from_dict({"name": "read", "max_words": 9}).max_words
        9
        """
        known = {each.name for each in fields(cls)}
        given = {name: value for name, value in config.items() if name != "name"}
        if unknown := sorted(set(given) - known):
            raise ValueError(f"task has no setting {unknown[0]!r:.40}")
        return cls(**given)
