"""A BERT with a head, or without: rows of pieces, and what is computed of them for four tasks.

B rows, T pieces or words, C classes or tags, L layers, D width. Needs no torch once exported.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.answers import ContextWindow, SpanScores
from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.batches import Floats, length_batches
from softquery.runtime.classify.backend import Weighed
from softquery.runtime.kinds import KINDS
from softquery.runtime.loading import Backend, choose_backend, needs_torch
from softquery.runtime.match.backend import Alignment, Read
from softquery.runtime.tag.backend import Chain
from softquery.text import PieceEncoder, TextPipeline, Tokens

BATCH = 32
"""The most rows that are computed at a time."""
TOKENS = 2048
"""The most pieces of a batch, padding included, unless one row alone has more."""
GPU_BATCH, GPU_TOKENS = 1024, 1 << 16
"""Likewise on a GPU, which idles on small batches."""
HEADS = {
    "classifier": "bert-classifier",
    "matcher": "bert-matcher",
    "tagger": "bert-tagger",
    "reader": "bert-reader",
}
"""The model under each kind of bundle, where it is a BERT."""


class BertRow(NamedTuple):
    """`[CLS] a [SEP]`, or `[CLS] a [SEP] b [SEP]`."""

    ids: Sequence[int]
    num_first: int
    """How many of the pieces belong to the first text."""

    @classmethod
    def of(cls, first: Sequence[int], second: Sequence[int] | None = None) -> "BertRow":
        """One text, or two, each between its marks.

        >>> BertRow.of([2, 7, 3], [2, 8, 3])
        BertRow(ids=[2, 7, 3, 8, 3], num_first=3)
        """
        return cls([*first, *(second or ())[1:]], len(first))


class BertNetwork(Protocol):
    """An encoder with a head, over rows of pieces."""

    @property
    def name(self) -> str:
        """What computes, such as `"onnx"`."""

    @property
    def chain(self) -> Chain | None:
        """Scores of tags among themselves, where they are learnt."""

    def answers(self, rows: Sequence[BertRow]) -> list[Floats]:
        """What the head says of each row: [C], or [T, C] where every piece is judged."""

    def looks(self, row: BertRow) -> Floats:
        """Whom the first piece of one row asked in the highest layer: [T]."""


def padded(rows: Sequence[BertRow]) -> dict[str, NDArray[Any]]:
    """Rows side by side, zeros behind: `ids`, `segments` and `lengths`.

    >>> padded([BertRow([2, 7, 3, 8, 3], 3), BertRow([2, 3], 2)])["segments"].tolist()
    [[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]
    """
    lengths = np.array([len(row.ids) for row in rows], dtype=np.int32)
    shape = (len(rows), max(1, int(lengths.max(initial=0))))
    ids, segments = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row.ids)] = row.ids
        segments[place, row.num_first : len(row.ids)] = 1
    return {"ids": ids, "segments": segments, "lengths": lengths}


def row_batches(rows: Sequence[BertRow], *, on_gpu: bool = False) -> list[list[int]]:
    """Places of rows of like length together, as many as the limits allow."""
    most, most_tokens = (GPU_BATCH, GPU_TOKENS) if on_gpu else (BATCH, TOKENS)
    return length_batches([len(row.ids) for row in rows], most=most, most_tokens=most_tokens)


def unpadded(answers: Floats, rows: Sequence[BertRow]) -> list[Floats]:
    """The answer of each row of a batch, without what was said of padding."""
    if answers.ndim == 2:
        return list(answers)
    return [each[: len(row.ids)] for each, row in zip(answers, rows, strict=True)]


def is_bert(bundle: Bundle) -> bool:
    """Whether the model is a BERT with a head."""
    kind = KINDS.get(bundle.config.kind)
    return kind is not None and kind.bert == bundle.config.model["name"]


def open_bert(
    bundle: Bundle, backend: Backend, threads: int | None, device: str | None
) -> BertNetwork:
    """What computes for a bundle; see `softquery.load`."""
    _check_positions(bundle)
    if choose_backend(bundle, backend, threads, device) == "onnx":
        from softquery.runtime.bert.onnx import OnnxBertHead

        return OnnxBertHead(bundle, threads)
    with needs_torch():
        from softquery.runtime.bert.torch import TorchBertHead
    return TorchBertHead(bundle, device, threads)


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
        raise BundleError(f"{place}: does not say how long its texts may be") from None
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
