"""torch to ONNX to int8, behind a gate. Needs the extra `[train]`."""

from softquery.export.classifier import export_classifier
from softquery.export.matcher import ExportReport, Gate, export_matcher

__all__ = ["ExportReport", "Gate", "export_classifier", "export_matcher"]
