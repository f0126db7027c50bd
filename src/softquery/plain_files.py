"""Files of folders that others made: read whole, where they are plain files of a fair size."""

import errno
import os
import stat
from pathlib import Path

LARGEST_SPARSE = 1 << 26
MOST_TIMES = 16
"""A file of more than 64 MB is refused where its size is 16 times what was written of it."""


def read_plain(path: Path, most: int) -> bytes:
    """The content of a file.

    A pipe would be waited for, a device would never end, and a file of holes takes no room on the
    disk, but all of its size in memory.

    Args:
        path: The file.
        most: Its most bytes.

    Raises:
        OSError: It cannot be read, is not a plain file, or is too large; `strerror` says which.
    """
    # Opened without waiting, because a pipe is known for one only afterwards.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "is not a file")
        if found.st_size > most:
            raise OSError(errno.EFBIG, f"is larger than {most:,} bytes")
        return file.read(most)


def check_plain(path: Path) -> None:
    """Refuse what would be waited for, never end, or take far more memory than it does on the disk.

    For files that are read by others than us.

    Raises:
        OSError: It is missing, not a plain file, or mostly holes; `strerror` says which.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "is not a file")
    if is_mostly_holes(path):
        raise OSError(errno.EFBIG, "is mostly holes")


def is_mostly_holes(path: Path) -> bool:
    """Whether a large file has hardly been written, so that its size promises too much."""
    found = path.stat()
    written = getattr(found, "st_blocks", None)  # in units of 512 bytes; unknown on Windows
    return (
        found.st_size > LARGEST_SPARSE
        and written is not None
        and written * 512 * MOST_TIMES < found.st_size
    )
