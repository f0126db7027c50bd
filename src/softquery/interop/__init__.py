"""Other people's weights, to and from bundles."""

from softquery.interop.elmo import import_elmo, publish_elmo

__all__ = ["import_elmo", "publish_elmo"]
