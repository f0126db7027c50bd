"""Tokens as characters: symbols of their UTF-8 bytes for ELMo, and hashed n-grams for fastText.

The symbols have the ids of the published ELMo (Peters et al. 2018, Section 3.1, after Jozefowicz et
al. 2016). There are 262:

| id | stands for |
|---|---|
| 0 | padding of a batch: no token |
| 1 to 256 | the bytes 0 to 255 |
| 257, 258 | the beginning and the end of a sentence, each a token of its own |
| 259, 260 | the beginning and the end of a token |
| 261 | padding of a short token |
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from softquery.text.text_config import BOS_ID, EOS_ID, PAD_ID

if TYPE_CHECKING:  # numpy is slow to import, and most of the text layer does not need it
    import numpy as np
    from numpy.typing import NDArray


NUM_CHARACTERS: Final = 262
MAX_CHARACTERS: Final = 50
"""Symbols per token, its two marks included; longer tokens are cut."""

NO_TOKEN: Final = 0
FIRST_BYTE: Final = 1
SENTENCE_BEGINS: Final = 257
SENTENCE_ENDS: Final = 258
TOKEN_BEGINS: Final = 259
TOKEN_ENDS: Final = 260
FILLER: Final = 261


def spell(token: str, length: int = MAX_CHARACTERS) -> list[int]:
    """The symbols of one token.

    >>> spell("né", 7)
    [259, 111, 196, 170, 260, 261, 261]
    >>> spell("endless", 5)
    [259, 102, 111, 101, 260]
    """
    content = token.encode("utf-8", "ignore")[: length - 2]
    return _marked([FIRST_BYTE + byte for byte in content], length)


def spell_tokens(tokens: Sequence[str], length: int = MAX_CHARACTERS) -> "NDArray[np.int16]":
    """The symbols of many tokens, one token per row."""
    import numpy as np

    if length < 3:
        raise ValueError(f"a token needs 3 symbols or more (two marks, one byte), got {length}")
    return np.array([spell(token, length) for token in tokens], dtype=np.int16).reshape(-1, length)


def spell_bytes(tokens: Sequence[bytes], length: int = MAX_CHARACTERS) -> "NDArray[np.int16]":
    """The symbols of many tokens given as UTF-8, one token per row.

    >>> spell_bytes(["né".encode(), b"endless"], 5).tolist()
    [[259, 111, 196, 170, 260], [259, 102, 111, 101, 260]]
    """
    import numpy as np

    symbols = np.full((len(tokens), length), FILLER, dtype=np.int16)
    symbols[:, 0] = TOKEN_BEGINS
    for row, token in zip(symbols, tokens, strict=True):
        content = token[: length - 2]
        row[1 : len(content) + 1] = np.frombuffer(content, dtype=np.uint8)
        row[1 : len(content) + 1] += FIRST_BYTE
        row[len(content) + 1] = TOKEN_ENDS
    return symbols


def spell_vocabulary(entries: Sequence[str], length: int = MAX_CHARACTERS) -> "NDArray[np.int16]":
    """The symbols of all entries of a vocabulary, in the order of their ids.

    Padding has symbols of 0; `<bos>` and `<eos>` are the two ends of a sentence; `<unk>` has the
    symbols of its letters.

    >>> spell_vocabulary(["<pad>", "<unk>", "<bos>", "<eos>", "a"], 4)[[0, 2, 4]].tolist()
    [[0, 0, 0, 0], [259, 257, 260, 261], [259, 98, 260, 261]]
    """
    symbols = spell_tokens(entries, length)
    symbols[PAD_ID] = NO_TOKEN
    symbols[BOS_ID], symbols[EOS_ID] = _boundaries(length)
    return symbols


def spell_sentences(
    sentences: Sequence[Sequence[str]], length: int = MAX_CHARACTERS
) -> "tuple[NDArray[np.int16], NDArray[np.bool_]]":
    """Symbols of sentences with their two ends, padded, and a mask that is True at real tokens.

    Of a model's output, `[:, 1:-1]` with `mask[:, 2:]` belongs to the words alone.

    >>> characters, mask = spell_sentences([["a", "b"], ["c"]], 4)
    >>> characters.shape, mask.astype(int).tolist()
    ((2, 4, 4), [[1, 1, 1, 1], [1, 1, 1, 0]])
    """
    import numpy as np

    longest = max((len(sentence) for sentence in sentences), default=0)
    characters = np.zeros((len(sentences), longest + 2, length), dtype=np.int16)
    mask = np.zeros(characters.shape[:2], dtype=np.bool_)
    begins, ends = _boundaries(length)
    for row, sentence in enumerate(sentences):
        characters[row, 0], characters[row, len(sentence) + 1] = begins, ends
        characters[row, 1 : len(sentence) + 1] = spell_tokens(sentence, length)
        mask[row, : len(sentence) + 2] = True
    return characters, mask


def unspell(symbols: Sequence[int]) -> str:
    """The token of some symbols; empty for padding and for the ends of a sentence.

    >>> unspell(spell("naïve"))
    'naïve'
    """
    content = bytes(int(s) - FIRST_BYTE for s in symbols if FIRST_BYTE <= s < SENTENCE_BEGINS)
    return content.decode("utf-8", "replace")


def _boundaries(length: int) -> tuple[list[int], list[int]]:
    return _marked([SENTENCE_BEGINS], length), _marked([SENTENCE_ENDS], length)


def _marked(symbols: list[int], length: int) -> list[int]:
    marked = [TOKEN_BEGINS, *symbols, TOKEN_ENDS]
    return marked + [FILLER] * (length - len(marked))


_OFFSET, _PRIME, _MASK = 2166136261, 16777619, 0xFFFFFFFF


def ngram_buckets(word: str, *, shortest: int, longest: int, num_buckets: int) -> list[int]:
    """The buckets of a word's character n-grams, from left to right, as fastText hashes them.

    Args:
        word: The word, without marks at its ends.
        shortest: Characters of the shortest n-gram.
        longest: Characters of the longest n-gram.
        num_buckets: The number of buckets.

    >>> ngram_buckets("cat", shortest=3, longest=3, num_buckets=1000)
    [747, 31, 106]
    """
    if not 1 <= shortest <= longest:
        raise ValueError(f"expected 1 <= shortest <= longest, got {shortest} and {longest}")
    if num_buckets < 1:
        raise ValueError(f"num_buckets must be at least 1, got {num_buckets}")
    marked = f"<{word}>"
    pieces = [letter.encode("utf-8", "surrogatepass") for letter in marked]
    found = []
    for start in range(len(pieces)):
        value = _OFFSET
        for end in range(start, min(start + longest, len(pieces))):
            value = _hashed(value, pieces[end])
            length = end - start + 1
            is_mark = length == 1 and (start == 0 or end == len(pieces) - 1)
            if length >= shortest and not is_mark:
                found.append(value % num_buckets)
    return found


def _hashed(value: int, piece: bytes) -> int:
    """Update a 32-bit FNV-1a hash with bytes, each sign-extended, as the original does."""
    for byte in piece:
        value = ((value ^ (byte | (0xFFFFFF00 if byte & 0x80 else 0))) * _PRIME) & _MASK
    return value
