"""torch to ONNX to int8, behind a gate.

Matchers and readers need the extra `[train]`; a biLM's graphs are written with onnx alone, and
checked against torch where it is there.
"""

from typing import TYPE_CHECKING, Any

from softquery.export.gate import ExportReport, Gate

if TYPE_CHECKING:
    from softquery.export.embedder import bilm_graphs, export_embedder
    from softquery.export.matcher import export_matcher
    from softquery.export.read_bundle import export_reader

__all__ = [
    "ExportReport",
    "Gate",
    "bilm_graphs",
    "export_embedder",
    "export_matcher",
    "export_reader",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for: exporting a biLM needs no torch, exporting a matcher does."""
    if name in ("bilm_graphs", "export_embedder"):
        from softquery.export import embedder

        return getattr(embedder, name)
    if name == "export_matcher":
        from softquery.export import matcher

        return matcher.export_matcher
    if name == "export_reader":
        from softquery.export import read_bundle

        return read_bundle.export_reader
    raise AttributeError(f"module 'softquery.export' has no attribute {name!r}")
