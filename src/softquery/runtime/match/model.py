"""A matching bundle that answers."""

import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Match, parse_class, parse_grade
from softquery.answers.label_names import label_names
from softquery.bundle import Bundle
from softquery.errors import BundleError, ConfigError
from softquery.explain import PairAlignment
from softquery.runtime.bert.backend import BertMatchBackend, is_bert, open_bert
from softquery.runtime.call_checks import (
    listed_encodings,
    listed_pairs,
    listed_probabilities,
    listed_texts,
    one_text,
    whole_number,
)
from softquery.runtime.fit_checks import fitting_calibration, fitting_pipeline
from softquery.runtime.given_texts import Advance, Pairs, Texts, in_view, matrix_of
from softquery.runtime.inner.inner_weights import reads_words
from softquery.runtime.kinds import check_kind, check_task
from softquery.runtime.loading import Backend, Source, choose_backend, needs_torch, opened
from softquery.runtime.match.backend import Floats, MatchBackend, Read, is_pair_head
from softquery.runtime.match.pair_head import open_pair_head, surfaces
from softquery.runtime.match.pair_reasons import pair_reasons
from softquery.runtime.model_repr import model_repr
from softquery.runtime.opened_by import opened_by
from softquery.runtime.ranking import best_documents
from softquery.text import UNK, Encoded

if TYPE_CHECKING:
    from softquery.runtime.vectors.text_vectors import EncodingVectors, StateVectors

Pair = tuple[str, str]
Sentence = tuple[int, ...] | tuple[str, ...]
"""As `Matcher.read` gives it."""
CHUNK = 256
"""Pairs of a bulk call that are answered together; results depend on nothing outside of a chunk."""
CACHE_BYTES = 64 * 1024 * 1024
"""Memory of the encodings that a matcher keeps; 1,700 sentences of twelve words for `match-en`."""


@opened_by("softquery.load")
class Matcher:
    """Answers what two sentences are to each other. Safe from many threads.

    Args:
        bundle: The model folder.
        backend: What computes its logits.
        cache_bytes: How much memory the encodings may take that are kept for `rank` and
            `encodings`; 0 keeps none.
    """

    chunk = CHUNK

    def __init__(
        self, bundle: Bundle, backend: MatchBackend, *, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self.bundle = bundle
        check_task(bundle)
        self.pipeline = fitting_pipeline(bundle)
        self.task: dict[str, Any] = bundle.config.task
        self.labels: tuple[str, ...] = tuple(self.task.get("labels", ()))
        self.calibration = fitting_calibration(bundle)
        self.backend = backend
        self._cache = EncodingCache(cache_bytes)

    def __repr__(self) -> str:
        low_high = {} if self.labels else {name: self.task.get(name) for name in ("low", "high")}
        return model_repr(self, **({"labels": self.labels} if self.labels else low_high))

    @property
    def report(self) -> dict[str, Any] | None:
        """What a run on a file found and measured, as its `report.json` has it; None without."""
        return self.bundle.report

    @property
    def is_graded(self) -> bool:
        """Whether answers are grades rather than classes."""
        return not self.labels

    def parse_label(self, text: str) -> int | float:
        """A gold label as this model's task reads it: a class id, or a share of the scale."""
        if self.is_graded:
            return parse_grade(text, self.task["low"], self.task["high"])
        return parse_class(text, self.labels)

    def logits(self, pairs: Pairs) -> Floats:
        """One row per pair, before any temperature."""
        pairs = listed_pairs(pairs)
        parts = [np.empty((0, max(1, len(self.labels))), dtype=np.float32)]
        for start in range(0, len(pairs), CHUNK):
            chunk = pairs[start : start + CHUNK]
            sides, _ = self.read([pair[side] for side in (0, 1) for pair in chunk])
            first, second = sides[: len(chunk)], sides[len(chunk) :]
            parts.append(self.backend.pair_logits(first, second))
        return np.concatenate(parts)

    def probabilities(self, pairs: Pairs) -> NDArray[np.float64]:
        """One row per pair: a calibrated distribution over the labels, or the grade's share."""
        return self._squashed(self.logits(pairs))

    def predict_proba(self, pairs: Pairs) -> NDArray[np.float64]:
        """As scikit-learn spells `probabilities`: a row per pair, a column per entry of `labels`.

        Raises:
            ConfigError: The model grades, and has no labels.
        """
        if self.is_graded:
            raise ConfigError("a model that grades has no labels; predict gives its grades")
        return self.probabilities(pairs)

    def decide(self, probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
        """The label ids of the answers: by the saved threshold, else the likeliest."""
        return self.calibration.decide(
            listed_probabilities(probabilities, max(1, len(self.labels)))
        )

    def predict(self, pairs: Pairs, *, progress: bool = False) -> list[Match]:
        """An answer for each pair; `progress` shows how many there are already."""
        return in_view(
            listed_pairs(pairs),
            lambda some: self.answers(self.probabilities(some)),
            "pairs",
            chunk=CHUNK,
            progress=progress,
        )

    def explain(self, first: str, second: str, *, label: str | None = None) -> PairAlignment:
        """Which words of two sentences looked at which, and what the answer owes to each word.

        Args:
            first: The first sentence.
            second: The second sentence.
            label: Whose `reasons` are given; by default those of the answer.
        """
        first, second = one_text(first, "the first text"), one_text(second, "the second text")
        sides = self.pipeline.encode([first, second])
        read = self.read([first, second])[0]
        encodings = [self._encoding(tuple(side)) for side in read]
        found = self.backend.align(encodings[0], encodings[1])
        if found is None:
            raise BundleError(f"{self.bundle.path}: this model aligns no words, so it shows none")
        row = self._squashed(found.logits[None])
        answer = self._answer(row[0].tolist())
        column = int(self.decide(row)[0]) if self.labels and label is None else self.column(label)
        tokens = [len(side.tokens) for side in sides]
        written = reads_words(self.bundle)
        return PairAlignment(
            first=first,
            second=second,
            first_tokens=_shown_tokens(first, sides[0], written=written),
            second_tokens=_shown_tokens(second, sides[1], written=written),
            first_to_second=found.first_to_second[: tokens[0], : tokens[1]],
            second_to_first=found.second_to_first[: tokens[1], : tokens[0]],
            label=answer.label,
            score=answer.score,
            probabilities=answer.probabilities,
            model=self.bundle.path.name,
            reasons=pair_reasons(self, (first, second), read, column),
            label_names=label_names(self.task, self.labels),
        )

    def probabilities_of_read(self, first: Read, second: Read) -> NDArray[np.float64]:
        """As `probabilities`, for sides that `read` has cut already."""
        return self._squashed(self.backend.pair_logits(first, second))

    def num_cut(self, texts: Texts) -> int:
        """How many of the texts are longer than the model's limit, and are cut to it."""
        # A token has at least one character, so that most texts need no second look.
        sure = self.pipeline.config.max_tokens - (2 if self.pipeline.config.boundaries else 0)
        long = [text for text in listed_texts(texts) if len(text) > sure]
        return sum(lost > 0 for lost in self.pipeline.encode_ids_with_cuts(long)[1])

    def encode(
        self, texts: Texts, *, advance: Advance = lambda done: None, progress: bool = False
    ) -> Floats:
        """A matrix [n, d] with a vector of length one for each text, to be compared by cosine.

        Which vectors a matcher has is told in `softquery.runtime.vectors.text_vectors`: a Siamese
        one those that it compares, others a by-product. A text of which it knows no word has zeros.

        Raises:
            BundleError: The model reads two texts together, and has no vector of one.
        """
        vectors = self._text_vectors
        return matrix_of(
            texts,
            lambda some: vectors.of(some, self.encodings(some)),
            vectors.size,
            chunk=self.chunk,
            advance=advance,
            progress=progress,
        )

    @cached_property
    def _text_vectors(self) -> "StateVectors | EncodingVectors":
        from softquery.runtime.vectors.text_vectors import own_vectors  # which knows this class

        return own_vectors(self)

    def encodings(self, texts: Texts) -> list[Floats]:
        """What comparing needs of each text, to be stored and handed to `rank`.

        Each text is encoded by itself, so that its encoding never depends on its batch. The
        arrays may be shared with later calls, and cannot be written to.
        """
        return self.encodings_of_read(self.read(listed_texts(texts))[0])

    def forget_encodings(self) -> None:
        """Empty the cache of encodings, so that the next call costs what the first one did."""
        self._cache.clear()

    def read(self, texts: Sequence[str]) -> tuple[Read, list[int]]:
        """Texts as the model takes them, and how many tokens the limit cost each.

        These are ids; words where the model spells them; parts of the text for a head on pairs.
        """
        if reads_words(self.bundle):
            return self.pipeline.written_words_with_cuts(listed_texts(texts))
        if is_pair_head(self.bundle):
            texts = listed_texts(texts)
            parts = map(surfaces, texts, self.pipeline.encode(texts))
            return list(parts), self.pipeline.encode_ids_with_cuts(texts)[1]
        return self.pipeline.encode_ids_with_cuts(listed_texts(texts))

    def encodings_of_read(self, sentences: Read) -> list[Floats]:
        """As `encodings`, for texts that `read` has cut already."""
        return [self._encoding(tuple(sentence)) for sentence in sentences]

    def compare(self, first: Sequence[Floats], second: Sequence[Floats]) -> NDArray[np.float64]:
        """What `probabilities` says, from what `encodings` gave.

        Args:
            first: As many as there are second sides, or one for all of them.
            second: The other sides.
        """
        like = self.encodings([""])[0]
        first, second = listed_encodings(first, like), listed_encodings(second, like)
        if len(first) != 1 and len(first) != len(second):
            raise ValueError(f"{len(first)} first sides for {len(second)} second ones")
        if not second:
            return np.empty((0, max(1, len(self.labels))))
        return self._squashed(self.backend.compare(first, second))

    def answers(self, probabilities: NDArray[np.float64]) -> list[Match]:
        """What rows of `probabilities` or `compare` mean."""
        probabilities = listed_probabilities(probabilities, max(1, len(self.labels)))
        return [self._answer(row) for row in probabilities.tolist()]

    def rank(
        self,
        query: str,
        documents: Texts,
        *,
        top_k: int | None = None,
        encodings: Sequence[Floats] | None = None,
        label: str | None = None,
        return_documents: bool = True,
    ) -> list[dict[str, Any]]:
        """Order documents by how well they match the query, best first.

        Args:
            query: Encoded once.
            documents: The candidates.
            top_k: How many to return, at least 1; all by default.
            encodings: What `encodings` gave for the documents, where it is stored.
            label: Whose probability is the score; by default "same meaning" (the second of two
                labels), `entailment` where there is such a label, else the first label. A grade's
                score is its share of the scale.
            return_documents: Whether each hit has its `text`.

        Returns:
            Dicts with `corpus_id`, `score` and `text`, as sentence-transformers spells them.
        """
        column = self.column(label)
        if top_k is not None:
            top_k = whole_number(top_k, "top_k")
        asked = self.encodings([one_text(query, "the query")])
        documents = listed_texts(documents)
        if encodings is None:
            encodings = self.encodings(documents)
        elif isinstance(encodings, np.ndarray):
            raise TypeError("expected what `encodings` gives, a list of arrays, got a matrix")
        else:
            encodings = listed_encodings(encodings, self.encodings([""])[0])
        if len(encodings) != len(documents):
            raise ValueError(f"{len(encodings)} encodings for {len(documents)} documents")
        order = sorted(range(len(documents)), key=lambda place: (len(encodings[place]), place))
        scores = np.empty(len(documents))
        if order:
            logits = self.backend.compare(asked, [encodings[place] for place in order])
            scores[order] = self._squashed(logits)[:, column]
        return best_documents(scores, documents, top_k, return_documents=return_documents)

    def column(self, label: str | None = None) -> int:
        """The column of `probabilities` that is the score of a ranking; see `rank`."""
        if self.is_graded:
            if label is not None:
                raise ValueError(f"a model that grades has no label {label!r:.40}")
            return 0
        if label is not None:
            return parse_class(label if isinstance(label, str) else repr(label), self.labels)
        if len(self.labels) == 2:
            return 1
        return self.labels.index("entailment") if "entailment" in self.labels else 0

    def _encoding(self, sentence: Sentence) -> Floats:
        found = self._cache.get(sentence)
        if found is None:
            found = self.backend.encode([sentence])[0]
            found.setflags(write=False)  # it is shared with whoever asks next
            self._cache.put(sentence, found)
        return found

    def _squashed(self, logits: Floats) -> NDArray[np.float64]:
        if not self.is_graded:
            return self.calibration.probabilities(logits)
        grades: NDArray[np.float64] = 1 / (1 + np.exp(-logits.astype(np.float64)))
        return grades

    def _answer(self, row: list[float]) -> Match:
        if self.is_graded:
            low, high = self.task["low"], self.task["high"]
            return Match(None, low + row[0] * (high - low), {})
        best = int(self.decide(np.array([row]))[0])
        score = row[1] if len(row) == 2 else row[best]
        label = self.labels[best] if self.calibration.is_sure(row[best]) else None
        return Match(label, score, dict(zip(self.labels, row, strict=True)))


def _shown_tokens(text: str, encoded: Encoded, *, written: bool) -> tuple[str, ...]:
    """Tokens as a reader knows them: a word outside the vocabulary as it stands in the text.

    Where words are read as they are `written`, all of them.
    """
    return tuple(
        text[start:end] if token == UNK or (written and start < end) else token
        for token, (start, end) in zip(encoded.tokens, encoded.offsets, strict=True)
    )


class EncodingCache:
    """The encodings that were used last, as many as fit. Safe from many threads.

    An encoding counts with its numbers and with the sentence that it is found by.

    Args:
        most_bytes: How much memory they may take together; one that is larger is not kept.
    """

    def __init__(self, most_bytes: int = CACHE_BYTES) -> None:
        self.most_bytes = most_bytes
        self.num_bytes = 0
        self._kept: OrderedDict[Sentence, Floats] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, sentence: Sentence) -> Floats | None:
        """The encoding of a sentence, if it is here."""
        with self._lock:
            found = self._kept.get(sentence)
            if found is not None:
                self._kept.move_to_end(sentence)
            return found

    def put(self, sentence: Sentence, encoding: Floats) -> None:
        """Keep an encoding and let go of those unused for longest."""
        if kept_bytes(sentence, encoding) > self.most_bytes:
            return
        with self._lock:
            if sentence in self._kept:
                self.num_bytes -= kept_bytes(sentence, self._kept.pop(sentence))
            self._kept[sentence] = encoding
            self.num_bytes += kept_bytes(sentence, encoding)
            while self.num_bytes > self.most_bytes:
                self.num_bytes -= kept_bytes(*self._kept.popitem(last=False))

    def clear(self) -> None:
        """Let go of all."""
        with self._lock:
            self._kept.clear()
            self.num_bytes = 0

    def __len__(self) -> int:
        return len(self._kept)


def kept_bytes(sentence: Sentence, encoding: Floats) -> int:
    """What an entry of the cache takes."""
    return sys.getsizeof(sentence) + encoding.nbytes


def load_matcher(
    name_or_path: Source,
    *,
    backend: Backend = "auto",
    threads: int | None = None,
    device: str | None = None,
) -> Matcher:
    """Open a matching bundle by its name in the zoo or by its folder.

    Args:
        name_or_path: Such as `"nli-en"`, or a folder, or a bundle that is read already.
        backend: `"onnx"` needs an exported bundle; `"torch"` needs the extra `[train]`; `"auto"`
            takes ONNX Runtime where the bundle was exported and no device is named, else torch.
        threads: Threads of one call; None for all cores. torch and the tokenizers know one count
            for the whole process, and keep this one.
        device: For torch: `"cpu"` or `"cuda"`; a GPU is used where there is one.
    """
    bundle = opened(name_or_path)
    check_kind(bundle, "matcher")
    if is_pair_head(bundle):
        return Matcher(bundle, open_pair_head(bundle, _backend_of, backend, threads, device))
    return Matcher(bundle, _backend_of(bundle, backend, threads, device))


def _backend_of(
    bundle: Bundle, backend: Backend, threads: int | None, device: str | None
) -> MatchBackend:
    """What computes for a matcher that stands by itself."""
    if is_bert(bundle):
        return BertMatchBackend(open_bert(bundle, backend, threads, device))
    if choose_backend(bundle, backend, threads, device) == "onnx":
        from softquery.runtime.inner.inner_weights import check_spelling
        from softquery.runtime.inner.onnx import open_inner
        from softquery.runtime.match.onnx import OnnxMatchBackend

        check_spelling(bundle)
        # Bulk runs go on to the same bytes, so that what was read before must not matter.
        context = open_inner(bundle, threads, batching="alone")
        return OnnxMatchBackend(bundle, threads, context)
    return _torch_backend(bundle, device, threads)


def _torch_backend(bundle: Bundle, device: str | None, threads: int | None) -> MatchBackend:
    with needs_torch():
        from softquery.runtime.match.torch import TorchMatchBackend
    return TorchMatchBackend(bundle, device, threads)
