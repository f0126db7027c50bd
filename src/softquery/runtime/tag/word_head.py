"""A tagger that is a head on a shipped model: a linear-chain CRF, without torch.

The scores of a word's tags are linear in its vector by the model under the head, which stays as it
is, and in clues that the letters of the word and of its neighbours give. The model is found by its
name and known by the fingerprint of its weights. A clue is known by a number that is made of its
text, so that a bundle holds numbers and no words.

T words, D width of a vector, K clues of a word, W different clues, L tags.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle, read_bundle, weights_fingerprint
from softquery.errors import BundleError, ConfigError
from softquery.runtime.batches import Floats
from softquery.runtime.inner.inner_weights import base_weights
from softquery.runtime.loading import Backend
from softquery.runtime.tag.backend import WORD_HEAD, Chain
from softquery.runtime.tag.word_states import WordStates, open_states
from softquery.zoo import resolve

BASE_MODEL = "base_model"
"""Under which its config says what the model under it is."""
Array = NDArray[Any]
Ids = NDArray[np.int64]
Clues = Literal["words", "characters"]
"""What tokens are: words, whose letters tell something, or single characters."""
CLUES: tuple[str, ...] = get_args(Clues)
LEAST_TOKENS = 2
"""Tokens that a clue must stand at, to be learnt."""
AHEAD, BEHIND = ("\x02", "\x02"), ("\x03", "\x03")
"""What stands before and behind a sentence."""
LONGEST_ENDING = 4
KEPT = 1 << 15
"""Words of which the shape is remembered."""


@lru_cache(KEPT)
def shape_of(word: str) -> str:
    """The kinds of a word's characters; of more than two of a kind, two are shown.

    >>> shape_of("McDonald's"), shape_of("1,024"), shape_of("北京")
    ("AaAaa'a", '0,00', '字字')
    """
    found = ""
    for each in word:
        kind = _kind(each)
        if found[-2:] != kind * 2:
            found += kind
    return found


def _kind(character: str) -> str:
    if character.isupper():
        return "A"
    if character.islower():
        return "a"
    if character.isdigit():
        return "0"
    return "字" if unicodedata.category(character) == "Lo" else character


def clues_of(words: Sequence[str], kind: Clues) -> list[list[str]]:
    """The clues of each token of a sentence, as many for one as for another.

    >>> clues_of(["北", "京"], "characters")[0][2:4]
    ['北', '京']
    """
    around = [*AHEAD, *words, *BEHIND]
    shapes = [shape_of(each) for each in around]
    lower = [each.lower() for each in around] if kind == "words" else around
    read = _word_clues if kind == "words" else _character_clues
    near = [(lower[at : at + 5], shapes[at : at + 5]) for at in range(len(words))]
    return [read(five, kinds, word) for (five, kinds), word in zip(near, words, strict=True)]


def _word_clues(near: Sequence[str], shapes: Sequence[str], word: str) -> list[str]:
    """Words, shapes, beginnings and endings; `near` and `shapes` are of five, the word in midst."""
    before, own, after = near[1:4]
    letters = [part for k in range(1, LONGEST_ENDING + 1) for part in (word[:k], word[-k:])]
    return [
        *near,
        *shapes,
        *letters,
        f"{before} {own}",
        f"{own} {after}",
        " ".join(shapes[1:4]),
    ]


def _character_clues(near: Sequence[str], shapes: Sequence[str], word: str) -> list[str]:
    """Characters, pairs of neighbours, and those around."""
    pairs = [f"{one} {other}" for one, other in zip(near, near[1:], strict=False)]
    return [*near, *pairs, " ".join(near[1:4]), f"{near[1]} {near[3]}", " ".join(shapes)]


def _numbers(sentences: Sequence[Sequence[str]], kind: Clues) -> Iterator[list[int]]:
    """The number of each clue of each token; clues of different kinds have different ones."""
    for words in sentences:
        for clues in clues_of(words, kind):
            yield [_number(place, clue) for place, clue in enumerate(clues)]


@lru_cache(1 << 17)
def _number(place: int, clue: str) -> int:
    text = f"{place} {clue}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little", signed=True)


@dataclass(frozen=True, slots=True)
class KnownClues:
    """The clues that a tagger knows.

    >>> known = KnownClues.of([["a", "b"], ["a", "c"]], "words")
    >>> places = known.places([["a", "b"]])
    >>> is_known = (places < len(known.keys)).sum(axis=1)
    >>> places.shape, bool(is_known[0] > is_known[1])
    ((2, 21), True)
    """

    keys: Ids
    """[W], growing."""
    kind: Clues

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]], kind: Clues) -> "KnownClues":
        """Those of training sentences that stand at several tokens."""
        every = np.array(list(_numbers(sentences, kind)), dtype=np.int64)
        found, many = np.unique(every, return_counts=True)
        return cls(found[many >= LEAST_TOKENS], kind)

    def places(self, sentences: Sequence[Sequence[str]]) -> Ids:
        """[N, K]: the place of each clue of each token; that behind the last where unknown."""
        numbers = np.array(list(_numbers(sentences, self.kind)), dtype=np.int64)
        if not len(numbers):
            return np.zeros((0, 1), dtype=np.int64)
        if not len(self.keys):
            return np.zeros_like(numbers)
        places = np.searchsorted(self.keys, numbers).clip(max=len(self.keys) - 1)
        return np.where(self.keys[places] == numbers, places, len(self.keys))


@dataclass(frozen=True, kw_only=True, slots=True)
class ChainHead:
    """What is learnt: weights of the vector's numbers and of clues, a bias, and a chain."""

    vector: Floats
    """[D, L]."""
    clues: Floats
    """[W, L]."""
    bias: Floats
    """[L]."""
    chain: Chain
    known: KnownClues

    def scores(self, states: Sequence[Floats], sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """[T, L] for each sentence, by the vectors and the letters of its words."""
        places = self.known.places(sentences)
        wide = np.vstack([self.clues, np.zeros_like(self.bias)[None]])
        found: list[Floats] = []
        start = 0
        for vectors in states:
            own = vectors @ self.vector + self.bias
            for column in places[start : start + len(vectors)].T:
                own += wide[column]
            found.append(own)
            start += len(vectors)
        return found

    def to_weights(self) -> dict[str, Array]:
        """As a bundle holds them."""
        return {
            "head.vector": self.vector,
            "head.clues": self.clues,
            "head.bias": self.bias,
            "clues.keys": self.known.keys,
            **{f"crf.{name}": values for name, values in self.chain._asdict().items()},
        }

    @classmethod
    def of(cls, bundle: Bundle, width: int) -> "ChainHead":
        """The head that a bundle holds, for vectors of a width.

        Raises:
            BundleError: Weights are missing, or do not fit each other.
        """
        stored: dict[str, Any] = dict(bundle.read_weights())
        settings, place = bundle.config.model["config"], bundle.path / "config.json"
        size, kind = settings.get("output_size"), settings.get("clues")
        if kind not in CLUES:
            raise BundleError(f"{place}: clues must be {' or '.join(CLUES)}, got {kind!r:.40}")
        names = ("head.vector", "head.clues", "head.bias", "clues.keys")
        chain = tuple(f"crf.{name}" for name in Chain._fields)
        missing = [name for name in (*names, *chain) if name not in stored]
        if missing:
            raise BundleError(f"{bundle.weights_path}: lacks {missing[0]!r}")
        keys = stored["clues.keys"]
        shapes = {
            "head.vector": (width, size),
            "head.clues": (len(keys) if keys.ndim else 0, size),
            "head.bias": (size,),
            "crf.between": (size, size),
            "crf.start": (size,),
            "crf.end": (size,),
        }
        for name, expected in shapes.items():
            values = stored[name]
            if values.shape != expected:
                message = f"{name} has the shape {list(values.shape)}, expected {list(expected)}"
                raise BundleError(f"{bundle.weights_path}: {message}")
            if values.dtype != np.float32 or not np.isfinite(values).all():
                raise BundleError(f"{bundle.weights_path}: {name} holds what is no finite number")
        if keys.ndim != 1 or keys.dtype != np.int64 or (keys[1:] <= keys[:-1]).any():
            raise BundleError(f"{bundle.weights_path}: clues.keys are no growing whole numbers")
        vector, clues, bias = (stored[name] for name in names[:3])
        return cls(
            vector=vector,
            clues=clues,
            bias=bias,
            chain=Chain(*(stored[name] for name in chain)),
            known=KnownClues(keys, kind),
        )


class ChainHeadBackend:
    """Scores of tags; see `softquery.runtime.tag.model.TagBackend`.

    Args:
        head: What was learnt.
        states: Gives words their vectors.
    """

    name = "onnx"

    def __init__(self, head: ChainHead, states: WordStates) -> None:
        self.head, self._states = head, states

    def scores(self, sentences: Sequence[Sequence[str]]) -> tuple[list[Floats], Chain | None]:
        """Scores [T, L] of the tags of every sentence, and of tags in a chain."""
        return self.head.scores(self._states.of(sentences), sentences), self.head.chain


def base_of(bundle: Bundle) -> Bundle:
    """The model under a head.

    Raises:
        BundleError: There is none of that name, or it is another one than in training.
    """
    inside, place = bundle.config.model["config"].get(BASE_MODEL), bundle.path / "config.json"
    name = bundle.config.base
    if name is None:
        raise BundleError(f"{place}: a {WORD_HEAD} names its base, and this one names none")
    try:
        base = read_bundle(resolve(name))
    except BundleError as error:
        raise BundleError(f"{bundle.path}: stands on {name}: {error}") from None
    if base.config.model != inside:
        raise BundleError(f"{bundle.path}: was made for another {name} than {base.path}")
    if base_fingerprint(base) != bundle.config.base_fingerprint:
        raise BundleError(
            f"{bundle.path}: its base {name} had other weights than those of {base.path}; "
            "train the head again"
        )
    return base


def base_fingerprint(base: Bundle) -> str:
    """By which a head knows the weights under it, whether they are stored as int8 or not."""
    return weights_fingerprint(base_weights(base))


def open_word_head(
    bundle: Bundle, backend: Backend, threads: int | None, device: str | None
) -> ChainHeadBackend:
    """What computes for a bundle; see `softquery.load`."""
    if backend == "torch" or device is not None:
        raise ConfigError(
            f"{bundle.path}: a head on a shipped model runs on ONNX Runtime, and has no form in "
            "torch; omit backend and device"
        )
    states = open_states(base_of(bundle), threads)
    return ChainHeadBackend(ChainHead.of(bundle, sum(states.widths)), states)
