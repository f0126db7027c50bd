"""A reader in torch, on a CPU or a GPU: loaded, and asked for scores."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from softquery.answers import ContextWindow, SpanScores
from softquery.bundle import Bundle
from softquery.data import (
    PieceBatch,
    PieceWindows,
    QuestionBatch,
    Questions,
    encode_windows,
    in_order,
)
from softquery.errors import BundleError
from softquery.models import BiDaf
from softquery.nn import ElmoEmbedder, SpanOutput
from softquery.runtime.batches import Floats
from softquery.runtime.torch_device import TorchModel, evaluating
from softquery.runtime.torch_models import load_task_model, max_characters
from softquery.text import TextPipeline

BATCH = 32
"""Windows that are read at a time."""


class TorchReadBackend:
    """A reader as a torch module; `device` and `threads` are those of `TorchModel`."""

    def __init__(
        self,
        bundle: Bundle,
        pipeline: TextPipeline,
        device: str | None = None,
        threads: int | None = None,
    ) -> None:
        self._torch = TorchModel(lambda: load_reader_model(bundle), device, threads)
        self.model, self.name = self._torch.module, self._torch.name
        self.path, self.pipeline = bundle.path, pipeline

    def scores(self, windows: Sequence[ContextWindow]) -> list[SpanScores]:
        """Where the answer begins and ends, for every window."""
        return span_scores(self.model, self._encoded(windows), batch_size=BATCH)

    @torch.inference_mode()
    def meeting(self, window: ContextWindow) -> Floats:
        """How well the words of the context and of the question answer each other."""
        made = self._encoded([window])
        length, question_length = int(made.lengths()[0]), max(1, len(window.question))
        rows = torch.zeros(1, dtype=torch.int64, device=self._torch.device)
        found = self.model(made.batch(rows, length, question_length=question_length)).scores
        if found is None:
            raise BundleError(f"{self.path}: this model compares no words, so it shows none")
        scores: Floats = found[0, :, : len(window.question)].float().cpu().numpy()
        return scores

    @torch.inference_mode()
    def _encoded(self, windows: Sequence[ContextWindow]) -> Questions:
        longest = max_characters(self.model.config)
        made = encode_windows(windows, self.pipeline, max_characters=longest).to(self._torch.device)
        embedder = self.model.embedder
        if not isinstance(embedder, ElmoEmbedder):
            return made
        return replace(made, lexicon=embedder.read(made.lexicon))


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
    device = next(model.parameters()).device
    firsts, lengths = _contexts(questions)
    nothing = np.empty(0, dtype=np.float32)
    scores = [SpanScores(nothing, nothing)] * len(questions)
    with evaluating(model):
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
