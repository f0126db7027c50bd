"""torch to ONNX to int8, behind a gate. Needs the extra `[train]`."""

from softquery.export.generator import export_generator
from softquery.export.matcher import ExportReport, Gate, export_matcher

__all__ = ["ExportReport", "Gate", "export_generator", "export_matcher"]
