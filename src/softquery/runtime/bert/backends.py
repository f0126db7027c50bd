"""What a BERT with a head computes for each of the four tasks, on torch or on ONNX Runtime.

B rows, T pieces or words, C classes or tags.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from softquery.answers import ContextWindow, SpanScores
from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.backend_choice import Backend, choose_backend, needs_torch
from softquery.runtime.bert.rows import BertNetwork, BertRow, Floats
from softquery.runtime.classify.backend import Weighed
from softquery.runtime.match.backend import Alignment, Read
from softquery.runtime.tag.decode_tags import Chain
from softquery.text import PieceEncoder, TextPipeline, Tokens

HEADS = {
    "classifier": "bert-classifier",
    "matcher": "bert-matcher",
    "tagger": "bert-tagger",
    "reader": "bert-reader",
}
"""The model under each kind of bundle, where it is a BERT."""


def is_bert(bundle: Bundle) -> bool:
    """Whether the model is a BERT with a head."""
    return bool(HEADS.get(bundle.config.kind) == bundle.config.model["name"])


def open_bert(
    bundle: Bundle, backend: Backend, threads: int | None, device: str | None
) -> BertNetwork:
    """What computes for a bundle; see `softquery.load`."""
    _check_positions(bundle)
    if choose_backend(bundle, backend, threads, device) == "onnx":
        from softquery.runtime.bert.onnx import OnnxBert

        return OnnxBert(bundle, threads)
    with needs_torch():
        from softquery.runtime.bert.torch import TorchBert
    return TorchBert(bundle, device, threads)


def _check_positions(bundle: Bundle) -> None:
    """Refuse texts that are longer than what the encoder knows places for."""
    place, task = bundle.path / "config.json", bundle.config.task
    try:
        known = bundle.config.model["config"]["encoder"]["max_length"]
        limit = bundle.config.text["max_tokens"]
        longest = {
            "matcher": 2 * limit - 1,
            "reader": limit + task.get("max_question", 0) + 3,
        }.get(bundle.config.kind, limit)
        fits = 0 < longest <= known
    except (KeyError, TypeError):
        raise BundleError(f"{place}: says not how long its texts may be") from None
    if not fits:
        raise BundleError(f"{place}: rows of {longest} pieces, but places for {known}")


class BertClassifyBackend:
    """Classes of texts; see `softquery.runtime.classify.backend.ClassifyBackend`.

    Args:
        network: Encoder and head.
    """

    def __init__(self, network: BertNetwork) -> None:
        self.network, self.name = network, network.name

    def rows(self, texts: Sequence[Tokens]) -> list[BertRow]:
        """Texts as they are given to the encoder."""
        return [BertRow.of([int(each) for each in text[0]]) for text in texts]

    def logits(self, texts: Sequence[Tokens]) -> Floats:
        """Logits [N, C] of texts."""
        return _stacked(self.network.answers(self.rows(texts)))

    def weigh(self, text: Tokens) -> Weighed:
        """Logits of one text, and whom its first piece asked."""
        (row,) = self.rows([text])
        return Weighed(self.network.answers([row])[0], [self.network.looks(row)], None)


class BertMatchBackend:
    """Pairs of texts; see `softquery.runtime.match.backend.MatchBackend`.

    Both texts are read together, so that nothing of one can be computed before the other is there:
    what `encode` gives to be stored are the ids.

    Args:
        network: Encoder and head.
    """

    def __init__(self, network: BertNetwork) -> None:
        self.network, self.name = network, network.name

    def encode(self, sentences: Read) -> list[Floats]:
        """The ids of each sentence: [T, 1]."""
        return [np.array(each, dtype=np.float32).reshape(-1, 1) for each in sentences]

    def compare(self, first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
        """Logits of stored ids pairwise, or of one first side with every second side."""
        ones, others = (
            [each[:, 0].astype(np.int64).tolist() for each in side] for side in (first, second)
        )
        return self.pair_logits(ones * (len(second) if len(first) == 1 else 1), others)

    def align(self, first: Floats, second: Floats) -> Alignment | None:
        """None: which word decided is not to be read off."""
        return None

    def pair_logits(self, first: Read, second: Read) -> Floats:
        """Logits straight from sentences."""
        rows = [BertRow.of(one, other) for one, other in zip(first, second, strict=True)]
        return _stacked(self.network.answers(rows))


class BertTagBackend:
    """Tags of words; see `softquery.runtime.tag.model.TagBackend`.

    Args:
        network: Encoder and head.
        pipeline: Of the bundle.
    """

    def __init__(self, network: BertNetwork, pipeline: TextPipeline) -> None:
        self.network, self.name = network, network.name
        self.cutting = PieceEncoder(pipeline)

    def scores(self, sentences: Sequence[Sequence[str]]) -> tuple[list[Floats], Chain | None]:
        """Scores [T, C] of the tags of every word, by its first piece."""
        cut = self.cutting.rows(sentences)
        rows = [BertRow.of(row.ids) for parts in cut for row in parts]
        answers = iter(self.network.answers(rows))
        found = [np.concatenate([next(answers)[row.places] for row in parts]) for parts in cut]
        return found, self.network.chain


class BertReadBackend:
    """Spans of contexts; see `softquery.runtime.read.backend.ReadBackend`.

    Args:
        network: Encoder and head.
        pipeline: Of the bundle.
        bundle: Says whether there may be no answer.
    """

    def __init__(self, network: BertNetwork, pipeline: TextPipeline, bundle: Bundle) -> None:
        self.network, self.name, self.path = network, network.name, bundle.path
        self.cutting = PieceEncoder(pipeline)
        self.may_be_none = bundle.config.task.get("no_answer") == "learnt"

    def rows(self, windows: Sequence[ContextWindow]) -> list[BertRow]:
        """Windows as they are given to the encoder."""
        marked = self.cutting.marked
        return [BertRow.of(marked(window.question), marked(window.words)) for window in windows]

    def scores(self, windows: Sequence[ContextWindow]) -> list[SpanScores]:
        """Where the answer begins and ends, for every window."""
        found = []
        rows = self.rows(windows)
        for row, answer in zip(rows, self.network.answers(rows), strict=True):
            inside = answer[row.num_first : len(row.ids) - 1]
            none = (float(answer[0, 0]), float(answer[0, 1])) if self.may_be_none else None
            found.append(SpanScores(inside[:, 0], inside[:, 1], none))
        return found

    def meeting(self, window: ContextWindow) -> Floats:
        """Refused: question and context are read as one."""
        raise BundleError(f"{self.path}: this model compares no words, so it shows none")


def _stacked(answers: list[Any]) -> Floats:
    return np.stack(answers) if answers else np.empty((0, 0), dtype=np.float32)
