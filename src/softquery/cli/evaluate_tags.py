"""`softquery evaluate` for taggers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from softquery.errors import InputError


def evaluate_tagger(
    model: str, data: Path, rename: Mapping[str, str] | None, slices: Sequence[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The report, and the mistakes."""
    from softquery.files import read_tagged
    from softquery.runtime.tag.evaluate import evaluate_tagger
    from softquery.runtime.tag.model import load_tagger

    rows = list(read_tagged(data, rename=rename))
    if not rows:
        raise InputError("holds no sentences", source=data)
    evaluation = evaluate_tagger(load_tagger(model), rows)
    result = evaluation.report()
    if slices:
        result["slices"] = {name: evaluation.slices(name) for name in slices}
    if evaluation.num_cut:
        result["sentences_in_parts"] = evaluation.num_cut
    return result, evaluation.mistakes()
