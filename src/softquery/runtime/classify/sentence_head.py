"""A classifier that is a head on a sentence encoder: from ids to logits, without torch.

A text's vector is the mean of the vectors of its windows, brought to length one; beside it stand
the words that it has (`word_counts`). Logits are linear in both.

The encoder is found by its name and known by the fingerprint of its weights, or lies in the bundle
itself, with its graphs.

N texts, D width of a vector, W words, C classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle, read_bundle, weights_fingerprint
from softquery.errors import BundleError
from softquery.runtime.batches import Floats
from softquery.runtime.classify.backend import Weighed
from softquery.runtime.classify.word_counts import WordCounts
from softquery.runtime.encode.backend import EncodeBackend, of_length_one
from softquery.runtime.graphs import reading_settings
from softquery.runtime.inner.inner_weights import base_weights
from softquery.runtime.loading import Backend, choose_backend, needs_torch
from softquery.text import Tokens
from softquery.zoo import resolve

ENCODER = "sentence_encoder"
"""Under which its config says what the encoder is."""
CARRIED = "encoder."
"""Before the names of the encoder's weights, where they lie in the bundle itself."""
LONGEST_WINDOW = 512
"""Tokens of a window, where the encoder has no positions that could run out."""
Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceHead:
    """What is learnt: weights of the vector's numbers and of words, and a bias."""

    vector: Floats
    """[D, C]."""
    words: Floats
    """[W, C]."""
    bias: Floats
    """[C]."""
    known: WordCounts

    def logits(self, vectors: Floats, texts: Sequence[Sequence[int]]) -> Floats:
        """Logits [N, C] of texts, by their vectors and by their tokens without marks."""
        found: Floats = vectors @ self.vector + self.bias
        return found + self.known.entries(texts).times(self.words)

    def to_weights(self) -> dict[str, Array]:
        """As a bundle holds them."""
        return {
            "head.vector": self.vector,
            "head.words": self.words,
            "head.bias": self.bias,
            "words.keys": self.known.keys,
            "words.rarity": self.known.rarity,
        }

    @classmethod
    def of(cls, bundle: Bundle) -> "SentenceHead":
        """The head that a bundle holds.

        Raises:
            BundleError: Weights are missing, or do not fit each other.
        """
        stored: dict[str, Any] = dict(bundle.read_weights())
        size = bundle.config.model["config"].get("output_size")
        try:
            keys, rarity = stored["words.keys"], stored["words.rarity"]
            vector, words, bias = (stored[f"head.{each}"] for each in ("vector", "words", "bias"))
        except KeyError as error:
            raise BundleError(f"{bundle.weights_path}: lacks {error}") from None
        shapes = {
            "head.vector": (vector.shape, (len(vector) if vector.ndim else 0, size)),
            "head.words": (words.shape, (len(keys) if keys.ndim else 0, size)),
            "head.bias": (bias.shape, (size,)),
            "words.rarity": (rarity.shape, keys.shape[:1]),
        }
        for name, (found, expected) in shapes.items():
            if found != expected:
                message = f"{name} has the shape {list(found)}, expected {list(expected)}"
                raise BundleError(f"{bundle.weights_path}: {message}")
        if keys.dtype != np.int64 or (np.diff(keys) <= 0).any():
            raise BundleError(f"{bundle.weights_path}: words.keys are no growing whole numbers")
        for name in shapes:
            values = stored[name]
            if values.dtype != np.float32 or not np.isfinite(values).all():
                raise BundleError(f"{bundle.weights_path}: {name} holds what is no finite number")
        return cls(vector=vector, words=words, bias=bias, known=WordCounts(keys, rarity))


@dataclass(frozen=True, kw_only=True, slots=True)
class CarriedEncoder(Bundle):
    """The sentence encoder that lies in a head's own bundle."""

    def read_weights(self) -> dict[str, Array]:
        """Its weights, under the names that they have in a bundle of its own."""
        # By its name, because a dataclass with slots is made anew, and `super()` knows the old one.
        stored = Bundle.read_weights(self)
        return {
            name.removeprefix(CARRIED): values
            for name, values in stored.items()
            if name.startswith(CARRIED)
        }


def encoder_of(bundle: Bundle) -> Bundle:
    """The sentence encoder under a head: its base, or the one that it carries.

    Raises:
        BundleError: There is no base of that name, or it is another one than in training.
    """
    inside, place = bundle.config.model["config"].get(ENCODER), bundle.path / "config.json"
    if not isinstance(inside, dict) or set(inside) != {"name", "config"}:
        raise BundleError(f"{place}: {ENCODER} must have a name and a config")
    if bundle.config.base is None:
        config = replace(
            bundle.config, kind="sentence-encoder", model=inside, task={"name": "encode"}
        )
        return CarriedEncoder(path=bundle.path, config=config)
    name = bundle.config.base
    try:
        base = read_bundle(resolve(name))
    except BundleError as error:
        raise BundleError(f"{bundle.path}: stands on {name}: {error}") from None
    if base.config.kind != "sentence-encoder" or base.config.model != inside:
        raise BundleError(f"{bundle.path}: was made for another {name} than {base.path}")
    if fingerprint_of(base) != bundle.config.base_fingerprint:
        raise BundleError(
            f"{bundle.path}: its base {name} had other weights than those of {base.path}; "
            "train the head again"
        )
    return base


def fingerprint_of(encoder: Bundle) -> str:
    """By which a head knows the weights of its encoder, whether they are stored as int8 or not."""
    return weights_fingerprint(base_weights(encoder))


def open_vectors(
    encoder: Bundle,
    backend: Backend = "auto",
    threads: int | None = None,
    device: str | None = None,
) -> EncodeBackend:
    """What computes an encoder's vectors; see `softquery.load`."""
    if choose_backend(encoder, backend, threads, device) == "onnx":
        from softquery.runtime.encode.onnx import OnnxEncodeBackend

        return OnnxEncodeBackend(encoder, threads)
    with needs_torch():
        from softquery.runtime.encode.torch import TorchEncodeBackend
    return TorchEncodeBackend(encoder, device, threads)


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowedVectors:
    """Vectors of texts of any length, by an encoder of short ones."""

    encoder: EncodeBackend
    window: int
    """Tokens that the encoder reads at a time, marks included."""
    has_marks: bool
    """Whether texts begin and end with a mark, which every window needs."""

    def words(self, ids: Sequence[int]) -> Sequence[int]:
        """The tokens of a text without marks."""
        return ids[1:-1] if self.has_marks else ids

    def of(self, texts: Sequence[Sequence[int]]) -> Floats:
        """Vectors [N, D] of length one."""
        windows = [self.windows(text) for text in texts]
        parts = [part for some in windows for part in some]
        if not parts:
            return np.empty((0, self.encoder.output_size), dtype=np.float32)
        distinct = sorted(set(parts), key=lambda ids: (len(ids), ids))
        places = {part: place for place, part in enumerate(distinct)}
        found = of_length_one(self.encoder.vectors(distinct))[[places[each] for each in parts]]
        starts = np.cumsum([0, *(len(some) for some in windows[:-1])])
        return of_length_one(np.add.reduceat(found, starts, axis=0))

    def windows(self, ids: Sequence[int]) -> list[tuple[int, ...]]:
        """The parts of a text that are read at a time, marks around each where there are any."""
        size = self.window - 2 if self.has_marks else self.window
        words = self.words(ids)
        parts = [tuple(words[start : start + size]) for start in range(0, len(words), size)] or [()]
        return [(ids[0], *part, ids[-1]) for part in parts] if self.has_marks else parts


class SentenceHeadBackend:
    """Classes of texts; see `softquery.runtime.classify.backend.ClassifyBackend`.

    Args:
        head: What was learnt.
        texts: Gives texts their vectors.
    """

    def __init__(self, head: SentenceHead, texts: WindowedVectors) -> None:
        self.head, self.texts, self.name = head, texts, texts.encoder.name

    def logits(self, texts: Sequence[Tokens]) -> Floats:
        """Logits [N, C] of texts."""
        ids = [[int(each) for each in text[0]] for text in texts]
        return self.head.logits(self.texts.of(ids), [self.texts.words(each) for each in ids])

    def weigh(self, text: Tokens) -> Weighed:
        """Logits of one text, and how much the best of them changes without each of its tokens."""
        ids = [int(each) for each in text[0]]
        marks = {0, len(ids) - 1} if self.texts.has_marks else set()
        without = [ids[:place] + ids[place + 1 :] for place in range(len(ids))]
        found = self.logits([[ids], *([each] for each in without)])
        best = int(found[0].argmax())
        changes = np.abs(found[1:, best] - found[0, best])
        changes[sorted(marks)] = 0
        total = float(changes.sum())
        shares = changes / total if total else np.full(len(ids), 1 / max(1, len(ids)), np.float32)
        return Weighed(found[0], [shares.astype(np.float32)], None)


def open_sentence_head(
    bundle: Bundle, backend: Backend, threads: int | None, device: str | None
) -> SentenceHeadBackend:
    """What computes for a bundle; see `softquery.load`."""
    settings, place = bundle.config.model["config"], bundle.path / "config.json"
    head, encoder = SentenceHead.of(bundle), encoder_of(bundle)
    vectors = open_vectors(encoder, backend, threads, device)
    if len(head.vector) != vectors.output_size:
        raise BundleError(
            f"{bundle.weights_path}: head.vector is for vectors of {len(head.vector)} numbers, "
            f"those of the encoder have {vectors.output_size}"
        )
    has_marks, longest = bundle.config.text.get("boundaries") is True, most_tokens(encoder)
    window = settings.get("window")
    if type(window) is not int or not 2 * has_marks < window <= longest:
        raise BundleError(
            f"{place}: window must be a whole number up to {longest}, got {window!r:.40}"
        )
    texts = WindowedVectors(encoder=vectors, window=window, has_marks=has_marks)
    return SentenceHeadBackend(head, texts)


def most_tokens(encoder: Bundle) -> int:
    """The most tokens that an encoder may be given at a time."""
    known = reading_settings(encoder.config.model["config"]).get("max_length", LONGEST_WINDOW)
    return known if type(known) is int else LONGEST_WINDOW
