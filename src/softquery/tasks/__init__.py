"""One file a question: loss, labels and metric, without parameters."""

from softquery.tasks.classify import TextClassification
from softquery.tasks.language_model import LanguageModel, Likelihood
from softquery.tasks.match import PairClassification, PairGrading, PairTask, task_from_dict
from softquery.tasks.tag import Tagging

__all__ = [
    "LanguageModel",
    "Likelihood",
    "PairClassification",
    "PairGrading",
    "PairTask",
    "Tagging",
    "TextClassification",
    "task_from_dict",
]
