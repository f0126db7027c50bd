"""What a calibration says of its sources, as a table for people."""

from collections.abc import Mapping
from typing import Any

from softquery.cli.terminal.console import one_line, print_table, print_text


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
        print_table("calibration error by source of the calibration", SOURCE_COLUMNS, rows)
        print_text(f"worst source: {one_line(str(calibration.get('worst_source')))}")
