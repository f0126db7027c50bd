"""torch to ONNX to int8, behind a gate. Needs the extra `[train]`."""

from softquery.export.gate import ExportReport, Gate
from softquery.export.matcher import export_matcher
from softquery.export.tag_bundle import export_tagger

__all__ = ["ExportReport", "Gate", "export_matcher", "export_tagger"]
