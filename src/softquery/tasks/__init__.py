"""One file a question: loss, labels and metric, without parameters."""

from softquery.tasks.match import PairClassification, PairGrading, PairTask, task_from_dict
from softquery.tasks.window import WordPrediction

__all__ = ["PairClassification", "PairGrading", "PairTask", "WordPrediction", "task_from_dict"]
