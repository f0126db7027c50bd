"""Documents in the order of their scores, as sentence-transformers spells a ranking."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def best_documents(
    scores: NDArray[Any], documents: Sequence[str], top_k: int | None, *, return_documents: bool
) -> list[dict[str, Any]]:
    """The documents with the highest scores, best first; of equal ones the earlier first.

    Args:
        scores: One per document.
        documents: The candidates.
        top_k: How many to return; None for all.
        return_documents: Whether each comes with its `text`.

    >>> best_documents(np.array([0.25, 0.5]), ["a", "b"], 1, return_documents=True)
    [{'corpus_id': 1, 'score': 0.5, 'text': 'b'}]
    >>> best_documents(np.array([0.25, 0.5]), ["a", "b"], 1, return_documents=False)
    [{'corpus_id': 1, 'score': 0.5}]
    """
    best = np.argsort(-scores, kind="stable")[:top_k].tolist()
    found: list[dict[str, Any]] = [
        {"corpus_id": place, "score": float(scores[place])} for place in best
    ]
    if return_documents:
        for hit in found:
            hit["text"] = documents[hit["corpus_id"]]
    return found
