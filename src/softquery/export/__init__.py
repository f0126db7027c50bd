"""torch to ONNX to int8, behind a gate.

All but a biLM need the extra `[train]`; a biLM's graphs are written with onnx alone, and checked
against torch where it is there.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from softquery.export.gate import ExportReport, Gate

if TYPE_CHECKING:
    from softquery.export.bert_bundle import export_bert_head, export_encoder
    from softquery.export.classifier import export_classifier
    from softquery.export.embedder import bilm_graphs, export_embedder
    from softquery.export.generator import export_generator
    from softquery.export.matcher import export_matcher
    from softquery.export.read_bundle import export_reader
    from softquery.export.tag_bundle import export_tagger

HOMES = {
    "bilm_graphs": "embedder",
    "export_bert_head": "bert_bundle",
    "export_classifier": "classifier",
    "export_embedder": "embedder",
    "export_encoder": "bert_bundle",
    "export_generator": "generator",
    "export_matcher": "matcher",
    "export_reader": "read_bundle",
    "export_tagger": "tag_bundle",
}

__all__ = [
    "ExportReport",
    "Gate",
    "bilm_graphs",
    "export_bert_head",
    "export_classifier",
    "export_embedder",
    "export_encoder",
    "export_generator",
    "export_matcher",
    "export_reader",
    "export_tagger",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for: exporting a biLM needs no torch, exporting others does."""
    if name in HOMES:
        return getattr(import_module(f"softquery.export.{HOMES[name]}"), name)
    raise AttributeError(f"module 'softquery.export' has no attribute {name!r}")
