"""`softquery export` for readers."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from softquery.errors import MissingExtra

if TYPE_CHECKING:
    from softquery.bundle import Bundle
    from softquery.export import ExportReport


def export_reading(
    bundle: "Bundle",
    target: Path,
    int8: bool,
    limit: float,
    data: Path | None,
    rename: Mapping[str, str] | None,
) -> "ExportReport":
    """Export a reader; the gate is measured in points of F1."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("train", needed_for="export") from None
    from softquery.export import export_reader
    from softquery.files import read_questions

    rows = [] if data is None else list(read_questions(data, rename=rename))
    return export_reader(bundle, target, int8=int8, limit=limit, rows=rows)
