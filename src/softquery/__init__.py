"""softquery: attention-based text understanding on one attention core.

>>> import softquery
>>> softquery.__version__
'0.1.0'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softquery.running.spreadsheet.python_train import train
    from softquery.runtime import (
        Classifier,
        ContextEmbedder,
        Generator,
        MaskFiller,
        Matcher,
        Reader,
        SentenceEncoder,
        Tagger,
        WordVectors,
        evaluate,
        load,
        load_vectors,
    )
    from softquery.search import Index

__version__ = "0.1.0"
__all__ = [
    "Classifier",
    "ContextEmbedder",
    "Generator",
    "Index",
    "MaskFiller",
    "Matcher",
    "Reader",
    "SentenceEncoder",
    "Tagger",
    "WordVectors",
    "__version__",
    "evaluate",
    "load",
    "load_vectors",
    "train",
]

_FORMER = ("Embedder", "WordSpace", "Writer")
"""Names of version 0.1, which warn."""


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: `import softquery` stays quick and free of torch."""
    if name == "Index":
        from softquery import search

        return search.Index
    if name == "ray":
        return import_module("softquery.ray")
    if name == "train":
        from softquery.running.spreadsheet import python_train

        return python_train.train
    if name in {*__all__, *_FORMER} - {"__version__"}:
        from softquery import runtime

        return getattr(runtime, name)
    raise AttributeError(f"module 'softquery' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, also those that have not been imported yet."""
    hidden = {"Any", "TYPE_CHECKING", "import_module", "_FORMER"}
    return sorted({*globals(), *__all__, "ray"} - hidden)
