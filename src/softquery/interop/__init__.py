"""Conversion of published weights to bundles and back."""

from softquery.interop.bert import import_bert, publish_bert
from softquery.interop.elmo import import_elmo, publish_elmo

__all__ = ["import_bert", "import_elmo", "publish_bert", "publish_elmo"]
