"""A head fitted to texts that an encoder has read: by cross-validation first, then to all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Calibration
from softquery.errors import counted
from softquery.measure.cross_validation import stratified_folds
from softquery.recipes.few_labels import FewLabelsRun
from softquery.running.few_labels.head_encoder import HeadEncoder
from softquery.running.few_labels.head_search import (
    HeadFeatures,
    HeadSearch,
    TriedHead,
    fit_weights,
    search_head,
)
from softquery.running.run_options import Say
from softquery.runtime.batches import Floats
from softquery.runtime.classify.sentence_head import SentenceHead
from softquery.runtime.classify.word_counts import WordCounts

if TYPE_CHECKING:
    from softquery.training import Observer

MOST_SEARCHED = 1_000
"""Rows by which settings are chosen."""
UNSEARCHED = (10.0, 0.5)
"""Cost and weight of words where nothing can be held out."""
Ids = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadTexts:
    """Texts as a head reads them: their vectors, and their tokens without marks."""

    texts: Sequence[str]
    vectors: Floats
    ids: Sequence[Sequence[int]]
    """With marks."""
    words: Sequence[Sequence[int]]

    @classmethod
    def of(cls, encoder: HeadEncoder, texts: Sequence[str], split: str, say: Say) -> "ReadTexts":
        """Read texts by an encoder; what is cut is told of the split."""
        ids = encoder.ids(texts, split, say)
        words = [encoder.texts.words(each) for each in ids]
        return cls(texts=texts, vectors=encoder.texts.of(ids), ids=ids, words=words)

    def some(self, rows: Ids) -> "ReadTexts":
        """Those of some rows."""
        places = rows.tolist()
        return ReadTexts(
            texts=[self.texts[place] for place in places],
            vectors=self.vectors[rows],
            ids=[self.ids[place] for place in places],
            words=[self.words[place] for place in places],
        )

    def features(self, known: WordCounts, vectors: Floats | None = None) -> HeadFeatures:
        """What a head reads of them; by other vectors where they are given."""
        found = self.vectors if vectors is None else vectors
        mean = found.mean(axis=0, dtype=np.float64).astype(np.float32)
        return HeadFeatures(found - mean, known.entries(self.words).dense(len(known.keys)))


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedHead:
    """A head, how its settings were found, and how its logits become probabilities."""

    head: SentenceHead
    search: HeadSearch | None
    cost: float
    word_weight: float

    @property
    def scaling(self) -> Calibration:
        """By the temperature of cross-validation."""
        return (
            Calibration()
            if self.search is None
            else Calibration(temperature=self.search.best.temperature)
        )

    def probabilities(self, read: ReadTexts) -> NDArray[np.float64]:
        """Calibrated chances of texts [N, C]."""
        return self.scaling.probabilities(self.head.logits(read.vectors, read.words))


def fit_head(
    run: FewLabelsRun,
    read: ReadTexts,
    gold: Ids,
    *,
    num_classes: int,
    observer: "Observer | None" = None,
    say: Say = lambda line: None,
) -> FittedHead:
    """Choose settings by cross-validation, and fit a head to all rows.

    Args:
        run: The recipe.
        read: The rows.
        gold: Their class ids.
        num_classes: The number of classes.
        observer: Watches the search.
        say: Receives what was chosen.
    """
    known = WordCounts.of(read.words)
    features = read.features(known)
    search = _searched(run, read.texts, gold, features, num_classes, observer, say)
    cost, word_weight = (
        UNSEARCHED if search is None else (search.best.cost, search.best.word_weight)
    )
    head = _head(read, features, known, gold, num_classes, cost, word_weight)
    return FittedHead(head=head, search=search, cost=cost, word_weight=word_weight)


def refit_head(read: ReadTexts, gold: Ids, search: HeadSearch, *, num_classes: int) -> FittedHead:
    """Fit a head to all rows, as they are read now, with the settings that a search has chosen."""
    known = WordCounts.of(read.words)
    best = search.best
    head = _head(read, read.features(known), known, gold, num_classes, best.cost, best.word_weight)
    return FittedHead(head=head, search=search, cost=best.cost, word_weight=best.word_weight)


def _head(
    read: ReadTexts,
    features: HeadFeatures,
    known: WordCounts,
    gold: Ids,
    num_classes: int,
    cost: float,
    word_weight: float,
) -> SentenceHead:
    vector, by_word, bias = fit_weights(
        features, gold, num_classes=num_classes, cost=cost, word_weight=word_weight
    )
    mean = read.vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    return SentenceHead(vector=vector, words=by_word, bias=bias - mean @ vector, known=known)


def folds_of(run: FewLabelsRun, texts: Sequence[str], gold: Ids) -> tuple[Ids, Ids]:
    """The rows by which settings are chosen, and the fold of each of them."""
    seed, num_rows = run.training.seed, len(texts)
    some = np.arange(num_rows)
    if num_rows > MOST_SEARCHED:
        drawn = np.random.default_rng(seed).permutation(num_rows)
        some = np.sort(drawn[:MOST_SEARCHED])
    folds = stratified_folds(
        gold[some], [texts[row] for row in some.tolist()], num_folds=run.head.num_folds, seed=seed
    )
    return some, folds


def _searched(
    run: FewLabelsRun,
    texts: Sequence[str],
    gold: Ids,
    features: HeadFeatures,
    num_classes: int,
    observer: "Observer | None",
    say: Say,
) -> HeadSearch | None:
    """What cross-validation chose; None where no label has two texts."""
    some, folds = folds_of(run, texts, gold)
    if (folds < 0).all():
        return None

    def advance(done: int, head: TriedHead) -> bool | None:
        facts = {"tune_accuracy": head.accuracy}
        return None if observer is None else observer.step(done, facts)

    if observer is not None:
        observer.begin(len(run.head.costs) * len(run.head.word_weights), 0)
    search = search_head(
        features.rows(some), gold[some], folds, run.head, num_classes=num_classes, advance=advance
    )
    best = search.best
    say(
        f"{counted(len(search.tried), 'setting')} tried on {len(search.held):,} texts out of fold: "
        f"cost {best.cost:g}, words {best.word_weight:g}, accuracy {best.accuracy:.4f}"
    )
    return replace(search, held=some[search.held])
