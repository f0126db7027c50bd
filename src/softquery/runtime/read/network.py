"""A reader as a torch module: opened from a bundle, and asked for scores. Needs torch."""

import numpy as np
import torch
from torch import Tensor, nn

from softquery.answers import SpanScores
from softquery.bundle import Bundle
from softquery.data import PieceBatch, PieceWindows, QuestionBatch, Questions, in_order
from softquery.errors import BundleError
from softquery.models import BiDaf
from softquery.nn import SpanOutput
from softquery.runtime.torch_models import load_task_model


def load_reader_model(bundle: Bundle) -> BiDaf:
    """The model of a bundle with its weights, in evaluation mode."""
    model = load_task_model(bundle)
    if not isinstance(model, BiDaf):
        raise BundleError(f"{bundle.path}: expected a reader, found a {bundle.config.kind}")
    return model


@torch.inference_mode()
def span_scores(
    model: nn.Module, questions: Questions | PieceWindows, *, batch_size: int = 128
) -> list[SpanScores]:
    """Where the answer begins and ends, for every window in its order."""
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    firsts, lengths = _contexts(questions)
    nothing = np.empty(0, dtype=np.float32)
    scores = [SpanScores(nothing, nothing)] * len(questions)
    for slot in in_order(questions.lengths().cpu(), batch_size=batch_size):
        output: SpanOutput = model(_batch(questions, slot.rows.to(device), slot.length))
        start, end = output.start.cpu().numpy(), output.end.cpu().numpy()
        none = None
        if output.none is not None:
            none = output.none.float().expand(len(start), 2).cpu().tolist()
        for place, row in enumerate(slot.rows.tolist()):
            inside = slice(firsts[row], firsts[row] + lengths[row])
            nowhere = None if none is None else (none[place][0], none[place][1])
            scores[row] = SpanScores(start[place, inside], end[place, inside], nowhere)
    model.train(was_training)
    return scores


def _contexts(questions: Questions | PieceWindows) -> tuple[list[int], list[int]]:
    """Where the context of each window begins in what a model scores, and how long it is."""
    if isinstance(questions, Questions):
        return [0] * len(questions), questions.lengths().tolist()
    # Between the marks of its row, behind the question.
    return questions.question.lengths.tolist(), (questions.context.lengths - 2).tolist()


def _batch(
    questions: Questions | PieceWindows, rows: Tensor, length: int
) -> QuestionBatch | PieceBatch:
    if isinstance(questions, PieceWindows):
        return questions.batch(rows, length)
    return questions.batch(rows, length, question_length=questions.question_length())
