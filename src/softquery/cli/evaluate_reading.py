"""`softquery evaluate` for readers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from softquery.errors import InputError


def evaluate_reader(
    model: str, data: Path, rename: Mapping[str, str] | None, slices: Sequence[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The report, and the mistakes."""
    from softquery.files import read_questions
    from softquery.runtime.read.evaluate import evaluate_reader
    from softquery.runtime.read.model import load_reader

    rows = list(read_questions(data, rename=rename))
    if not rows:
        raise InputError("holds no questions", source=data)
    evaluation = evaluate_reader(load_reader(model), rows)
    result = evaluation.report()
    if slices:
        result["slices"] = {name: evaluation.slices(name) for name in slices}
    if evaluation.num_long:
        result["contexts_in_pages"] = evaluation.num_long
    return result, evaluation.mistakes()
