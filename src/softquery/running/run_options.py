"""What a run is given besides its recipe, and what it refuses. Needs no torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from softquery.errors import ConfigError

if TYPE_CHECKING:
    from softquery.recipes import AnyRun
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
    observer: "Observer"
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


def check_options(run: "AnyRun", given: Mapping[str, object]) -> None:
    """Refuse options that mean nothing to a recipe.

    Args:
        run: The recipe.
        given: Options of the command line; what is None, empty or the like was not given.

    Raises:
        ConfigError: One of them is given and refused.
    """
    for option, reason in run.refused.items():
        if given.get(option):
            raise ConfigError(f"--{option}: {run.name} {reason}")
