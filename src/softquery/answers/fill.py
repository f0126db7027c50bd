"""What may stand where a word was hidden."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Filled:
    """A word for a mask.

    Attributes:
        word: As the vocabulary spells it; a piece that continues the word before it begins with
            `##`. A candidate as it was given.
        score: Its probability among all pieces of the vocabulary; that of a candidate of several
            pieces is the product of theirs, from left to right.
        sentence: The text with the word in place of this mask; other masks stay.
        mask: Which mask of the text, counted from 1.
    """

    word: str
    score: float
    sentence: str
    mask: int = 1


def filled_record(text: str, found: list[Filled]) -> dict[str, Any]:
    """The words for all masks of a text as a JSON record that repeats it, scores to six digits.

    >>> filled_record("a [MASK]", [Filled("cat", 0.25, "a cat")])["masks"]
    [[{'word': 'cat', 'score': 0.25, 'sentence': 'a cat'}]]
    """
    num_masks = max((each.mask for each in found), default=0)
    masks: list[list[dict[str, Any]]] = [[] for _ in range(num_masks)]
    for each in found:
        # Candidates of several pieces have scores that decimals would make zero.
        score = float(f"{each.score:.6g}")
        masks[each.mask - 1].append({"word": each.word, "score": score, "sentence": each.sentence})
    return {"text": text, "masks": masks}
