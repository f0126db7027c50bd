"""`softquery calibrate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.calibrate_reading import calibrate_reader, is_reader
from softquery.cli.console import flat, note, print_json, print_table
from softquery.errors import ConfigError, InputError, MissingExtra

if TYPE_CHECKING:
    from softquery.runtime import Classifier, Matcher
    from softquery.runtime.match.calibrate import Aim


def calibrate(
    model: Annotated[str, typer.Argument(help="The bundle: a folder, or a name.")],
    data: Annotated[Path, typer.Option(help="Labelled rows the model was not trained on.")],
    aim: Annotated[
        str, typer.Option(help="Threshold for two labels: `f1`, `precision=0.95`, or `none`.")
    ] = "f1",
    abstain_below: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Answer no label under this probability.")
    ] = None,
    columns: Annotated[
        str, typer.Option(help="Our column names to the file's: sentence1=q1,sentence2=q2.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make probabilities mean what they say: temperature, threshold, and the right to abstain.

    The first half of the rows fits them, the second half tells how good they are; both go into the
    bundle and its card, and every later answer obeys them.
    """
    from softquery.bundle import RECORDS
    from softquery.files import parse_columns, read_rows
    from softquery.runtime.match.calibrate import fit_calibration, save_calibration

    chosen = _aim(aim)
    rename = parse_columns(columns) if columns else None
    if is_reader(model):
        calibrate_reader(model, data, rename, abstain_below, as_json)
        return
    matcher, names = _opened(model)
    rows = list(read_rows(data, columns=names, rename=rename))
    if not rows:
        raise InputError("holds no rows", source=data)
    if chosen == "f1" and len(matcher.labels) != 2:
        chosen = None  # the default; whoever names a precision is told that there is none
    fitted = fit_calibration(matcher, rows, aim=chosen, abstain_below=abstain_below)
    save_calibration(matcher.bundle, fitted)
    picture = matcher.bundle.path / RECORDS / "reliability.png"
    try:
        from softquery.explain.plots import draw_reliability

        picture.parent.mkdir(exist_ok=True)
        draw_reliability(fitted.before, fitted.after, picture)
    except MissingExtra as error:
        picture.unlink(missing_ok=True)  # an older one would show another calibration
        note(str(error))
    result = fitted.to_dict()
    if as_json:
        print_json(result)
    else:
        print_table(f"{model}, calibrated on {data}", ("setting", "value"), flat(result))


def _opened(model: str) -> tuple["Matcher | Classifier", tuple[str, ...]]:
    """A matcher or a classifier, and the columns that it is calibrated on."""
    from softquery.runtime import load_classifier, load_matcher
    from softquery.runtime.opened import opened

    bundle = opened(model)
    if bundle.config.kind == "classifier":
        return load_classifier(bundle), ("text", "label")
    return load_matcher(bundle), ("sentence1", "sentence2", "label")


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
