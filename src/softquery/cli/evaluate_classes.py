"""`softquery evaluate` for classifiers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from softquery.errors import InputError


def evaluate_classifier(
    model: str, data: Path, rename: Mapping[str, str] | None, slices: Sequence[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The report, and the mistakes, the surest first."""
    from softquery.files import read_rows
    from softquery.runtime.classify.evaluate import evaluate_classifier
    from softquery.runtime.classify.model import load_classifier

    columns = ("text", "label")
    rows = list(read_rows(data, columns=columns, rename=rename, keep_others=True))
    if not rows:
        raise InputError("holds no rows", source=data)
    evaluation = evaluate_classifier(load_classifier(model), rows)
    result = evaluation.report()
    if slices:
        result["slices"] = {name: evaluation.slices(name) for name in slices}
    if evaluation.num_cut:
        result["texts_cut"] = evaluation.num_cut
    return result, [mistake.record() for mistake in evaluation.mistakes()]
