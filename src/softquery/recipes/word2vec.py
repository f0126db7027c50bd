"""Word vectors: what a run of word2vec is, and the recipes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from softquery.models import Word2VecConfig, name_of
from softquery.recipes.overrides import check_least, run_dict
from softquery.text import TextConfig
from softquery.training.word2vec import WordTraining

LONGEST_SENTENCE = 10_000
"""Words after which a line is split, as elsewhere."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WordList:
    """Which words get a vector."""

    min_count: int = 5
    """Rarer words are dropped from the text."""
    size: int | None = None
    """The most words, the most frequent ones."""
    phrase_passes: int = 0
    """How often neighbours that belong together are joined to one word; the paper does 2 to 4."""
    phrase_threshold: float = 100.0
    """Score from which on they are joined; halved from pass to pass."""

    def __post_init__(self) -> None:
        check_least(self, 1, "min_count")
        check_least(self, 2, "size")
        if not 0 <= self.phrase_passes <= 10:
            raise ValueError(f"phrase_passes must be from 0 to 10, got {self.phrase_passes}")
        if self.phrase_threshold <= 0:
            raise ValueError(f"phrase_threshold must be positive, got {self.phrase_threshold}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Word2VecRun:
    """Everything that determines a run of word2vec, except its corpus."""

    counted: ClassVar[str] = "word"
    refused: ClassVar[Mapping[str, str]] = {
        "vectors": "makes word vectors, and reads none",
        "columns": "reads running text, which has no columns",
        "init": "begins anew, with random vectors",
        "devices": "takes all cores or one GPU in one process",
    }

    name: str
    summary: str
    model: Word2VecConfig = field(default_factory=Word2VecConfig)
    text: TextConfig = field(default_factory=lambda: TextConfig(max_tokens=LONGEST_SENTENCE))
    vocabulary: WordList = field(default_factory=WordList)
    training: WordTraining = field(default_factory=WordTraining)

    def model_name(self) -> str:
        """The model's name in a bundle."""
        return name_of(self.model)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for `run.json`."""
        return run_dict(self)


def word2vec() -> Word2VecRun:
    """Skip-gram with negative sampling (Mikolov et al. 2013b)."""
    return Word2VecRun(
        name="word2vec",
        summary="word vectors from running text: skip-gram with negative sampling",
    )


def word2vec_cbow() -> Word2VecRun:
    """CBOW with negative sampling: faster, and better at syntax than at meaning.

    The learning rate is that of the authors' program, which is twice that of skip-gram.
    """
    return Word2VecRun(
        name="word2vec-cbow",
        summary="word vectors from running text: CBOW, the faster one",
        model=Word2VecConfig(architecture="cbow"),
        training=WordTraining(lr=0.05),
    )


def word2vec_300() -> Word2VecRun:
    """Vectors that are worth using: 300 numbers, and frequent words thinned out more than usual.

    The settings are those of Mikolov et al. (2013b, Section 3), which Li et al. (2018, "Analogical
    Reasoning on Chinese Morphological and Semantic Relations") took for Chinese.
    """
    return Word2VecRun(
        name="word2vec-300",
        summary="word vectors worth using: skip-gram, 300 numbers, frequent words thinned out",
        model=Word2VecConfig(embedding_size=300),
        training=WordTraining(subsample=1e-5),
    )


def word2vec_phrases() -> Word2VecRun:
    """The same with phrases as words, found in two passes (Mikolov et al. 2013b, Section 4)."""
    return replace(
        word2vec_300(),
        name="word2vec-phrases",
        summary="as word2vec-300, with phrases such as new_york as words",
        vocabulary=WordList(phrase_passes=2),
    )
