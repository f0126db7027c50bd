"""Figures by which students are chosen, on the GPU: pairs, and first answers of intent sets.

Graded pairs have Spearman's correlation; pairs of two labels have AUC (Chinese) or the accuracy on
the second half of the rows of the threshold that is best on the first half (English), as the
reported sets have them. The mean is that of each set of pairs and of the intents' mean.

N texts, E width of a vector.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from softquery.measure import auc, spearman
from softquery.measure.encode_scores import most_accurate_threshold

ASKED = 2_048
"""Questions whose cosines with all stored texts are in memory at a time."""


@torch.inference_mode()
def scores(vectors: Tensor, judged: dict[str, Any], *, by: str = "accuracy") -> dict[str, float]:
    """Points of every set, and their mean.

    Args:
        vectors: Of the judged texts, [N, E], of length one.
        judged: The sets, by numbers of texts.
        by: What pairs of two labels are measured by, "accuracy" or "auc".
    """
    found = {}
    for name, rows in judged["pairs"].items():
        table = torch.tensor(rows, dtype=torch.float64)
        first, second = (vectors[table[:, side].long().to(vectors.device)] for side in (0, 1))
        cosines, labels = (first * second).sum(1).double().cpu().numpy(), table[:, 2].numpy()
        found[name] = 100 * _agreement(labels, cosines, by)
    asked = judged["intents"].items()
    answers = {name: 100 * _first_answers(vectors, rows) for name, rows in asked}
    intents = [sum(answers.values()) / len(answers)] if answers else []
    every = [*found.values(), *intents]
    return {**found, **answers, "intents": intents[0] if intents else 0.0,
            "mean": sum(every) / len(every)}  # fmt: skip


def _agreement(labels: np.ndarray, cosines: np.ndarray, by: str) -> float:
    if len(np.unique(labels)) > 2:
        return float(spearman(labels, cosines))
    same, half = (labels == labels.max()).astype(np.int64), len(labels) // 2
    if by == "auc":
        return float(auc(same, cosines))
    threshold = most_accurate_threshold(cosines[:half], same[:half])
    return float(((cosines[half:] >= threshold) == (same[half:] == 1)).mean())


def _first_answers(vectors: Tensor, rows: dict[str, list[list[Any]]]) -> float:
    stored = vectors[[number for number, _ in rows["train"]]]
    asked = vectors[[number for number, _ in rows["test"]]]
    nearest = torch.cat([(part @ stored.T).argmax(1) for part in asked.split(ASKED)]).tolist()
    given = [rows["train"][place][1] for place in nearest]
    return float(np.mean([a == label for a, (_, label) in zip(given, rows["test"], strict=True)]))
