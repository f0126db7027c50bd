"""Word vectors that answer: which words are near, and what is to one word as another is to a third.

Needs no torch: the vectors are the model.
"""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle, read_bundle
from softquery.errors import BundleError, ConfigError, InputError
from softquery.files import VectorTable, read_vectors_and_ngrams
from softquery.files.fasttext_files import FastTextVectors
from softquery.files.word_tests import GradedWords, Section
from softquery.measure import spearman
from softquery.measure.word_scores import AnalogyScore, answer_analogies, principal_plane, unit_rows
from softquery.runtime.call_checks import listed_texts, whole_number
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.given_texts import Advance, Texts, matrix_of
from softquery.runtime.graph_weights import dequantised, kept
from softquery.runtime.kinds import check_kind
from softquery.runtime.opened_by import opened_by
from softquery.text import TextConfig, ngram_buckets, normalise, reserved_tokens
from softquery.zoo import resolve

Floats = NDArray[np.float32]
KIND = "vectors"
CHUNK = 1024
"""Texts whose words are averaged at a time."""


@dataclass(frozen=True, slots=True)
class Near:
    """A word, and its cosine with what was asked."""

    word: str
    score: float


@dataclass(frozen=True, slots=True)
class Subwords:
    """Vectors of n-grams, of which a word that was never seen can be put together."""

    shortest: int
    longest: int
    num_buckets: int
    places: dict[int, int]
    matrix: Floats

    def vector(self, word: str) -> Floats | None:
        """The mean of the word's n-grams, or None where none of them is known."""
        buckets = ngram_buckets(
            word, shortest=self.shortest, longest=self.longest, num_buckets=self.num_buckets
        )
        rows = [self.places[bucket] for bucket in buckets if bucket in self.places]
        return np.asarray(self.matrix[rows].mean(axis=0)) if rows else None


@dataclass(frozen=True, kw_only=True, slots=True)
class SimilarityScore:
    """How well cosines follow people's grades."""

    spearman: float | None
    """None where it is undefined, as with fewer than two pairs."""
    n: int
    num_unknown: int
    """Pairs of which a word has no vector; they count neither way."""


@opened_by("softquery.load_vectors")
class WordVectors:
    """Words and their vectors.

    Args:
        vectors: Most frequent words first.
        text: How words are spelt; what is asked for is looked up as it is, then in this spelling.
        subwords: N-grams for words that are not there.
    """

    def __init__(
        self, vectors: VectorTable, *, text: TextConfig, subwords: Subwords | None = None
    ) -> None:
        self.vectors, self.text, self.subwords = vectors, text, subwords
        self._unit = unit_rows(vectors.matrix)
        self._places = {word: place for place, word in enumerate(vectors.words)}

    def __repr__(self) -> str:
        num_words, width = self.vectors.matrix.shape
        return f"{type(self).__name__}({num_words:,} words, {width} numbers each)"

    @property
    def words(self) -> list[str]:
        """All words, most frequent first."""
        return self.vectors.words

    def __contains__(self, word: str) -> bool:
        return self.place(word) is not None

    def place(self, word: str) -> int | None:
        """Where a word stands, or None."""
        if not isinstance(word, str):
            raise InputError(f"expected a word, found {word!r:.40}")
        found = self._places.get(word)
        return self._places.get(normalise(word, self.text)) if found is None else found

    def vector(self, word: str) -> Floats | None:
        """A word's vector as it is, put together from n-grams where it must be, or None."""
        place = self.place(word)
        if place is not None:
            return np.asarray(self.vectors.matrix[place])
        return None if self.subwords is None else self.subwords.vector(normalise(word, self.text))

    def unit_vector(self, word: str) -> Floats:
        """A word's vector at length one, put together from n-grams where it must be.

        Raises:
            InputError: The word has none; the nearest spelling is named.
        """
        found = self._found(word)
        if found is None:
            raise InputError(self._unknown(word))
        return found

    def nearest(self, word: str, *, top_k: int = 10) -> list[Near]:
        """The words whose vectors point most nearly where this one's does."""
        return self._best(self.unit_vector(word), [word], whole_number(top_k, "top_k"))

    def analogy(self, first: str, second: str, third: str, *, top_k: int = 5) -> list[Near]:
        """What is to `third` as `second` is to `first` (Mikolov et al. 2013a, Section 4)."""
        wanted = self.unit_vector(second) - self.unit_vector(first) + self.unit_vector(third)
        asked, count = [first, second, third], whole_number(top_k, "top_k")
        return self._best(unit_rows(wanted[None])[0], asked, count)

    def similarity(self, first: str, second: str) -> float:
        """The cosine of two words."""
        return float(self.unit_vector(first) @ self.unit_vector(second))

    def encode(
        self, texts: Texts, *, advance: Advance = lambda done: None, progress: bool = False
    ) -> Floats:
        """A matrix [n, d] with a vector of length one for each text: the mean of its words.

        Frequent words weigh less (Arora et al. 2017, Section 3). A text of which no word is known
        has zeros; n-grams are not used.
        """
        from softquery.runtime.vectors.text_vectors import WordVectorAverages  # knows this class

        averages = WordVectorAverages(self)
        return matrix_of(
            texts,
            lambda some: averages.of(some, ()),
            averages.size,
            chunk=CHUNK,
            advance=advance,
            progress=progress,
        )

    def answer(self, sections: Sequence[Section], *, restrict: int) -> list[AnalogyScore]:
        """Put analogies to the test.

        Args:
            sections: The questions.
            restrict: Only so many words, the most frequent, are asked about and answered with.
        """
        return [self._answer(section, restrict) for section in sections]

    def grade(self, pairs: Sequence[GradedWords]) -> SimilarityScore:
        """Compare cosines with people's grades."""
        gold: list[float] = []
        cosines: list[float] = []
        for pair in pairs:
            first, second = self._found(pair.first), self._found(pair.second)
            if first is not None and second is not None:
                gold.append(pair.grade)
                cosines.append(float(first @ second))
        value = spearman(gold, cosines) if len(gold) > 1 else float("nan")
        return SimilarityScore(
            spearman=None if np.isnan(value) else value,
            n=len(gold),
            num_unknown=len(pairs) - len(gold),
        )

    def plane(self, words: Sequence[str]) -> Floats:
        """Where words lie when one looks at them from the side on which they differ most."""
        found = listed_texts(words)
        if len(found) < 2:
            raise InputError(f"a plane needs at least two words, got {len(found)}")
        return principal_plane(np.stack([self.unit_vector(word) for word in found]))

    def _found(self, word: str) -> Floats | None:
        place = self.place(word)
        if place is not None:
            return np.asarray(self._unit[place])
        made = self.vector(word)
        return None if made is None else np.asarray(unit_rows(made[None])[0])

    def _answer(self, section: Section, restrict: int) -> AnalogyScore:
        asked = []
        for each in section.questions:
            places = [
                self.place(word) for word in (each.first, each.second, each.third, each.fourth)
            ]
            if all(place is not None and place < restrict for place in places):
                asked.append(places)
        rows = np.array(asked, dtype=np.int64).reshape(-1, 4)
        answers = answer_analogies(self._unit[:restrict], rows[:, :3])
        return AnalogyScore(
            name=section.name,
            num_right=int((answers == rows[:, 3]).sum()),
            n=len(rows),
            num_unknown=len(section.questions) - len(rows),
        )

    def _best(self, unit: Floats, left_out: Iterable[str], top_k: int) -> list[Near]:
        scores = self._unit @ unit
        for word in left_out:
            place = self.place(word)
            if place is not None:
                scores[place] = -np.inf
        num_there = int(np.isfinite(scores).sum())
        top = np.argsort(-scores, kind="stable")[: min(top_k, num_there)]
        return [Near(self.words[place], float(scores[place])) for place in top.tolist()]

    def _unknown(self, word: str) -> str:
        near = difflib.get_close_matches(word[:100].lower(), self.words[:100_000], n=1, cutoff=0.6)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"{word!r:.100} is not among the {len(self.words):,} words{hint}"


def load_vectors(name_or_path: str | PathLike[str]) -> WordVectors:
    """Open word vectors: a bundle by its name or folder, or a file of GloVe, word2vec or fastText.

    Raises:
        BundleError: The bundle is damaged, or holds something else.
        InputError: The file is damaged.
    """
    if not isinstance(name_or_path, (str, PathLike)):
        raise ConfigError(f"expected the name or the place of vectors, got {name_or_path!r:.40}")
    if Path(name_or_path).is_file():
        vectors, found = read_vectors_and_ngrams(name_or_path)
        text = file_text(vectors.words, found)
        subwords = None if found is None else subwords_of(found)
        return WordVectors(vectors, text=text, subwords=subwords)
    bundle = read_bundle(resolve(name_or_path))
    check_kind(bundle, KIND)
    return vectors_of(bundle)


def subwords_of(found: FastTextVectors) -> Subwords | None:
    """The n-grams of a fastText file; None where it has none."""
    settings = found.settings
    if not settings.num_buckets:
        return None
    places = {bucket: bucket for bucket in range(settings.num_buckets)}
    return Subwords(*settings, places, found.ngrams)


def file_text(words: Sequence[str], found: FastTextVectors | None) -> TextConfig:
    """The spelling of a file's words; fastText takes every word as it is written."""
    return guessed_text(words) if found is None else TextConfig(lowercase=False)


def guessed_text(words: Sequence[str]) -> TextConfig:
    """The spelling of somebody else's words: lower case where no word of theirs has another."""
    return TextConfig(lowercase=not any(word != word.lower() for word in words[:100_000]))


def vectors_of(bundle: Bundle) -> WordVectors:
    """The words of a bundle, whose parts must fit each other."""
    pipeline = fitting_pipeline(bundle)
    weights = bundle.read_weights()
    matrix = weights.get("vectors")
    shape = (pipeline.vocab_size, bundle.config.model["config"].get("embedding_size"))
    if matrix is None or matrix.shape != shape:
        found = "none" if matrix is None else list(matrix.shape)
        raise BundleError(
            f"{bundle.weights_path}: expected vectors of shape {list(shape)}, found {found}"
        )
    try:
        table = np.asarray(dequantised(kept(weights, KIND))[KIND], dtype=np.float32)
    except BundleError as error:
        raise BundleError(f"{bundle.weights_path}: {error}") from None
    if not np.isfinite(table).all():
        raise BundleError(f"{bundle.weights_path}: vectors holds a number that is not finite")
    vocabulary = pipeline.vocabulary()
    # Reserved tokens are words only where the corpus had them.
    num_reserved = len(reserved_tokens(pipeline.config.unit))
    there = [
        place for place in range(len(table)) if place >= num_reserved or bool(table[place].any())
    ]
    vectors = VectorTable([vocabulary[place] for place in there], table[there])
    return WordVectors(vectors, text=pipeline.config, subwords=_subwords(bundle, weights))


def _subwords(bundle: Bundle, weights: dict[str, Any]) -> Subwords | None:
    settings = bundle.config.model["config"]
    if not settings.get("num_buckets"):
        return None
    try:
        buckets, matrix = weights["buckets"], np.asarray(weights["ngrams"], dtype=np.float32)
        if matrix.shape != (len(buckets), settings["embedding_size"]):
            raise KeyError("ngrams")
        return Subwords(
            shortest=settings["min_ngram"],
            longest=settings["max_ngram"],
            num_buckets=settings["num_buckets"],
            places={int(bucket): place for place, bucket in enumerate(buckets.tolist())},
            matrix=matrix,
        )
    except (KeyError, TypeError) as error:
        raise BundleError(f"{bundle.weights_path}: {error} does not fit config.json") from None
