"""Conversion of published weights to bundles and back."""

from softquery.interop.bert import import_bert, publish_bert
from softquery.interop.cove import import_cove
from softquery.interop.elmo import import_elmo, publish_elmo
from softquery.interop.pooled_bert import import_pooled_bert
from softquery.interop.sentence_transformer_folders import import_sentence_transformers
from softquery.interop.static_table import import_static

__all__ = [
    "import_bert",
    "import_cove",
    "import_elmo",
    "import_pooled_bert",
    "import_sentence_transformers",
    "import_static",
    "publish_bert",
    "publish_elmo",
]
