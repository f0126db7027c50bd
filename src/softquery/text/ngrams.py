"""Sub-words: the character n-grams of a word, hashed to numbers as fastText does.

Bojanowski et al. (2017), "Enriching Word Vectors with Subword Information", Section 3.2. A word is
wrapped in `<` and `>`, so that beginnings and ends differ from middles, and every run of 3 to 6
characters of it is hashed into one of a fixed number of buckets.
"""

_OFFSET, _PRIME, _MASK = 2166136261, 16777619, 0xFFFFFFFF


def ngram_buckets(word: str, *, shortest: int, longest: int, num_buckets: int) -> list[int]:
    """The buckets of a word's n-grams, from left to right, the same as fastText's.

    Args:
        word: Without the marks of its ends.
        shortest: Characters of the shortest n-gram.
        longest: Characters of the longest.
        num_buckets: How many buckets there are.

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
    """Take bytes into a 32-bit FNV-1a hash, each widened with its sign, as the original does."""
    for byte in piece:
        value = ((value ^ (byte | (0xFFFFFF00 if byte & 0x80 else 0))) * _PRIME) & _MASK
    return value
