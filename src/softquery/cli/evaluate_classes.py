"""`softquery evaluate` for classifiers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softquery.errors import InputError

if TYPE_CHECKING:
    from softquery.runtime.evaluation import Mistake


def evaluate_classifier(
    model: str, data: Path, rename: Mapping[str, str] | None, slices: Sequence[str], keep: bool
) -> tuple[dict[str, Any], list["Mistake"]]:
    """The report, and the mistakes.

    Args:
        model: A name or a folder.
        data: Rows with `text` and `label`.
        rename: Our column names to the file's.
        slices: What to slice by.
        keep: Whether the rows' further columns are needed.
    """
    from softquery.files import read_rows
    from softquery.runtime.class_evaluation import evaluate_classes
    from softquery.runtime.classifier import load_classifier

    columns = ("text", "label")
    rows = list(read_rows(data, columns=columns, rename=rename, keep_others=keep))
    if not rows:
        raise InputError("holds no rows", source=data)
    evaluation = evaluate_classes(load_classifier(model), rows)
    result = evaluation.report()
    if slices:
        result["slices"] = {name: evaluation.slices(name) for name in slices}
    if evaluation.num_cut:
        result["texts_cut"] = evaluation.num_cut
    return result, evaluation.mistakes()
