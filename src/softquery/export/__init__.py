"""torch to ONNX to int8, behind a gate.

All but a biLM need the extra `[train]`; a biLM's graphs are written with onnx alone, and checked
against torch where it is there.
"""

from typing import TYPE_CHECKING, Any

from softquery.export.accuracy_gate import AccuracyGate, ExportReport
from softquery.runtime.kinds import KINDS, Lazy

if TYPE_CHECKING:
    from softquery.export.bert import export_bert_head, export_encoder
    from softquery.export.classify import export_classifier
    from softquery.export.embed import export_embedder
    from softquery.export.encode import export_sentence_encoder
    from softquery.export.generate import export_generator
    from softquery.export.graph.elmo import bilm_graphs
    from softquery.export.match import export_matcher
    from softquery.export.read import export_reader
    from softquery.export.tag import export_tagger

__all__ = [
    "AccuracyGate",
    "ExportReport",
    "bilm_graphs",
    "export_bert_head",
    "export_classifier",
    "export_embedder",
    "export_encoder",
    "export_generator",
    "export_matcher",
    "export_reader",
    "export_sentence_encoder",
    "export_tagger",
]


_PLACES = {
    kind.exporter.place.partition(":")[2]: kind.exporter
    for kind in KINDS.values()
    if kind.exporter is not None
} | {
    "bilm_graphs": Lazy("softquery.export.embed:bilm_graphs"),
    "export_bert_head": Lazy("softquery.export.bert:export_bert_head"),
}
"""Where each name lies: the exporters of the table of kinds, and two more."""


def __getattr__(name: str) -> Any:
    """Import what is asked for: exporting a biLM needs no torch, exporting others does."""
    if name in _PLACES:
        return _PLACES[name].get()
    raise AttributeError(f"module 'softquery.export' has no attribute {name!r}")
