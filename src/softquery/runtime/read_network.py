"""A reader as a torch module: opened from a bundle, and asked for scores. Needs torch."""

import numpy as np
import torch
from torch import nn

from softquery.answers import SpanScores
from softquery.bundle import Bundle
from softquery.data import Questions, in_order
from softquery.errors import BundleError
from softquery.models import BiDaf
from softquery.nn import SpanOutput
from softquery.runtime.network import load_task_model


def load_reader_model(bundle: Bundle) -> BiDaf:
    """The model of a bundle with its weights, in evaluation mode."""
    model = load_task_model(bundle)
    if not isinstance(model, BiDaf):
        raise BundleError(f"{bundle.path}: expected a reader, found a {bundle.config.kind}")
    return model


@torch.inference_mode()
def span_scores(
    model: nn.Module, questions: Questions, *, batch_size: int = 128
) -> list[SpanScores]:
    """Where the answer begins and ends, for every page in its order."""
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    lengths, question_length = questions.lengths().cpu(), questions.question_length()
    nothing = np.empty(0, dtype=np.float32)
    scores = [SpanScores(nothing, nothing)] * len(questions)
    for slot in in_order(lengths, batch_size=batch_size):
        rows = slot.rows.to(device)
        batch = questions.batch(rows, slot.length, question_length=question_length)
        output: SpanOutput = model(batch)
        start, end = output.start.cpu().numpy(), output.end.cpu().numpy()
        none = None
        if output.none is not None:
            none = (float(output.none[0]), float(output.none[1]))
        for place, row in enumerate(slot.rows.tolist()):
            length = int(lengths[row])
            scores[row] = SpanScores(start[place, :length], end[place, :length], none)
    model.train(was_training)
    return scores
