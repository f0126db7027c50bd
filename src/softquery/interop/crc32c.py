"""CRC-32C (Castagnoli) of large arrays of bytes, by numpy. Needs no torch.

The register after a text is linear in the register before it and in the text. So the rows of a
table of bytes are read side by side, one column at a time, each from an empty register; then the
registers are joined, each moved on by the length of a row of zeros.
"""

from functools import cache
from typing import Any, Final

import numpy as np

POLYNOMIAL: Final = 0x82F63B78
ROW: Final = 512
"""Bytes that one register reads."""
_FULL: Final = 0xFFFFFFFF


def crc32c(data: bytes) -> int:
    """The checksum of bytes.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    table, rest = _table(), len(data) % ROW
    register = _FULL
    for byte in data[:rest]:
        register = int(table[(register ^ byte) & 0xFF]) ^ register >> 8
    rows = np.frombuffer(data, dtype=np.uint8, offset=rest).reshape(-1, ROW)
    registers = np.zeros(len(rows), dtype=np.uint32)
    for column in rows.T:
        registers = table[(registers ^ column) & 0xFF] ^ registers >> 8
    low, second, third, high = _moved()
    for own in registers.tolist():
        register = (
            low[register & 0xFF]
            ^ second[register >> 8 & 0xFF]
            ^ third[register >> 16 & 0xFF]
            ^ high[register >> 24]
            ^ own
        )
    return register ^ _FULL


@cache
def _table() -> Any:
    """What a byte makes of an empty register."""
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = np.where(values & 1, values >> 1 ^ np.uint32(POLYNOMIAL), values >> 1)
    return values.astype(np.uint32)


@cache
def _moved() -> list[list[int]]:
    """What a row of zeros makes of each byte of a register, lowest byte first."""
    table, values = _table(), np.arange(256, dtype=np.uint32)
    registers = np.stack([values << np.uint32(8 * place) for place in range(4)])
    for _ in range(ROW):
        registers = table[registers & 0xFF] ^ registers >> 8
    found: list[list[int]] = registers.tolist()
    return found
