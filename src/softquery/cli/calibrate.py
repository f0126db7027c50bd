"""`softquery calibrate`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softquery.cli.terminal.console import (
    flat,
    note,
    one_line,
    print_json,
    print_table,
    print_text,
)
from softquery.cli.terminal.shared_options import AsJson, PairColumns, columns_for, parse_rename
from softquery.errors import BundleError, ConfigError, InputError, MissingExtra
from softquery.language import localised

if TYPE_CHECKING:
    from softquery.bundle import Bundle
    from softquery.files import Row
    from softquery.runtime.calibrate import Aim, CalibrationFit
    from softquery.runtime.task_rows import LabelledRows


def calibrate(
    model: Annotated[str, typer.Argument(help="The bundle: a folder, or a name.")],
    data: Annotated[
        list[Path],
        typer.Option(
            help="Labelled rows the model was not trained on. Repeatable: each file is a source."
        ),
    ],
    by: Annotated[
        str | None, typer.Option(help="A column that names each row's source, instead of its file.")
    ] = None,
    aim: Annotated[
        str, typer.Option(help="Threshold for two labels: `f1`, `precision=0.95`, or `none`.")
    ] = "f1",
    abstain_below: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Below this probability, answer no label."),
    ] = None,
    columns: PairColumns = "",
    as_json: AsJson = False,
) -> None:
    """Make probabilities mean what they say: temperature, threshold, and the right to abstain.

    The first half of the rows fits them, the second half tells how good they are; both go into the
    bundle and its card, and every later answer obeys them. Of several sources each is cut in
    halves, counts alike whatever its size, and has its own figures.
    """
    from softquery.runtime.calibrate import CalibrationFit, save_calibration
    from softquery.runtime.kinds import kind_of
    from softquery.runtime.loading import opened

    chosen, rename = _aim(aim), parse_rename(columns)
    bundle = opened(model)
    kind = kind_of(bundle)
    if kind.calibrator is None or kind.labelled is None:
        raise BundleError(f"{bundle.path}: {kind.noun} has no probabilities to calibrate")
    if kind.name == "reader" and (by is not None or len(data) > 1):
        raise ConfigError(f"{kind.noun} is calibrated on one --data, without --by")
    names = name_sources(data)
    if by in kind.labelled.columns:
        raise ConfigError(f"--by {by}: expected a column other than those that the model reads")
    calibrated = kind.opener.get()(bundle)
    rename = columns_for(bundle, rename, kind.labelled.columns)
    rows = [_rows(path, kind.labelled, rename, by) for path in data]
    given = [row for part in rows for row in part]
    if chosen == "f1" and len(getattr(calibrated, "labels", ())) != 2:
        chosen = None  # the default; whoever names a precision is told that there is none
    options: dict[str, Any] = {"aim": chosen, "abstain_below": abstain_below}
    if by is not None:
        options["sources"] = _values(given, by)
    elif len(data) > 1:
        options["sources"] = [name for name, part in zip(names, rows, strict=True) for _ in part]
    fitted = kind.calibrator.get()(calibrated, given, **options)
    save_calibration(bundle, fitted)
    if isinstance(fitted, CalibrationFit):
        _draw(fitted, bundle)
    result = fitted.to_dict()
    if as_json:
        print_json(result)
    else:
        title = f"{model}, calibrated on {', '.join(map(str, data))}"
        print_table(localised(title), ("setting", "value"), flat(result))
        show_sources(result)


def _rows(
    path: Path, labelled: "LabelledRows", rename: dict[str, str] | None, by: str | None
) -> list[Any]:
    """The rows of a file, with the column that names their source."""
    from softquery.runtime.task_rows import ParseOptions

    rows = list(labelled.parse(path, ParseOptions(rename=rename, keep_others=by is not None)))
    if not rows:
        raise InputError(f"holds no {labelled.noun}", source=path)
    return rows


def name_sources(paths: Sequence[Path]) -> list[str]:
    """A name for each file: its own, with as many folders before it as tell them all apart.

    >>> name_sources([Path("data/chat.tsv"), Path("data/mail.tsv.gz")])
    ['chat', 'mail']
    >>> name_sources([Path("data/chat/dev.tsv"), Path("data/mail/dev.tsv")])
    ['chat/dev', 'mail/dev']
    """
    known: set[Path] = set()
    for path in paths:
        if path.resolve() in known:
            raise InputError("is given twice; every source counts once", source=path)
        known.add(path.resolve())
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        parts = [(*path.parts[:-1], path.name.partition(".")[0] or path.name) for path in paths]
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def _values(rows: "Sequence[Row]", by: str) -> list[str]:
    """The source of each row, which no row may leave open."""
    for row in rows:
        if by not in row.values:
            raise InputError(
                f"no column {by!r:.40} for --by; found: {', '.join(row.values)}", source=row.source
            )
        if not row.values[by].strip():
            raise InputError(
                f"column {by!r:.40} is empty; expected the name of a source",
                source=row.source,
                row=row.number,
            )
    return [row.values[by].strip() for row in rows]


def calibration_summary(calibration: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a model's calibration says of the sources that it was fitted on, where it names any."""
    from softquery.bundle.card import source_rows

    if calibration is None or not source_rows(calibration):
        return {}
    names = ("ece_before", "ece_after", "worst_source", "worst_ece", "sources")
    return {name: calibration[name] for name in names if name in calibration}


def show_sources(calibration: Mapping[str, Any]) -> None:
    """A table of how far probabilities are off in each source, where there are several."""
    from softquery.bundle.card import SOURCE_COLUMNS, source_rows

    rows = source_rows(calibration)
    if rows:
        title = localised("calibration error by source of the calibration")
        print_table(title, SOURCE_COLUMNS, rows)
        worst = one_line(str(calibration.get("worst_source")))
        print_text(localised(f"worst source: {worst}"))


def _draw(fitted: "CalibrationFit", bundle: "Bundle") -> None:
    """Keep the picture of both halves with the bundle, where pictures can be drawn."""
    from softquery.bundle import RECORDS

    picture = bundle.path / RECORDS / "reliability.png"
    try:
        from softquery.explain.plots import draw_reliability

        picture.parent.mkdir(exist_ok=True)
        draw_reliability(fitted.before, fitted.after, picture)
    except MissingExtra as error:
        picture.unlink(missing_ok=True)  # an older one would show another calibration
        note(str(error))


def _aim(text: str) -> "Aim | None":
    if text in ("f1", "none"):
        return "f1" if text == "f1" else None
    name, _, value = text.partition("=")
    try:
        precision = float(value)
    except ValueError:
        precision = -1.0
    if name != "precision" or not 0 < precision <= 1:
        raise ConfigError(f"--aim must be f1, none or precision=0.95 (0 to 1), got {text!r}")
    return precision
