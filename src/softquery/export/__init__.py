"""torch to ONNX to int8, behind a gate.

Matchers and generators need the extra `[train]`; a biLM's graphs are written with onnx alone, and
checked against torch where it is there.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from softquery.export.gate import ExportReport, Gate

if TYPE_CHECKING:
    from softquery.export.embedder import bilm_graphs, export_embedder
    from softquery.export.generator import export_generator
    from softquery.export.matcher import export_matcher

__all__ = [
    "ExportReport",
    "Gate",
    "bilm_graphs",
    "export_embedder",
    "export_generator",
    "export_matcher",
]

_PLACES = {
    "bilm_graphs": "embedder",
    "export_embedder": "embedder",
    "export_generator": "generator",
    "export_matcher": "matcher",
}
"""Imported when asked for: exporting a biLM needs no torch, exporting the others does."""


def __getattr__(name: str) -> Any:
    """Import the part that holds what is asked for."""
    if name in _PLACES:
        return getattr(import_module(f"softquery.export.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'softquery.export' has no attribute {name!r}")
