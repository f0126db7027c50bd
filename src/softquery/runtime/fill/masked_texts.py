"""Texts with masks as rows of pieces, and what is refused in them. Needs no torch."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from softquery.errors import ConfigError, InputError
from softquery.runtime.bert.backend import BertRow
from softquery.runtime.fill.backend import MaskedRow
from softquery.text import BERT_MASK, BERT_RESERVED, PieceEncoder, TextPipeline

MOST_MASKS = 64
"""The most masks of one text: each costs a row of logits as wide as the vocabulary."""
_OTHER_MARK = re.compile(r"[\[<({]\s*mask\s*[\]>)}]", re.IGNORECASE)
"""A mask as another model, or nobody, would spell it."""
_GAP = re.compile(r"\[[A-Za-z ]{1,20}\]|<[A-Za-z]{1,20}>|_{2,}")
"""What people write for a gap."""


@dataclass(frozen=True, slots=True)
class TextWithMasks:
    """A text, the ids of its pieces between their marks, and where its masks are."""

    text: str
    ids: list[int]
    places: list[int]
    """Of the masks among the pieces."""
    spans: list[tuple[int, int]]
    """Of the masks in the text."""

    def row(self) -> MaskedRow:
        """The text as it is, asked for all masks."""
        return MaskedRow(BertRow.of(self.ids), self.places)

    def spelt(self, mask: int, pieces: Sequence[int], mask_id: int) -> list[MaskedRow]:
        """Rows that ask for the pieces of one word one after the other, from left to right.

        The mask becomes as many masks as the word has pieces, which are then filled in; other
        masks stay.

        >>> text = TextWithMasks("a [MASK]", [2, 5, 4, 3], [2], [(2, 8)])
        >>> [(each.row.ids, each.places) for each in text.spelt(0, [8, 9], 4)]
        [([2, 5, 4, 4, 3], [2]), ([2, 5, 8, 4, 3], [3])]
        """
        place, count = self.places[mask], len(pieces)
        before, after = self.ids[:place], self.ids[place + 1 :]
        return [
            MaskedRow(
                BertRow.of([*before, *pieces[:done], *[mask_id] * (count - done), *after]),
                [place + done],
            )
            for done in range(count)
        ]

    def sentence(self, mask: int, word: str) -> str:
        """The text with a word in place of one mask; a continuing piece joins the word before it.

        >>> TextWithMasks("sing [MASK]!", [2, 5, 4, 3], [2], [(5, 11)]).sentence(0, "##ing")
        'singing!'
        """
        start, end = self.spans[mask]
        before, after = self.text[:start], self.text[end:]
        if word.startswith("##") and len(word) > 2:
            return f"{before.rstrip()}{word[2:]}{after}"
        return f"{before}{word}{after}"


class MaskReader:
    """Finds the masks of texts.

    Args:
        pipeline: Of the bundle.
        limit: The most pieces of a row, both marks included.
    """

    def __init__(self, pipeline: TextPipeline, limit: int) -> None:
        self.pipeline, self.limit = pipeline, limit
        self._cutting = PieceEncoder(pipeline)
        self.mask_id = pipeline.token_id(BERT_MASK) or 0

    def read(self, text: str, *, longest: int = 1) -> TextWithMasks:
        """A text as pieces.

        Args:
            text: Holds at least one `[MASK]`.
            longest: The most pieces that a mask may have to make room for.

        Raises:
            InputError: The text has no mask, too many of them, an unknown mark, or is too long.
        """
        _refuse_marks(text)
        (pieces,) = self.pipeline.pieces([text])
        found = [place for place, (name, _) in enumerate(pieces) if name == BERT_MASK]
        if not found:
            gap = _GAP.search(text)
            hint = f' instead of "{gap[0]}"' if gap else " where a word is asked for"
            raise InputError(f"no mask in it; write {BERT_MASK}{hint}")
        if len(found) > MOST_MASKS:
            raise InputError(f"{len(found):,} masks; a text may hold {MOST_MASKS}")
        length = len(pieces) + 2
        if length - 1 + longest > self.limit:
            more = f", and a candidate {longest}" if longest > 1 else ""
            message = f"{length:,} pieces with the marks at both ends{more}"
            raise InputError(f"{message}; the model reads at most {self.limit:,}")
        ids = self._cutting.marked([name for name, _ in pieces])
        return TextWithMasks(
            text, ids, [place + 1 for place in found], [pieces[place][1] for place in found]
        )

    def spell(self, words: Sequence[str]) -> list[list[int]]:
        """The pieces of candidates.

        Raises:
            ConfigError: One has no pieces, or some that the model does not know.
        """
        reserved = {self.pipeline.token_id(mark) for mark in BERT_RESERVED}
        found = self.pipeline.encode_whole(list(words))
        for word, pieces in zip(words, found, strict=True):
            if not pieces or reserved.intersection(pieces):
                raise ConfigError(
                    f"the candidate {word!r:.60} cannot be spelt with the pieces of this model"
                )
        return found


def _refuse_marks(text: str) -> None:
    for found in _OTHER_MARK.finditer(text):
        if found[0] != BERT_MASK:
            raise InputError(f'unknown mark "{found[0]}"; this model\'s is {BERT_MASK}')
    for mark in BERT_RESERVED:
        if mark != BERT_MASK and mark in text:
            raise InputError(f"{mark} is a mark that the model sets itself; remove it")
