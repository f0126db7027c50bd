"""softquery: attention-based text understanding on one attention core.

>>> import softquery
>>> softquery.__version__
'0.1.0'
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softquery.runtime import (
        Classifier,
        Embedder,
        Matcher,
        Reader,
        Tagger,
        WordSpace,
        Writer,
        evaluate,
        load,
        load_vectors,
    )

__version__ = "0.1.0"
__all__ = [
    "Classifier",
    "Embedder",
    "Matcher",
    "Reader",
    "Tagger",
    "WordSpace",
    "Writer",
    "__version__",
    "evaluate",
    "load",
    "load_vectors",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: `import softquery` stays quick and free of torch."""
    if name in __all__ and name != "__version__":
        from softquery import runtime

        return getattr(runtime, name)
    raise AttributeError(f"module 'softquery' has no attribute {name!r}")
