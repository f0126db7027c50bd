"""The models of an index: they turn a text into words, a vector and an encoding."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from os import PathLike, cpu_count, fspath
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError, ConfigError
from softquery.runtime import Matcher, load_matcher
from softquery.runtime.bert.backend import is_bert
from softquery.runtime.match.backend import is_pair_head
from softquery.runtime.vectors.text_vectors import (
    OWN_SOURCES,
    SentenceVectors,
    TextVectors,
    decided,
    num_reserved,
    open_vectors,
    zipf_shares,
)
from softquery.search.query.answer_vectors import SHARE, AnswerVectors
from softquery.search.query.index_languages import (
    default_encoder,
    languages_read,
    query_note,
    shipped_matcher_language,
)
from softquery.search.query.stages import RERANK, VECTORS
from softquery.search.storage.encodings import Precision
from softquery.search.storage.entries import QUESTION
from softquery.search.storage.manifest import FUSED, LEARNED, IndexSettings, Score
from softquery.search.storage.segment import EncodedRows, SegmentShape
from softquery.search.storage.word_recall import SearchTokenizer
from softquery.text.languages import language_of
from softquery.zoo import resolve
from softquery.zoo.by_language import SHIPPED_MATCHERS

Floats = NDArray[np.float32]
CHUNK = 1024
"""Rows that are encoded and stored together."""
BATCH, TOKENS = 32, 2048
"""The most rows, and the most tokens with padding, that the matcher encodes in one batch."""
NESTED = "embedder"
"""The key under which a model's config describes a biLM inside it."""
NO_AIM = (
    "an aim needs the learned score, which an index of a shipped matcher has (softquery index "
    "INDEX --rebuild adds it to an older one); --min-score sets the threshold of any other"
)
TEXT_WORDS = 10
"""Words of a typical question."""
FINGERPRINTED = ("config.json", "tokenizer.json", "model.safetensors")
"""Calibration is not among them: after a new calibration, what is stored is still valid."""


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a query, and the share of texts in general that contain each of them."""

    words: list[str]
    usual: dict[str, float]


class IndexModels:
    """Encodes the rows of an index and the queries to it. Safe to use from many threads.

    Args:
        matcher: Encodes texts and compares them.
        vectors: Gives each text one vector.
        settings: The settings of the index.
        threads: Batches that are encoded at a time; None for one per core.
    """

    def __init__(
        self,
        matcher: Matcher,
        vectors: TextVectors,
        settings: IndexSettings,
        *,
        threads: int | None = None,
    ) -> None:
        self.matcher, self.vectors, self.settings = matcher, vectors, settings
        self.threads = threads or cpu_count() or 1
        pipeline = matcher.pipeline
        self._tokenizer = SearchTokenizer(pipeline.config)
        bundles = [each for each in (matcher.bundle, vectors.bundle) if each is not None]
        self._languages = {each.path: languages_read(each) for each in bundles}
        self._shares = zipf_shares(pipeline.vocab_size, num_reserved(pipeline))

    def vector(self, text: str) -> Floats:
        """The vector of a query: [D], of length one."""
        is_own = self.vectors.bundle is None  # another bundle reads the text by itself
        encodings = self.matcher.encodings([text]) if is_own else []
        found: Floats = self.vectors.of([text], encodings)[0]
        return found

    def language_note(self, text: str, stages: Sequence[str]) -> str | None:
        """Which of the models that these stages use do not read the query's language, in words."""
        used = [self.matcher.bundle] if RERANK in stages else []
        if VECTORS in stages:
            used.append(self.vectors.bundle or self.matcher.bundle)
        language = language_of(text)
        unable = [each.path.name for each in used if not self._reads(each, language)]
        return query_note(language, dict.fromkeys(unable))

    def query_words(self, text: str) -> QueryWords:
        """The words of a query, with how common each of them is."""
        words = self._tokenizer.words(text)
        return QueryWords(words, {word: self.usual_share(word) for word in words})

    def _reads(self, bundle: Bundle, language: str | None) -> bool:
        known = self._languages[bundle.path]
        return known is None or language is None or language in known

    def usual_share(self, word: str) -> float:
        """The share of texts that usually contain a word."""
        place = self.matcher.pipeline.token_id(word)
        return 0.0 if place is None else min(1.0, TEXT_WORDS * float(self._shares[place]))

    def words(self, row: Mapping[str, str]) -> list[str]:
        """The words by which a row can be found."""
        parts = (row.get(column, "") for column in self.settings.word_columns)
        return self._tokenizer.words("\n".join(parts))

    def shape(self, columns: Sequence[str]) -> SegmentShape:
        """What all segments written with these models have in common."""
        (sample,) = self.matcher.encodings(["?"])
        precision = _decided_precision(self.settings.encodings, is_flat=sample.ndim == 1)
        stored = precision != "none"
        return SegmentShape(
            columns=tuple(columns),
            precision=precision,
            vector_size=self.vectors.size,
            encoding_size=int(sample.shape[-1]) if stored else 0,
            is_flat=sample.ndim == 1,
        )

    def encode_rows(self, rows: Sequence[Mapping[str, str]]) -> Iterator[EncodedRows]:
        """Encode rows, a chunk at a time."""
        remaining = iter(rows)
        answers = AnswerVectors(self.vectors, self.settings.answer_share or 0.0)
        with ThreadPoolExecutor(self.threads, "softquery-index") as pool:
            while chunk := list(islice(remaining, CHUNK)):
                questions = [row[QUESTION] for row in chunk]
                encodings = self._encode(questions, pool)
                vectors = answers.added(chunk, self.vectors.of(questions, encodings))
                yield EncodedRows(chunk, [self.words(row) for row in chunk], vectors, encodings)

    def _encode(self, texts: Sequence[str], pool: ThreadPoolExecutor) -> list[Floats]:
        """Encode texts in batches of similar length: a batch costs as much as its longest row."""
        bundle = self.matcher.bundle
        if NESTED in bundle.config.model["config"] or is_pair_head(bundle):  # may not read ids
            return self.matcher.encodings(texts)
        ids = self.matcher.pipeline.encode_ids(texts)
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        batches = list(_batches(order, ids))
        encode = self.matcher.backend.encode
        found = pool.map(lambda batch: encode([ids[place] for place in batch]), batches)
        encodings: list[Floats] = [np.empty(0, dtype=np.float32)] * len(ids)
        for batch, encoded in zip(batches, found, strict=True):
            for place, encoding in zip(batch, encoded, strict=True):
                encodings[place] = encoding
        return encodings


def _batches(order: Sequence[int], ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Places in batches; lengths grow, so that the last row of a batch is its longest."""
    batch: list[int] = []
    for place in order:
        if batch and (len(batch) == BATCH or len(ids[place]) * (len(batch) + 1) > TOKENS):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def open_models(
    model: str | PathLike[str], settings: IndexSettings, threads: int | None
) -> IndexModels:
    """Open the models that new rows are encoded with; in their settings, `"auto"` is resolved.

    A matcher that reads two sentences as one, such as a cross-encoder, stores no encodings: it
    reads the query with each candidate. Nor does a head on pairs, whose vectors must stay exact.

    Raises:
        BundleError: Encodings of such a matcher are asked for, or it has no encoder beside it.
    """
    matcher = load_matcher(model, threads=threads)
    reads_pairs = is_bert(matcher.bundle) or is_pair_head(matcher.bundle)
    if reads_pairs and settings.encodings not in ("auto", "none"):
        message = "reads both sentences as one, so that no encoding can be stored"
        raise BundleError(f"{matcher.bundle.path}: {message}; leave encodings at none")
    if reads_pairs:
        settings = replace(settings, encodings="none")
    source = settings.vectors
    if source == "auto":
        source = default_encoder(matcher.bundle) or decided(source, matcher)
    vectors = open_vectors(source, matcher, threads=threads)
    score = _decided_score(settings.score, matcher, vectors)
    settings = replace(
        settings,
        vectors=source if source in OWN_SOURCES else portable(source),
        score=score,
        answer_share=_decided_share(settings.answer_share, score, vectors),
        encodings=_decided_precision(
            settings.encodings, is_flat=matcher.encodings(["?"])[0].ndim == 1
        ),
    )
    if settings.aim is not None and settings.score == FUSED:
        raise ConfigError(NO_AIM)
    return IndexModels(matcher, vectors, settings, threads=threads)


def _decided_precision(precision: Precision | Literal["auto"], *, is_flat: bool) -> Precision:
    """What `"auto"` stands for: int3 where every token has an encoding, int8 for one vector."""
    if precision == "auto":
        return "int8" if is_flat else "int3"
    return precision


def _decided_score(score: Score, matcher: Matcher, vectors: TextVectors) -> Score:
    """What `"auto"` stands for; the learned score is refused for models that it does not know."""
    if score == FUSED:
        return FUSED
    if shipped_matcher_language(matcher.bundle) and isinstance(vectors, SentenceVectors):
        return LEARNED
    if score == LEARNED:
        known = " or ".join(SHIPPED_MATCHERS.values())
        message = f"the learned score is for {known}, with vectors of a sentence encoder"
        raise ConfigError(f"{message}; score='fused' is for all models")
    return FUSED


def _decided_share(share: float | None, score: Score, vectors: TextVectors) -> float:
    """What None stands for; other vectors than those of sentences are left as they are."""
    if not isinstance(vectors, SentenceVectors):
        return 0.0
    return (SHARE if score == LEARNED else 0.0) if share is None else share


def portable(model: str | PathLike[str]) -> str:
    """A name of the zoo as it is; a folder by its absolute path, valid in any working folder."""
    name = fspath(model)
    return str(Path(name).expanduser().resolve()) if Path(name).expanduser().is_dir() else name


def fingerprint(bundle: Bundle) -> str:
    """A hash of a bundle's text pipeline and weights, on which encodings and vectors depend."""
    found = sha256()
    paths = [bundle.path / name for name in FINGERPRINTED]
    if bundle.config.base is not None:
        paths.append(resolve(bundle.config.base) / "model.safetensors")
    for path in paths:
        found.update(sha256(path.read_bytes()).digest())
    return found.hexdigest()[:32]


def vector_fingerprint(vectors: TextVectors) -> str:
    """The fingerprint of the bundle that gives vectors; empty if that is the matcher itself."""
    return "" if vectors.bundle is None else fingerprint(vectors.bundle)
