"""`softquery evaluate` for generators."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from softquery.errors import InputError


def evaluate_generator(
    model: str, data: Path, rename: Mapping[str, str] | None, slices: Sequence[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The report, and the answers that differ from their targets."""
    from softquery.files import read_rows
    from softquery.measure import require_sacrebleu
    from softquery.runtime import load_generator
    from softquery.runtime.generate.evaluate import evaluate_generator

    rows = list(read_rows(data, columns=("source", "target"), rename=rename))
    if not rows:
        raise InputError("holds no rows", source=data)
    writer = load_generator(model)
    if writer.task.get("bleu", "13a") != "none":
        require_sacrebleu()
    evaluation = evaluate_generator(writer, rows)
    result = evaluation.report()
    if slices:
        result["slices"] = {name: evaluation.slices(name) for name in slices}
    if evaluation.num_cut:
        result["texts_cut"] = evaluation.num_cut
    return result, evaluation.mistakes()
