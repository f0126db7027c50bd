"""`softquery train` and `softquery recipes`."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from softquery.cli.terminal.console import INTERRUPTED, note, print_json, print_table
from softquery.cli.terminal.progress import (
    TrainingBar,
    first_speaks,
    is_first,
    start_processes,
    was_restarted,
)
from softquery.cli.terminal.shared_options import AsJson, PairColumns, needs_extra, parse_rename
from softquery.errors import ConfigError
from softquery.language import localised

TASKS = ("classify", "match", "tag")
"""Reserved in place of a recipe's name: runs on a file."""

RecipeName = Annotated[
    str,
    typer.Argument(
        help="classify, match or tag, to train on a file; or a recipe's name: see `softquery "
        "recipes`."
    ),
]
DataFile = Annotated[
    Path | None,
    typer.Argument(
        help="For classify, match and tag: a table (.csv .tsv .jsonl .parquet, .gz .xz), for tag "
        "also CoNLL columns."
    ),
]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        help="For a recipe: folder with train.* and dev.* (.tsv .csv .jsonl .parquet, .gz "
        ".xz); for language models text in train.* and valid.* or dev.*; for word vectors a "
        "text file or a folder; for classify-few dev.* may be missing, and a file will do."
    ),
]
NewBundle = Annotated[
    Path | None,
    typer.Option(
        help="The bundle to write; OUTPUT.partial until complete. Of a file by default named "
        "after it."
    ),
]
DevFile = Annotated[
    Path | None,
    typer.Option(help="With a file: rows to measure on. By default some are held out."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Override one setting, such as optim.lr=4e-4. Repeatable."),
]
VectorFiles = Annotated[
    list[Path] | None,
    typer.Option(help="Pretrained word vectors (GloVe, word2vec). Repeatable: concatenated."),
]
Init = Annotated[
    str | None, typer.Option(help="Start from this bundle: a name from the zoo, or a folder.")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with the interrupted run in OUTPUT.partial.")
]
Seed = Annotated[int | None, typer.Option(help="Short for --set training.seed=N.")]
FineTune = Annotated[
    bool,
    typer.Option(
        "--fine-tune",
        help="For classify on a file: fine-tune the sentence encoder where cross-validation says "
        "that it pays. Takes a minute, and torch.",
    ),
]
Devices = Annotated[
    int, typer.Option(min=1, help="Processes or GPUs to train on; started through torchrun.")
]
Restarts = Annotated[
    int,
    typer.Option(
        min=0,
        help="With --devices: if a process is killed, restart all from the last checkpoint, at "
        "most this many times.",
    ),
]
JsonMetrics = Annotated[bool, typer.Option("--json", help="Print the metrics as JSON.")]


def train(
    context: typer.Context,
    recipe: RecipeName,
    file: DataFile = None,
    data: DataFolder = None,
    output: NewBundle = None,
    dev: DevFile = None,
    settings: Settings = None,
    vectors: VectorFiles = None,
    columns: PairColumns = "",
    init: Init = None,
    resume: Resume = False,
    seed: Seed = None,
    fine_tune: FineTune = False,
    devices: Devices = 1,
    restarts: Restarts = 0,
    as_json: JsonMetrics = False,
) -> None:
    """Train a model on a file, or by a recipe on a folder, and write it as a bundle.

    `softquery train classify mails.csv` finds the columns, holds rows out, trains what suits their
    number, and writes a model with a report of its mistakes to the folder mails.

    An interrupted run (Ctrl-C, kill, power cut) continues with --resume, to the same weights.
    """
    if recipe in TASKS:
        given: dict[str, object] = {
            "set": settings,
            "vectors": vectors,
            "devices": devices > 1,
            "data": data if file else None,
        }
        sheet = _Sheet(recipe, file or data, output, dev, columns, init, seed, resume, fine_tune)
        _train_sheet(context, sheet, given, as_json)
        return
    if fine_tune:
        raise ConfigError(
            "--fine-tune: is for softquery train classify FILE; a recipe for it is classify-tuned"
        )
    if file is not None or dev is not None:
        _check_known(recipe)
        option = "--dev" if file is None else f"{str(file)!r:.80}"
        raise ConfigError(
            f"{option}: {recipe} is a recipe, and reads --data; a file by itself is for "
            f"softquery train {', '.join(TASKS)}"
        )
    data, output = _required(context, "data", data), _required(context, "output", output)
    _require_torch_for(recipe)
    from softquery.running.run_options import RunOptions, check_options
    from softquery.zoo import resolve

    run = _chosen(recipe, settings or [], seed)
    given = {"vectors": vectors, "columns": columns, "init": init, "devices": devices > 1}
    check_options(run, given)
    run = _with_vectors(run, vectors or [])
    if devices > 1 and "LOCAL_RANK" not in os.environ:
        start_processes(devices, restarts=restarts)
    try:
        with first_speaks(), TrainingBar(run.counted) as bar:
            options = RunOptions(
                data=data,
                output=output,
                observer=bar,
                say=bar.say,
                resume=resume or _goes_on(output),
                init=None if init is None else resolve(init),
                devices=devices,
                rename=parse_rename(columns),
                chosen=_named(settings or []),
            )
            bundle = _run(run, options)
    except KeyboardInterrupt:
        _leave_resumable(output)
        raise
    if is_first():
        _show(bundle, as_json)


class _Sheet(NamedTuple):
    """What is said of a run on a file."""

    task: str
    file: Path | None
    output: Path | None
    dev: Path | None
    columns: str
    init: str | None
    seed: int | None
    resume: bool
    fine_tune: bool


def _train_sheet(
    context: typer.Context, sheet: _Sheet, given: dict[str, object], as_json: bool
) -> None:
    """Train on a file."""
    for option, value in given.items():
        if value:
            raise ConfigError(
                f"--{option}: train {sheet.task} reads one file and decides by itself; recipes "
                "take more options (softquery recipes)"
            )
    if sheet.fine_tune and sheet.task != "classify":
        raise ConfigError(
            f"--fine-tune: is for classify; train {sheet.task} keeps its base as it is"
        )
    from softquery.running.spreadsheet.sheet import output_of
    from softquery.running.spreadsheet.sheet_options import SheetOptions
    from softquery.running.spreadsheet.sheet_run import train_sheet

    file = _required(context, "file", sheet.file)
    output = sheet.output or output_of(file) or Path("model")
    try:
        with TrainingBar("fit") as bar:
            bundle = train_sheet(
                SheetOptions(
                    task=sheet.task,
                    data=file,
                    output=output,
                    observer=bar,
                    say=bar.say,
                    dev=sheet.dev,
                    rename=parse_rename(sheet.columns),
                    init=sheet.init,
                    seed=1 if sheet.seed is None else sheet.seed,
                    tuning="where-it-pays" if sheet.fine_tune else "never",
                    resume=sheet.resume,
                )
            )
    except KeyboardInterrupt:
        _leave_resumable(output)
        raise
    _show(bundle, as_json)


def _required(context: typer.Context, name: str, value: Path | None) -> Path:
    """An option or argument that must be given, unless the run is of the other kind."""
    if value is None:
        kind = "argument" if name == "file" else "option"
        shown = name.upper() if name == "file" else f"--{name}"
        raise typer.BadParameter.__bases__[0](f"Missing {kind} '{shown}'.", ctx=context)
    return value


def _run(run: Any, options: Any) -> Path:
    """Train by what trains such a recipe; one that needs no torch must not import it."""
    from softquery.recipes import FewLabelsRun

    if isinstance(run, FewLabelsRun):
        from softquery.running.few_labels.train_few_labels import train_few_labels

        return train_few_labels(run, options)
    from softquery.running.train import train as run_recipe

    return run_recipe(run, options)


def _chosen(name: str, settings: list[str], seed: int | None) -> Any:
    """The recipe of that name with its settings."""
    from softquery.recipes import override, recipe

    changes = [] if seed is None else [f"training.seed={seed}"]
    return override(recipe(name), [*settings, *changes])


def _named(settings: list[str]) -> frozenset[str]:
    """The settings that a user names, which are not fitted to the data."""
    return frozenset(each.partition("=")[0].strip() for each in settings)


def _with_vectors(run: Any, vectors: list[Path]) -> Any:
    """Not through --set, which would cut a path at its commas."""
    return replace(run, vectors=tuple(map(str, vectors))) if vectors else run


def _goes_on(output: Path) -> bool:
    """Whether torchrun has started this process anew, and there is something to go on from."""
    return was_restarted() and output.with_name(f"{output.name}.partial").exists()


def _leave_resumable(output: Path) -> None:
    """Where there is something to go on from, say so instead of just leaving."""
    if output.with_name(f"{output.name}.partial").exists():
        if is_first():
            note("softquery: interrupted; go on with --resume")
        sys.exit(INTERRUPTED)


def _show(bundle: Path, as_json: bool) -> None:
    from softquery.bundle import read_bundle

    metrics = read_bundle(bundle).metrics
    if as_json:
        print_json({"bundle": str(bundle), **metrics})
    else:
        _show_table(bundle, metrics)
    if metrics["training"].get("learnt") is False:
        note(f"softquery: {metrics['training']['warnings'][-1]}")


def _show_table(bundle: Path, metrics: dict[str, Any]) -> None:
    from softquery.cli.terminal.console import flat

    if "dev" in metrics:
        where = metrics["training"].get("measured_on", "dev")
        print_table(localised(f"{bundle} on {where}"), ("metric", "value"), flat(metrics["dev"]))
        if "bleu_signature" in metrics["dev"]:
            note(f"sacrebleu: {metrics['dev']['bleu_signature']}")
    elif "tune" in metrics:
        print_table(localised(f"{bundle} out of fold"), ("metric", "value"), flat(metrics["tune"]))
    else:
        print_table(str(bundle), ("training", "value"), list(metrics["training"].items()))


def _check_known(name: str) -> None:
    """Refuse a name that no recipe has."""
    _require_torch_for(name)
    from softquery.recipes import recipe as find_recipe

    find_recipe(name)


def _require_torch_for(name: str) -> None:
    """Refuse a recipe that needs torch, where that is missing."""
    from softquery.recipes import WITHOUT_TORCH

    if name not in WITHOUT_TORCH:
        _require_torch()


def _require_torch() -> None:
    with needs_extra("train", needed_for="training"):
        import jaxtyping  # noqa: F401
        import lightning_fabric  # noqa: F401
        import torch  # noqa: F401


def recipes(
    name: Annotated[str | None, typer.Argument(help="Show this recipe's settings.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the recipes, or one recipe's settings as `--set` takes them."""
    from softquery.recipes import recipe as find_recipe

    if name is None:
        _require_torch()
        from softquery.recipes import RECIPES

        rows = [(key, make().summary) for key, make in RECIPES.items()]
        if as_json:
            print_json([{"name": key, "summary": summary} for key, summary in rows])
        else:
            shown = [(key, localised(summary)) for key, summary in rows]
            print_table("", ("recipe", "what it trains"), shown)
        return
    _require_torch_for(name)
    settings = find_recipe(name).to_dict()
    if as_json:
        print_json(settings)
    else:
        print_table(name, ("setting", "value"), list(_lines(settings)))


def _lines(value: object, prefix: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [line for key, part in value.items() for line in _lines(part, f"{prefix}.{key}")]
    if isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    return [(prefix.lstrip("."), str(value))]
