"""A number for each spelling, so that a graph can look a word up by its characters.

The characters of a word, each times a factor of its place, are added up. The factors have 45 bits
and were drawn once, so that two spellings make the same number about once in 2⁴⁵, and no word of a
thousand characters makes one of more than 63 bits. Filling counts nothing.
"""

import random
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from softquery.text.characters import FILLER, NUM_CHARACTERS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FACTOR_BITS: Final = 45
"""Of the factor of a place."""
KEY_BITS: Final = 21
"""Of each part of a number; float32 holds whole numbers of up to 24 bits."""
KEY_PARTS: Final = 3
MOST_CHARACTERS: Final = (1 << (KEY_BITS * KEY_PARTS - FACTOR_BITS)) // NUM_CHARACTERS
"""Places that a spelling may have: the sum stays within 63 bits."""
_SEED: Final = 2018


@lru_cache(maxsize=8)
def multipliers(length: int) -> "NDArray[np.int64]":
    """The factor of each place.

    >>> multipliers(3).tolist() == multipliers(50)[:3].tolist()
    True
    """
    import numpy as np

    if length > MOST_CHARACTERS:
        raise ValueError(f"a spelling may have {MOST_CHARACTERS} characters, got {length}")
    drawn = random.Random(_SEED)
    return np.array([drawn.getrandbits(FACTOR_BITS) for _ in range(length)], dtype=np.int64)


def spelling_keys(symbols: "NDArray[np.int16]") -> "NDArray[np.int64]":
    """The number of each row of symbols; filling at its end changes nothing.

    >>> import numpy as np
    >>> long, short = np.array([[259, 98, 260, 261, 261]]), np.array([[259, 98, 260]])
    >>> bool(spelling_keys(long) == spelling_keys(short))
    True
    """
    import numpy as np

    counted = np.where(symbols == FILLER, 0, symbols).astype(np.int64)
    keys: NDArray[np.int64] = counted @ multipliers(symbols.shape[1])
    return keys


def sorted_keys(symbols: "NDArray[np.int16]") -> "tuple[NDArray[np.int32], NDArray[np.int32]]":
    """The numbers of a vocabulary in ascending order, each in three parts, and whose they are.

    Returns:
        Parts [V, 3], the lowest first, and ids [V].
    """
    import numpy as np

    keys = spelling_keys(symbols)
    order = np.argsort(keys, kind="stable")
    shifts = np.arange(KEY_PARTS) * KEY_BITS
    parts = keys[order, None] >> shifts & ((1 << KEY_BITS) - 1)
    return parts.astype(np.int32), order.astype(np.int32)


def joined_keys(parts: "NDArray[np.generic]") -> "NDArray[np.int64]":
    """The numbers of which `sorted_keys` gave the parts.

    >>> import numpy as np
    >>> joined_keys(np.array([[5.0, 1.0, 0.0]], np.float32)).tolist()
    [2097157]
    """
    import numpy as np

    shifts = np.arange(KEY_PARTS, dtype=np.int64) * KEY_BITS
    keys: NDArray[np.int64] = (parts.astype(np.int64) << shifts).sum(axis=1)
    return keys
