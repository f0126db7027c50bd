"""torch to ONNX to int8, behind a gate.

All but a biLM need the extra `[train]`; a biLM's graphs are written with onnx alone, and checked
against torch where it is there.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from softquery.export.accuracy_gate import AccuracyGate, ExportReport

if TYPE_CHECKING:
    from softquery.export.bert import export_bert_head, export_encoder
    from softquery.export.classify import export_classifier
    from softquery.export.embed import export_embedder
    from softquery.export.generate import export_generator
    from softquery.export.graph.elmo import bilm_graphs
    from softquery.export.match import export_matcher
    from softquery.export.read import export_reader
    from softquery.export.tag import export_tagger

HOMES = {
    "bilm_graphs": "graph.elmo",
    "export_bert_head": "bert",
    "export_classifier": "classify",
    "export_embedder": "embed",
    "export_encoder": "bert",
    "export_generator": "generate",
    "export_matcher": "match",
    "export_reader": "read",
    "export_tagger": "tag",
}

__all__ = [
    "ExportReport",
    "AccuracyGate",
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
