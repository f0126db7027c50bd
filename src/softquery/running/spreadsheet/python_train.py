"""`softquery.train`: from rows in memory, or a file, to an opened model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from softquery.errors import ConfigError
from softquery.files.data_frames import given_rows
from softquery.recipes.few_labels import TuningRule
from softquery.running.callbacks import Callback, Watched
from softquery.running.spreadsheet.sheet import output_of
from softquery.running.spreadsheet.sheet_options import TASKS, SheetOptions
from softquery.running.spreadsheet.sheet_run import train_sheet
from softquery.running.training_display import training_shown

Rows = str | PathLike[str] | Iterable[Mapping[str, object]] | Any
"""A file; or a data frame, a data set, an Arrow table, a list of mappings."""


def train(
    data: Rows,
    task: str = "classify",
    *,
    output: str | PathLike[str] | None = None,
    columns: Mapping[str, str] | None = None,
    dev: Rows | None = None,
    init: str | PathLike[str] | None = None,
    seed: int = 1,
    tuning: TuningRule = "never",
    resume: bool = False,
    say: Callable[[str], None] = lambda line: None,
    callbacks: Sequence[Callback] = (),
    progress: bool = False,
) -> Any:
    """Train a model on a table, as `softquery train TASK FILE` does, and open it.

    Args:
        data: A file, or rows in memory: a data frame (pandas, polars), a data set, a list of
            mappings.
        task: `"classify"`, `"match"` or `"tag"`.
        output: The folder to write; for a file by default named after it.
        columns: Our column names to those of the table, where they are not to be found.
        dev: Rows to measure on; by default some are held out.
        init: The bundle to stand on or to start from, instead of the shipped one.
        seed: Of the split and the folds.
        tuning: `"where-it-pays"` tries, for classes, to fine-tune the sentence encoder by the
            labels, and keeps that where cross-validation says so; it takes a minute, and torch.
        resume: Go on with the interrupted run in `OUTPUT.partial`.
        say: Receives what was found and what happens, a line at a time.
        callbacks: Told of every setting that is tried; one that returns True ends the search.
        progress: Whether to show how far it is, in a notebook or on the terminal.

    Returns:
        The opened model; its `report` says what was found and measured.

    Raises:
        InputError: The rows cannot be learnt from.
    """
    if task not in TASKS:
        raise ConfigError(f"task must be one of {', '.join(TASKS)}, got {task!r:.40}")
    if not isinstance(data, (str, PathLike)):
        given_rows(data)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ConfigError(f"seed must be a whole number, got {seed!r:.40}")
    if tuning not in get_args(TuningRule):
        known = " or ".join(get_args(TuningRule))
        raise ConfigError(f"tuning must be {known}, got {tuning!r:.40}")
    if tuning != "never" and task != "classify":
        raise ConfigError(f"tuning is for classify; a {task} run keeps what it stands on as it is")
    if not isinstance(init, (str, PathLike, type(None))):
        raise ConfigError(f"init must be the name or the folder of a model, got {init!r:.40}")
    place = output_of(data) if output is None else Path(output)
    if place is None:
        raise ConfigError("rows in memory have no name; name the folder to write by output=")
    from softquery.runtime.loading import load

    with training_shown(progress) as observer:
        written = train_sheet(
            SheetOptions(
                task=task,
                data=data,
                output=place,
                observer=Watched(callbacks, observer),
                say=say,
                dev=dev,
                rename=columns,
                init=init,
                seed=seed,
                tuning=tuning,
                resume=resume,
            )
        )
    return load(written)
