"""An encoder that says what may stand where a word was hidden. Needs no torch once exported.

M masks, V pieces of the vocabulary.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.answers.fill import Filled
from softquery.bundle import Bundle
from softquery.errors import BundleError, ConfigError, InputError
from softquery.files import Row
from softquery.numpy_softmax import softmax
from softquery.runtime.call_checks import TEXTS, listed_texts, whole_number
from softquery.runtime.fill.backend import FillBackend, MaskedRow
from softquery.runtime.fill.masked_texts import MaskReader, TextWithMasks
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.given_texts import Texts
from softquery.runtime.kinds import check_kind
from softquery.runtime.loading import Backend, Source, choose_backend, needs_torch, opened
from softquery.runtime.model_repr import model_repr
from softquery.runtime.opened_by import opened_by
from softquery.text import BERT_RESERVED

CHUNK = 64
"""Texts of a bulk call that are answered together."""
MOST_PLACES = 256
"""Places whose logits are held at a time, unless one row alone has more."""
MOST_CANDIDATES = 1000
Shares = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FillRequest:
    """How many words are wanted for each mask, or which words are to be scored."""

    top_k: int = 5
    candidates: tuple[str, ...] = ()
    """Words of one piece or several; where there are some, they alone are answered with."""

    @classmethod
    def of(cls, top_k: int, candidates: Iterable[str] | None) -> "FillRequest":
        """What a caller asks for, checked.

        Raises:
            ConfigError: A count that is none, or candidates that are no list of words.
        """
        words: list[str] = [] if isinstance(candidates, str) else list(candidates or ())
        if isinstance(candidates, str) or not all(isinstance(word, str) for word in words):
            raise ConfigError(f"candidates must be a list of words, got {candidates!r:.60}")
        if candidates is not None and not words:
            raise ConfigError("candidates names no word; leave it out to choose among all words")
        if not all(word.strip() for word in words):
            raise ConfigError("a candidate is empty")
        if len(words) > MOST_CANDIDATES:
            raise ConfigError(f"{len(words):,} candidates; at most {MOST_CANDIDATES:,} are scored")
        try:
            return cls(whole_number(top_k, "top_k"), tuple(dict.fromkeys(words)))
        except ValueError as error:
            raise ConfigError(str(error)) from None


@opened_by("softquery.load")
class MaskFiller:
    """Words for masks, each mask by itself.

    Where a text has several masks, each is answered while the others stay masked, as in
    pretraining: the best words of two masks need not be the best pair.

    Args:
        bundle: The model folder.
        backend: What computes its logits.
    """

    chunk = CHUNK

    def __init__(self, bundle: Bundle, backend: FillBackend) -> None:
        self.bundle, self.backend = bundle, backend
        self.pipeline = fitting_pipeline(bundle)
        sizes = bundle.config.model["config"]
        self.max_tokens: int = min(self.pipeline.config.max_tokens, sizes["max_length"])
        self.reader = MaskReader(self.pipeline, self.max_tokens)
        reserved = {self.pipeline.token_id(mark) for mark in BERT_RESERVED}
        everything = range(min(self.pipeline.vocab_size, sizes["vocab_size"]))
        self._offered = np.array([each for each in everything if each not in reserved])

    def __repr__(self) -> str:
        return model_repr(self, max_tokens=self.max_tokens)

    def fill(
        self, text: str, *, top_k: int = 5, candidates: Iterable[str] | None = None
    ) -> list[Filled]:
        """Words for the masks of one text, mask by mask, the likeliest first.

        Args:
            text: Holds `[MASK]` once or several times.
            top_k: Words for each mask.
            candidates: Words to be scored, of one piece or several; then all of them come back.
        """
        if not isinstance(text, str):
            raise TypeError(f"expected a text, got {type(text).__name__}")
        (found,) = self.predict([text], FillRequest.of(top_k, candidates))
        return found

    def predict(self, texts: Texts, request: FillRequest | None = None) -> list[list[Filled]]:
        """The same for several texts; a text that cannot be filled is named by its number."""
        if request is not None and not isinstance(request, FillRequest):
            raise ConfigError(f"expected a FillRequest, got {request!r:.60}")
        request = request or FillRequest()
        pieces = self.reader.spell(request.candidates)
        longest = max(map(len, pieces), default=1)
        read, listed = [], listed_texts(texts)
        for number, text in enumerate(listed, 1):
            try:
                read.append(self.reader.read(text, longest=longest))
            except InputError as error:
                row = number if len(listed) > 1 else None
                source = TEXTS if row else "the text"
                raise InputError(error.message, source=source, row=row) from None
        return self.filled(read, request, pieces)

    def fillable_rows(
        self,
        rows: Iterable[Row],
        request: FillRequest,
        on_bad: Callable[[InputError], object] | None = None,
    ) -> Iterator[Row]:
        """The rows whose text can be filled.

        Args:
            rows: With `text`.
            request: What is wanted.
            on_bad: Told of a row that is left out; without it, the first one is raised.
        """
        longest = max(map(len, self.reader.spell(request.candidates)), default=1)
        for row in rows:
            try:
                self.reader.read(row.values["text"], longest=longest)
            except InputError as error:
                placed = InputError(error.message, source=row.source, row=row.number)
                if on_bad is None:
                    raise placed from None
                on_bad(placed)
            else:
                yield row

    def filled(
        self,
        texts: Sequence[TextWithMasks],
        request: FillRequest,
        pieces: Sequence[Sequence[int]],
    ) -> list[list[Filled]]:
        """Words for texts that are read already.

        Args:
            texts: What `reader` read.
            request: What is wanted.
            pieces: Of the request's candidates.
        """
        if request.candidates:
            return [self._scored(text, request.candidates, pieces) for text in texts]
        found: list[list[Filled]] = []
        rows = [text.row() for text in texts]
        for text, shares in zip(texts, self._shares(rows), strict=True):
            found.append(self._likeliest(text, shares, request.top_k))
        return found

    def num_cut(self, texts: Texts) -> int:
        """None are cut: a text that is too long is refused."""
        listed_texts(texts)
        return 0

    def _shares(self, rows: Sequence[MaskedRow]) -> Iterator[Shares]:
        """The probability of all pieces at the places of each row: [M, V]."""
        for some in _few_places(rows):
            for logits in self.backend.logits(some):
                yield softmax(logits.astype(np.float64))

    def _likeliest(self, text: TextWithMasks, shares: Shares, top_k: int) -> list[Filled]:
        found = []
        for mask, row in enumerate(shares):
            offered = row[self._offered]
            best = self._offered[np.argsort(-offered, kind="stable")[:top_k]]
            for piece in best.tolist():
                word = self.pipeline.tokenizer.id_to_token(piece) or ""
                found.append(Filled(word, float(row[piece]), text.sentence(mask, word), mask + 1))
        return found

    def _scored(
        self, text: TextWithMasks, words: Sequence[str], pieces: Sequence[Sequence[int]]
    ) -> list[Filled]:
        """Candidates by their probability; one of several pieces is spelt from left to right."""
        mask_id, masks = self.reader.mask_id, range(len(text.places))
        long = [place for place, each in enumerate(pieces) if len(each) > 1]
        asked = [text.row()]
        asked += [row for mask in masks for place in long
                  for row in text.spelt(mask, pieces[place], mask_id)]  # fmt: skip
        shares = self._shares(asked)
        first = next(shares)
        found = []
        for mask in masks:
            scores = {place: float(first[mask, each[0]]) for place, each in enumerate(pieces)}
            for place in long:
                scores[place] = float(np.prod([next(shares)[0, each] for each in pieces[place]]))
            for place in sorted(scores, key=lambda each: -scores[each]):
                word = words[place]
                filled = Filled(word, scores[place], text.sentence(mask, word), mask + 1)
                found.append(filled)
        return found


def _few_places(rows: Sequence[MaskedRow]) -> Iterator[list[MaskedRow]]:
    """Rows in their order, so many at a time that their logits stay small."""
    some: list[MaskedRow] = []
    count = 0
    for row in rows:
        if some and count + len(row.places) > MOST_PLACES:
            yield some
            some, count = [], 0
        some.append(row)
        count += len(row.places)
    if some:
        yield some


def can_fill(bundle: Bundle) -> bool:
    """Whether an encoder's settings say that it can fill masks."""
    settings = bundle.config.model["config"]
    has_head = settings.get("heads", "none") != "none"
    return bool(has_head and settings.get("direction", "both") == "both")


def open_filler(
    name_or_path: Source,
    *,
    backend: Backend = "auto",
    threads: int | None = None,
    device: str | None = None,
) -> MaskFiller:
    """Open a pretrained encoder to fill masks with; the arguments are those of `softquery.load`.

    Raises:
        BundleError: It is no encoder, or has no head for hidden words.
    """
    bundle = opened(name_or_path)
    check_kind(bundle, "encoder")
    if not can_fill(bundle):
        settings = bundle.config.model["config"]
        left = settings.get("direction", "both") != "both"
        raise BundleError(
            f"{bundle.path}: reads from left to right, and cannot see what follows a mask; "
            "softquery generate goes on from a text"
            if left
            else f"{bundle.path}: was kept without its head for hidden words, and cannot fill masks"
        )
    return MaskFiller(bundle, open_head(bundle, backend, threads, device))


def open_head(
    bundle: Bundle, backend: Backend, threads: int | None, device: str | None
) -> FillBackend:
    """What computes logits of pieces for an encoder that kept its head; see `softquery.load`."""
    from softquery.runtime.fill.onnx import OnnxFillBackend, has_graph

    chosen = choose_backend(bundle, backend, threads, device)
    if chosen == "onnx" and has_graph(bundle):
        return OnnxFillBackend(bundle, threads)
    if backend == "onnx":
        raise BundleError(f"{bundle.path}: was exported without a graph for masks; export it again")
    with needs_torch("filling masks with a bundle that was exported without a graph for it"
                     if chosen == "onnx" else "running a model on torch"):  # fmt: skip
        from softquery.runtime.fill.torch import TorchFillBackend
    return TorchFillBackend(bundle, device, threads)
