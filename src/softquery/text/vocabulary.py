"""The reserved tokens, and where they stand in every vocabulary.

The first four hold the same ids everywhere, so that models may rely on them; the next three exist
only where sub-words are trained for masked language models. BERT's own vocabularies have names of
their own, which stand anywhere.
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


BERT_PAD: Final = "[PAD]"
BERT_UNK: Final = "[UNK]"
BERT_CLS: Final = "[CLS]"
BERT_SEP: Final = "[SEP]"
BERT_MASK: Final = "[MASK]"
BERT_RESERVED: Final = (BERT_PAD, BERT_UNK, BERT_CLS, BERT_SEP, BERT_MASK)
"""Of the unit `bert`: looked up by name, for published vocabularies put them at different ids."""


def reserved_tokens(unit: str) -> tuple[str, ...]:
    """The tokens that open the vocabulary of a text unit, in id order.

    >>> reserved_tokens("words")
    ('<pad>', '<unk>', '<bos>', '<eos>')
    >>> reserved_tokens("wordpiece")[4:]
    ('<cls>', '<sep>', '<mask>')
    """
    if unit == "bert":
        return BERT_RESERVED
    return (*ALWAYS_RESERVED, CLS, SEP, MASK) if unit == "wordpiece" else ALWAYS_RESERVED
