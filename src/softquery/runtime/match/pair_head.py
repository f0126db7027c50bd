"""A matcher that is a head on another one and on a sentence encoder; runs without torch.

What two texts are to each other is linear in three things: what a trained matcher says of them, how
near their vectors are, and the products and differences of these vectors, number by number. The
matcher lies in the bundle itself, with its graphs; the encoder is found by its name and known by
the fingerprint of its weights.

N pairs, M logits of the matcher, T tokens, W width of an encoding, D width of a vector, C labels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.batches import Floats
from softquery.runtime.classify.sentence_head import WindowedVectors, encoder_of, open_vectors
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.loading import Backend
from softquery.runtime.match.backend import Alignment, MatchBackend, Read
from softquery.text import Encoded, TextPipeline

MATCHER = "matcher"
"""Under which its config says what the matcher inside is."""
LEARNT = "pair_head."
"""Before the names of the head's own weights."""
MOST_TOKENS = 512
"""Tokens of a text of which the encoder makes a vector."""
OpenMatcher = Callable[[Bundle, Backend, int | None, str | None], MatchBackend]


@dataclass(frozen=True, kw_only=True, slots=True)
class PairHead:
    """What is learnt."""

    opinion: Floats
    """[M + 1, C]: of the matcher's logits less their mean, and of the cosine."""
    vectors: Floats
    """[2 D, C]: of products and differences of vectors."""
    bias: Floats
    """[C]."""

    def logits(self, said: Floats, first: Floats, second: Floats) -> Floats:
        """Logits [N, C] of pairs, by what the matcher says of them and by their vectors."""
        found: Floats = opinions(said, first, second) @ self.opinion + self.bias
        return found + between(first, second) @ self.vectors

    def to_weights(self) -> dict[str, NDArray[Any]]:
        """As a bundle holds them, beside those of the matcher."""
        return {
            f"{LEARNT}opinion": self.opinion,
            f"{LEARNT}vectors": self.vectors,
            f"{LEARNT}bias": self.bias,
        }

    @classmethod
    def of(cls, bundle: Bundle, *, num_said: int, width: int) -> "PairHead":
        """The head that a bundle holds.

        Raises:
            BundleError: Weights are missing, or do not fit matcher, encoder and labels.
        """
        stored: dict[str, Any] = dict(bundle.read_weights())
        size = bundle.config.model["config"].get("output_size")
        expected = {"opinion": (num_said + 1, size), "vectors": (2 * width, size), "bias": (size,)}
        for name, shape in expected.items():
            found = stored.get(f"{LEARNT}{name}")
            if found is None:
                raise BundleError(f"{bundle.weights_path}: lacks {LEARNT}{name}")
            if found.shape != shape:
                message = f"has the shape {list(found.shape)}, expected {list(shape)}"
                raise BundleError(f"{bundle.weights_path}: {LEARNT}{name} {message}")
            if found.dtype != np.float32 or not np.isfinite(found).all():
                message = f"{LEARNT}{name} holds what is no finite number"
                raise BundleError(f"{bundle.weights_path}: {message}")
        return cls(**{name: stored[f"{LEARNT}{name}"] for name in expected})


def opinions(said: Floats, first: Floats, second: Floats) -> Floats:
    """What the matcher says, and the cosine: [N, M + 1]; one logit alone stays as it is.

    >>> one = np.ones((1, 2), np.float32)
    >>> opinions(np.array([[1, 3]], np.float32), one, one).tolist()
    [[-1.0, 1.0, 2.0]]
    """
    middle = said.mean(axis=1, keepdims=True) if said.shape[1] > 1 else np.float32(0)
    cosines = np.sum(first * second, axis=1, keepdims=True)
    found: Floats = np.hstack([said - middle, cosines]).astype(np.float32)
    return found


def between(first: Floats, second: Floats) -> Floats:
    """Products and differences of vectors, whichever side is the first: [N, 2 D]."""
    return np.hstack([first * second, np.abs(first - second)])


@dataclass(frozen=True, kw_only=True, slots=True)
class CarriedMatcher(Bundle):
    """The matcher that lies in a head's own bundle."""

    def read_weights(self) -> dict[str, NDArray[Any]]:
        """Its weights, without those of the head."""
        # By its name, because a dataclass with slots is made anew, and `super()` knows the old one.
        stored = Bundle.read_weights(self)
        return {name: each for name, each in stored.items() if not name.startswith(LEARNT)}


def matcher_of(bundle: Bundle) -> CarriedMatcher:
    """The matcher under a head.

    Raises:
        BundleError: The config says nothing sensible of it, or names no encoder.
    """
    inside, place = bundle.config.model["config"].get(MATCHER), bundle.path / "config.json"
    if not isinstance(inside, dict) or set(inside) != {"name", "config"}:
        raise BundleError(f"{place}: {MATCHER} must have a name and a config")
    if not isinstance(inside["config"], dict) or type(_num_said(inside)) is not int:
        raise BundleError(f"{place}: the config of {MATCHER} must have an output_size")
    if bundle.config.base is None:
        raise BundleError(f"{place}: a head on pairs names its sentence encoder, this one does not")
    config = replace(bundle.config, model=inside, base=None, base_fingerprint=None)
    return CarriedMatcher(path=bundle.path, config=config)


def _num_said(model: dict[str, Any]) -> Any:
    return model["config"].get("output_size")


class SideVectors:
    """Vectors of whole texts, by a sentence encoder.

    Args:
        encoder: Its bundle.
        backend: As in `softquery.load`, like the rest.
        threads: Likewise.
        device: Likewise.
    """

    def __init__(
        self,
        encoder: Bundle,
        backend: Backend = "auto",
        threads: int | None = None,
        device: str | None = None,
    ) -> None:
        own = fitting_pipeline(encoder)
        self._pipeline = TextPipeline(
            own.tokenizer, replace(own.config, max_tokens=max(MOST_TOKENS, own.config.max_tokens))
        )
        opened = open_vectors(encoder, backend, threads, device)
        self.size = opened.output_size
        self._windows = WindowedVectors(
            encoder=opened, window=own.config.max_tokens, has_marks=own.config.boundaries
        )

    def of(self, texts: Sequence[str]) -> Floats:
        """Vectors [N, D] of length one; equal texts are read once."""
        distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        ids, _ = self._pipeline.encode_ids_with_cuts(list(distinct))
        return self._windows.of(ids)[[distinct[text] for text in texts]]


def surfaces(text: str, encoded: Encoded) -> list[str]:
    """A text in as many parts as it has tokens, which make the text again side by side.

    So a sentence can be read by its text, and words still be left out by their tokens.

    >>> from softquery.text import TextConfig, build_pipeline
    >>> (found,) = build_pipeline(["a man"], TextConfig()).encode([" A  man! "])
    >>> surfaces(" A  man! ", found)
    [' A  ', 'man', '! ']
    """
    bounds, end = [0], 0
    for place, (start, stop) in enumerate(encoded.offsets):
        if place:
            bounds.append(max(bounds[-1], start) if start < stop else max(bounds[-1], end))
        end = max(end, stop)
    if not encoded.offsets:
        return [text] if text else []
    bounds.append(len(text))
    return [text[start:stop] for start, stop in zip(bounds, bounds[1:], strict=False)]


class PairHeadBackend:
    """Pairs of texts; see `softquery.runtime.match.backend.MatchBackend`.

    A sentence is the parts of its text; what is stored of it is the matcher's encoding and, in
    further rows of the same width, the vector.

    Args:
        head: What was learnt.
        matcher: The matcher inside.
        pipeline: By which that one reads.
        vectors: Gives texts their vectors.
    """

    def __init__(
        self, head: PairHead, matcher: MatchBackend, pipeline: TextPipeline, vectors: SideVectors
    ) -> None:
        self.head, self.matcher, self.name = head, matcher, matcher.name
        self._pipeline, self._vectors = pipeline, vectors

    def encode(self, sentences: Read) -> list[Floats]:
        """What `compare` needs of each sentence: [T + R, W], or [W + D] of one that is a vector."""
        texts = ["".join(sentence) for sentence in sentences]
        encodings = self.matcher.encode(self._ids(texts))
        found = zip(encodings, self._vectors.of(texts), strict=True)
        return [_packed(encoding, vector) for encoding, vector in found]

    def compare(self, first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
        """Logits of encodings pairwise, or of one first side with every second side."""
        (ones, one_vectors), (others, other_vectors) = map(self._unpacked, (first, second))
        said = self.matcher.compare(ones, others)
        one_vectors = np.broadcast_to(one_vectors, other_vectors.shape)
        return self.head.logits(said, one_vectors, other_vectors)

    def align(self, first: Floats, second: Floats) -> Alignment | None:
        """The matcher's alignments, with the logits of the head."""
        (ones, _), (others, _) = self._unpacked([first]), self._unpacked([second])
        found = self.matcher.align(ones[0], others[0])
        return None if found is None else found._replace(logits=self.compare([first], [second])[0])

    def pair_logits(self, first: Read, second: Read) -> Floats:
        """Logits straight from sentences."""
        ones, others = (["".join(sentence) for sentence in side] for side in (first, second))
        said = self.matcher.pair_logits(self._ids(ones), self._ids(others))
        vectors = self._vectors.of([*ones, *others])
        return self.head.logits(said, vectors[: len(ones)], vectors[len(ones) :])

    def _ids(self, texts: Sequence[str]) -> Read:
        return self._pipeline.encode_ids_with_cuts(list(texts))[0]

    def _unpacked(self, encodings: Sequence[Floats]) -> tuple[list[Floats], Floats]:
        """Encodings as the matcher knows them, and the vectors [N, D] behind them."""
        size = self._vectors.size
        if encodings[0].ndim == 1:
            return [each[:-size] for each in encodings], np.stack([e[-size:] for e in encodings])
        rows = num_rows(size, encodings[0].shape[1])
        vectors = [each[-rows:].ravel()[:size] for each in encodings]
        return [each[:-rows] for each in encodings], np.stack(vectors)


def num_rows(size: int, width: int) -> int:
    """Rows of an encoding that a vector takes.

    >>> num_rows(384, 800), num_rows(384, 128)
    (1, 3)
    """
    return -(-size // width)


def _packed(encoding: Floats, vector: Floats) -> Floats:
    if encoding.ndim == 1:
        return np.concatenate([encoding, vector])
    width = encoding.shape[1]
    rows = np.zeros((num_rows(len(vector), width), width), dtype=np.float32)
    rows.flat[: len(vector)] = vector
    return np.concatenate([encoding, rows])


def open_pair_head(
    bundle: Bundle,
    open_matcher: OpenMatcher,
    backend: Backend,
    threads: int | None,
    device: str | None,
) -> PairHeadBackend:
    """What computes for a bundle; see `softquery.load`.

    Args:
        bundle: The head's.
        open_matcher: Opens the matcher inside, given what follows.
        backend: Of both.
        threads: Likewise.
        device: Likewise.
    """
    inner, encoder = matcher_of(bundle), encoder_of(bundle)
    vectors = SideVectors(encoder, backend, threads, device)
    head = PairHead.of(bundle, num_said=_num_said(inner.config.model), width=vectors.size)
    matcher = open_matcher(inner, backend, threads, device)
    return PairHeadBackend(head, matcher, fitting_pipeline(inner), vectors)
