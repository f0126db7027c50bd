"""`softquery export` for taggers."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softquery.bundle import Bundle
    from softquery.export import ExportReport


def export_tagging_bundle(
    bundle: "Bundle",
    target: Path,
    *,
    int8: bool,
    gate: float,
    data: Path | None,
    rename: Mapping[str, str] | None,
) -> "ExportReport":
    """Read the tagged sentences, where there are any, and export."""
    from softquery.export.tag_bundle import export_tagger
    from softquery.files import read_tagged

    rows = [] if data is None else list(read_tagged(data, rename=rename))
    return export_tagger(bundle, target, int8=int8, limit=gate, rows=rows)
