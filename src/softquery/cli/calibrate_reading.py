"""`softquery calibrate` for readers: from which score on an answer is given."""

from collections.abc import Mapping
from pathlib import Path

from softquery.cli.console import flat, print_json, print_table
from softquery.errors import InputError


def is_reader(model: str) -> bool:
    """Whether a bundle reads."""
    from softquery.bundle import read_bundle
    from softquery.zoo import resolve

    return read_bundle(resolve(model)).config.kind == "reader"


def calibrate_reader(
    model: str,
    data: Path,
    rename: Mapping[str, str] | None,
    abstain_below: float | None,
    as_json: bool,
) -> None:
    """Choose it on the first half of the questions, or take it as given; measure on the second."""
    from softquery.bundle import update_bundle
    from softquery.files import read_questions
    from softquery.runtime.read.calibrate import fit_abstention
    from softquery.runtime.read.model import load_reader

    rows = list(read_questions(data, rename=rename))
    if not rows:
        raise InputError("holds no questions", source=data)
    reader = load_reader(model)
    result = fit_abstention(reader, rows, abstain_below=abstain_below)
    update_bundle(reader.bundle, calibration=result)
    if as_json:
        print_json(result)
    else:
        print_table(f"{model}, calibrated on {data}", ("setting", "value"), flat(result))
