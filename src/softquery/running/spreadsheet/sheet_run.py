"""Run on a file: read it, train what fits, measure, and leave a model with a report.

While it runs, everything lies in `OUTPUT.partial`; the folder appears under its own name when it
is complete.
"""

import os
import shutil
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from softquery.bundle import RECORDS, CardNumber, read_bundle, with_section
from softquery.bundle.card import number_lines
from softquery.bundle.config import CARD, CONFIG, METRICS, to_json
from softquery.errors import InputError, counted
from softquery.files import write_text
from softquery.files.row_files import checked_names
from softquery.running.row_checks import at_chance, nothing_learnt
from softquery.running.spreadsheet.labelled_rows import LabelledTable, num_repeated, read_labelled
from softquery.running.spreadsheet.report import Report, make_report, write_report
from softquery.running.spreadsheet.sheet_options import SheetOptions

ADVICE = "More rows help most; then labels that the texts tell apart"
HELD_OUT = "rows that were held out"
MODEL = "model"
"""Where the bundle lies within the run's folder."""
SHOWN = 9
Train = Callable[[SheetOptions, str], Report]
"""Trains on what was read, into a folder and under a name, and reports."""
CHECKPOINT = "checkpoint.safetensors"


def train_sheet(options: SheetOptions) -> Path:
    """Train a model on a file and write its bundle, with `report.html` and `report.json` in it.

    Args:
        options: What to read, where to write, and what the user decides.

    Raises:
        InputError: The file cannot be learnt from, with the reason in one line.
    """
    target = options.output
    folder = target.with_name(f"{target.name}.partial")
    _check_places(target, folder, resume=options.resume)
    train = _tagging(options) if options.task == "tag" else _labelling(options)
    with _kept_if_resumable(folder, options):
        bundle = folder / MODEL
        report = train(replace(options, output=bundle), target.name)
        _amend(bundle, report, target.name)
        _complete(bundle, report, options, target)
    return target


def _labelling(options: SheetOptions) -> Train:
    """Read rows with labels, say what was found, and what trains on them."""
    table = read_labelled(options.data, options.task, checked_names(options.rename))
    dev = _dev(options, table)
    _tell(table, options)

    def train(inner: SheetOptions, name: str) -> Report:
        if inner.task == "match":
            from softquery.running.spreadsheet.pair_sheet import train_pairs

            return make_report(inner.task, name, table, train_pairs(table, dev, inner))
        from softquery.running.spreadsheet.class_head import train_head

        return make_report(inner.task, name, table, train_head(table, dev, inner))

    return train


def _tagging(options: SheetOptions) -> Train:
    """The same of sentences with tags."""
    from softquery.running.spreadsheet.tag_sheet import make_tag_report, train_tags
    from softquery.running.spreadsheet.tag_table import read_tag_table

    rename = checked_names(options.rename)
    table, dev = read_tag_table(options.data, rename), None
    if options.dev is not None:
        dev = read_tag_table(options.dev, rename, least=1)
        _tell_shared(table.groups(), dev.groups(), dev.source, options)
    _tell_lines(table.told, table.warnings, options)
    shown = ", ".join(f"{label} {many:,}" for label, many in list(table.counts.items())[:SHOWN])
    more = ", …" if len(table.counts) > SHOWN else ""
    options.say(f"{counted(len(table.rows), 'sentence')}, tags in {table.scheme} ({shown}{more})")
    return lambda inner, name: make_tag_report(name, table, train_tags(table, dev, inner))


def _dev(options: SheetOptions, table: LabelledTable) -> LabelledTable | None:
    """The rows to measure on that the user gives; those that are learnt from are named."""
    if options.dev is None:
        return None
    rename = table.renamed if options.rename is None else dict(options.rename)
    dev = read_labelled(options.dev, options.task, rename, labels=table.labels, least=1)
    _tell_shared(table.groups(), dev.groups(), dev.source, options)
    return dev


def _tell_shared(
    table: Sequence[Hashable], dev: Sequence[Hashable], source: str, options: SheetOptions
) -> None:
    known = set(table)
    shared = sum(group in known for group in dev)
    if shared:
        many = f"{shared:,} of {counted(len(dev), 'row')} of {source}"
        options.say(f"warning: {many} also stand among those that are learnt from")


def _tell_lines(told: Sequence[str], warnings: Sequence[str], options: SheetOptions) -> None:
    for line in told:
        options.say(line)
    for line in warnings:
        options.say(f"warning: {line}")


def _tell(table: LabelledTable, options: SheetOptions) -> None:
    """What was found, and what is going to happen."""
    for line in table.told:
        options.say(line)
    shown = ", ".join([*table.labels[:9], *(["…"] if len(table.labels) > 9 else [])])
    options.say(
        f"{counted(len(table.rows), 'row')}, {counted(len(table.labels), 'label')} ({shown})"
    )
    if repeated := num_repeated(table):
        options.say(
            f"{counted(repeated, 'row')} say again what another one said; they stay together"
        )
    for line in table.warnings:
        options.say(f"warning: {line}")


def _check_places(target: Path, folder: Path, *, resume: bool) -> None:
    if not target.name or target.exists():
        raise InputError("already exists; name another --output", source=target)
    if folder.exists() and not resume:
        raise InputError(
            "holds an interrupted run; go on with --resume, or remove the folder", source=folder
        )
    if resume and not folder.is_dir():
        raise InputError("there is no interrupted run here to resume", source=folder)


@contextmanager
def _kept_if_resumable(folder: Path, options: SheetOptions) -> Iterator[None]:
    """Around a run: its folder is kept where it holds something to go on from."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made ({error.strerror})", source=folder) from None
    try:
        yield
    except BaseException:
        if not any(folder.rglob(CHECKPOINT)):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _amend(folder: Path, report: Report, name: str) -> None:
    """What the bundle says of itself: the columns of the file, and what was measured."""
    bundle = read_bundle(folder)
    columns = {each["ours"]: each["theirs"] for each in report["columns"]}
    # Tagged files are found by their form, and texts to tag have other columns than those.
    config = replace(bundle.config, columns=None if report["task"] == "tag" else columns)
    figures: dict[str, Any] = report["figures"]
    is_f1 = report["task"] == "tag" and "f1" in figures  # of labels by themselves elsewhere
    metric = "f1" if is_f1 else "accuracy"
    chance = at_chance(metric, figures[metric], report.get("most_frequent_label", 0.0), HELD_OUT)
    if chance is not None:
        report["warnings"].append(nothing_learnt([chance], ADVICE))
    training = {
        **bundle.metrics.get("training", {}),
        "measured_on": report["held_out"],
        "warnings": report["warnings"],
        "learnt": chance is None,
    }
    metrics = {**bundle.metrics, "dev": figures, "training": training}
    bounds = figures.get(f"{metric}_interval")
    number = CardNumber(
        metric=metric,
        value=figures[metric],
        n=figures["n"],
        data=report["held_out"],
        interval=None if bounds is None or None in bounds else (bounds[0], bounds[1]),
    )
    card = bundle.card.replace(f"\n# {MODEL}\n", f"\n# {name}\n", 1)
    card = card.replace(f"--model {MODEL}", f"--model {name}").replace(
        f'load("{MODEL}")', f'load("{name}")'
    )
    card = with_section(card, "Numbers", number_lines([number]))
    write_text(folder / CONFIG, to_json(config.to_dict()))
    write_text(folder / METRICS, to_json(metrics))
    write_text(folder / CARD, card)


def _complete(bundle: Path, report: Report, options: SheetOptions, target: Path) -> None:
    """Write the report and give the folder its name."""
    write_report(bundle, report)
    (bundle / RECORDS).mkdir(exist_ok=True)
    read_bundle(bundle)
    try:
        os.replace(bundle, target)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", source=target) from None
    shutil.rmtree(bundle.parent, ignore_errors=True)
    options.say(f"bundle written: {target}")
    options.say(f"report: {target / 'report.html'}")
