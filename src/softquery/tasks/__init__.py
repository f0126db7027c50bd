"""One file a question: loss, labels and metric, without parameters."""

from softquery.tasks.match import PairClassification, PairGrading, PairTask, task_from_dict

__all__ = ["PairClassification", "PairGrading", "PairTask", "task_from_dict"]
