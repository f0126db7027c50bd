"""The reserved tokens, and where they stand in every vocabulary.

The first four hold the same ids everywhere, so that models may rely on them; the last three exist
only where sub-words are trained for masked language models.
"""

from typing import Final

PAD: Final = "<pad>"
UNK: Final = "<unk>"
BOS: Final = "<bos>"
EOS: Final = "<eos>"
CLS: Final = "<cls>"
SEP: Final = "<sep>"
MASK: Final = "<mask>"

PAD_ID: Final = 0
UNK_ID: Final = 1
BOS_ID: Final = 2
EOS_ID: Final = 3

ALWAYS_RESERVED: Final = (PAD, UNK, BOS, EOS)
"""Ids 0 to 3 of every vocabulary."""


def reserved_tokens(unit: str) -> tuple[str, ...]:
    """The tokens that open the vocabulary of a text unit, in id order.

    >>> reserved_tokens("words")
    ('<pad>', '<unk>', '<bos>', '<eos>')
    >>> reserved_tokens("wordpiece")[4:]
    ('<cls>', '<sep>', '<mask>')
    """
    return (*ALWAYS_RESERVED, CLS, SEP, MASK) if unit == "wordpiece" else ALWAYS_RESERVED
