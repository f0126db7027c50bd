"""What a run is given besides its recipe."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike

from softquery.training import Observer

Say = Callable[[str], None]
"""Receives what happens, a line at a time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """Where a run reads, where it writes, what it starts from, and who watches it."""

    data: str | PathLike[str]
    """What it learns from: a folder that holds the splits, or text."""
    output: str | PathLike[str]
    """The bundle to write; it must not exist."""
    observer: Observer
    """Watches the loop."""
    say: Say
    """Receives what happens, a line at a time."""
    resume: bool = False
    """Go on from `OUTPUT.partial`."""
    init: str | PathLike[str] | None = None
    """A bundle whose text pipeline and weights the run starts from."""
    devices: int = 1
    """Processes, started by torchrun where there are several."""
    rename: Mapping[str, str] | None = None
    """Our column names to those of the files."""
    chosen: frozenset[str] | None = None
    """Settings that the user named, such as `"optim.lr"`: all others may be fitted to the data.
    None to train the run as it is."""
