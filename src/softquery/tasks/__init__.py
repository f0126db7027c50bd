"""One file a question: loss, labels and metric, without parameters."""

from softquery.tasks.language_model import LanguageModel, Likelihood
from softquery.tasks.match import PairClassification, PairGrading, PairTask, task_from_dict
from softquery.tasks.window import WordPrediction

__all__ = [
    "LanguageModel",
    "Likelihood",
    "PairClassification",
    "PairGrading",
    "PairTask",
    "WordPrediction",
    "task_from_dict",
]
