"""`softquery calibrate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.terminal.console import flat, note, print_json, print_table
from softquery.cli.terminal.shared_options import AsJson, PairColumns, parse_rename
from softquery.errors import BundleError, ConfigError, InputError, MissingExtra

if TYPE_CHECKING:
    from softquery.bundle import Bundle
    from softquery.runtime.calibrate import Aim, CalibrationFit


def calibrate(
    model: Annotated[str, typer.Argument(help="The bundle: a folder, or a name.")],
    data: Annotated[Path, typer.Option(help="Labelled rows the model was not trained on.")],
    aim: Annotated[
        str, typer.Option(help="Threshold for two labels: `f1`, `precision=0.95`, or `none`.")
    ] = "f1",
    abstain_below: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Answer no label under this probability.")
    ] = None,
    columns: PairColumns = "",
    as_json: AsJson = False,
) -> None:
    """Make probabilities mean what they say: temperature, threshold, and the right to abstain.

    The first half of the rows fits them, the second half tells how good they are; both go into the
    bundle and its card, and every later answer obeys them.
    """
    from softquery.runtime.calibrate import CalibrationFit, save_calibration
    from softquery.runtime.kinds import kind_of
    from softquery.runtime.loading import opened
    from softquery.runtime.task_rows import ParseOptions

    chosen, rename = _aim(aim), parse_rename(columns)
    bundle = opened(model)
    kind = kind_of(bundle)
    if kind.calibrator is None or kind.labelled is None:
        raise BundleError(f"{bundle.path}: {kind.noun} has no probabilities to calibrate")
    calibrated = kind.opener.get()(bundle)
    rows = list(kind.labelled.parse(data, ParseOptions(rename=rename)))
    if not rows:
        raise InputError(f"holds no {kind.labelled.noun}", source=data)
    if chosen == "f1" and len(getattr(calibrated, "labels", ())) != 2:
        chosen = None  # the default; whoever names a precision is told that there is none
    fitted = kind.calibrator.get()(calibrated, rows, aim=chosen, abstain_below=abstain_below)
    save_calibration(bundle, fitted)
    if isinstance(fitted, CalibrationFit):
        _draw(fitted, bundle)
    result = fitted.to_dict()
    if as_json:
        print_json(result)
    else:
        print_table(f"{model}, calibrated on {data}", ("setting", "value"), flat(result))


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
