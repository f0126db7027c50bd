"""The table of distinct words of some text, made from the words."""

from collections.abc import Iterable

import torch

from softquery.nn import Lexicon
from softquery.text import TextPipeline, reserved_tokens, spell_vocabulary, visible_form


def build_lexicon(words: Iterable[str], pipeline: TextPipeline, *, max_characters: int) -> Lexicon:
    """The table of distinct words, behind the four rows that are everywhere.

    Args:
        words: Each once.
        pipeline: Knows which of them the model's table has.
        max_characters: Symbols by which a word is spelt, its two marks included.
    """
    types = list(words)
    first = list(reserved_tokens("words"))
    seen = [visible_form(word, pipeline.config) for word in types]
    ids = [*range(len(first)), *pipeline.look_up(types)]
    return Lexicon(
        torch.from_numpy(spell_vocabulary([*first, *seen], max_characters)),
        torch.tensor(ids, dtype=torch.int64),
    )
